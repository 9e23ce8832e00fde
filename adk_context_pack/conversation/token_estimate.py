"""Estimates the tokens of a text or a payload: on the high side, and in linear time."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any

from pydantic_core import to_json

from adk_context_pack._json import json_text
from adk_context_pack.stores.codec import parts

Counter = Callable[[str], int]
"""A tokenizer that the user provides: from text to its number of tokens."""

# Fitted on o200k, on the high side: prose has 4 to 5 characters a token, dense JSON 2.4, CJK one to two. Letters and
# spaces are cheap, digits and punctuation make a text dense, and a CJK character has three UTF-8 bytes. Random letters
# (base64) are undercounted until the provider's first figure.
_LETTERS_A_TOKEN = 4.2
_OTHERS_A_TOKEN = 1.4
_HIGH_BYTES_A_TOKEN = 3.0
_LETTERS = bytes(range(ord("a"), ord("z") + 1)) + bytes(range(ord("A"), ord("Z") + 1)) + b" "
_HIGH = bytes(range(128, 256))
_SAMPLED, _PIECES, _PIECE = 12_288, 12, 256


def estimate_tokens(text: str) -> int:
    """Returns an estimate of the tokens in `text`, on the high side.

    The time is linear in the length, with a small constant.

    Args:
        text: any text. Lone surrogates are counted, not refused.
    """
    data = text.encode("utf-8", "surrogatepass")
    size = len(data)
    if size > _SAMPLED:
        # A part of a long text, taken evenly in pieces longer than a row, shows well enough which characters it has.
        # Its length is exact.
        step = size / _PIECES
        data = b"".join([data[int(n * step) : int(n * step) + _PIECE] for n in range(_PIECES)])
    others = data.translate(None, _LETTERS)
    tokens = (len(data) - len(others)) / _LETTERS_A_TOKEN
    if others.isascii():
        tokens += len(others) / _OTHERS_A_TOKEN
    else:
        low = len(others.translate(None, _HIGH))
        tokens += low / _OTHERS_A_TOKEN + (len(others) - low) / _HIGH_BYTES_A_TOKEN
    return round(tokens if size == len(data) else tokens * size / len(data))


def estimate_payload(value: Any) -> int:
    """Returns an estimate of the tokens in call arguments or a tool's response (any JSON-like value)."""
    written = parts(value, lambda each: payload_bytes(each).decode("utf-8", "surrogatepass"))
    return sum(map(estimate_tokens, written))


def payload_bytes(value: Any) -> bytes:
    """Returns a payload as compact JSON, or as what stands for it where JSON has no form for a value."""
    # It takes a tenth of the time of Python's own encoder.
    try:
        return to_json(value)
    except (TypeError, ValueError):
        return json_text(value).encode("utf-8", "surrogatepass")


DEFAULT_WINDOW = 128_000
"""For a model that no rule names: what current models take at least."""

_RULES = files(__package__).joinpath("windows.txt").read_text("utf-8").splitlines()[3:]


def window_of(model: str | None) -> int:
    """Returns the tokens that a model takes in, input and output together if the provider counts them together.

    Args:
        model: the name as it stands in the request, a provider's prefix included (`anthropic/claude-…`).
    """
    return _limits_of(model)[0]


def cached_from(model: str | None) -> int:
    """Returns the fewest tokens of a request that the provider of a model caches, 0 if that is not known."""
    return _limits_of(model)[1]


@lru_cache(maxsize=256)
def _limits_of(model: str | None) -> tuple[int, int]:
    rules = (rule.split() for rule in _RULES if re.search(rule.split()[-1], (model or "").lower()))
    return next(((int(window), int(least)) for window, least, _ in rules), (DEFAULT_WINDOW, 0))

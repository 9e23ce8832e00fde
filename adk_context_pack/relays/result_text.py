"""Tool results of other agents as an account shows them: small ones whole, larger ones as a shape."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from adk_context_pack._json import json_text
from adk_context_pack.conversation.outcome import outcome_of
from adk_context_pack.conversation.token_estimate import estimate_tokens

_WRAPPERS = ("result", "output")
_SHORT = 60
# No estimate gives a text of this many characters a single token.
_CHARACTERS_A_TOKEN = 12
_HANDLE = re.compile(r"handle['\"]?\s?[=:]\s?['\"]([0-9a-hjkmnp-tv-z]{11})['\"]")


class Limits(NamedTuple):
    """The longest text of each kind.

    Attributes:
        said: characters of what an agent said or thought.
        args: characters of a call's arguments.
        result: characters of a result's shape.
        error: characters of an error text that is not quoted whole.
        whole: tokens of a result that is quoted whole.
        allowance: tokens of all results that one account quotes whole.
    """

    said: int
    args: int
    result: int
    error: int
    whole: int
    allowance: int


class WrittenResult(NamedTuple):
    """A result as text.

    Attributes:
        response: what was written, so that its identity stays its own.
        text: the whole as text; "" where it is too long to be quoted.
        tokens: what `text` costs; 0 where it is too long to be quoted.
        length: characters of the whole.
    """

    response: Any
    text: str
    tokens: int
    length: int


@dataclass(slots=True)
class ResultTexts:
    """Writes results and remembers them by identity, since every account of a run shows the same ones again."""

    _written: dict[int, WrittenResult] = field(default_factory=dict)

    def of(self, response: Any, limits: Limits) -> WrittenResult:
        """Returns `response` as text; `limits` says from which size on the text itself is not needed."""
        known = self._written.get(id(response))
        if known is None or known.response is not response:
            text = whole_text(response)
            small = len(text) <= max(limits.whole * _CHARACTERS_A_TOKEN, limits.result + _SHORT)
            tokens = estimate_tokens(text) if small else 0
            known = WrittenResult(response, text if small else "", tokens, len(text))
            self._written[id(response)] = known
        return known


def whole_text(response: Any) -> str:
    """Returns a tool's response as the text that is quoted: compact JSON, or the bare text of a tool that gave one."""
    if isinstance(response, Mapping) and len(response) == 1:
        ((key, value),) = response.items()
        if key in _WRAPPERS:
            # ADK wraps what is not a dict as {"result": …}, and the key says nothing.
            return value if isinstance(value, str) and len(value) > _SHORT else json_text(value)
        if key == "error" and isinstance(value, str):
            return f"error: {value}"
    return json_text(response)


def shape_text(response: Any, length: int, limits: Limits, event_id: str) -> str:
    """Returns the shape of a response, its size, and how the whole of it can be read.

    Args:
        response: the tool's response as the session holds it.
        length: characters of the whole.
        limits: how long the shape may get.
        event_id: the event that `search_history` opens; "" where the agent has not got that tool.
    """
    shape = outcome_of(response, max_chars=limits.result, max_error_chars=limits.error)
    handle = handle_in(response)
    ways = [f"handle='{handle}'"] if handle and handle not in shape else []
    if event_id and not handle:
        ways.append(f"read_event='{event_id}'")
    return f"{shape} [{', '.join([f'{length} characters', *ways])}]"


def handle_in(response: Any) -> str:
    """Returns the first handle that a reduced result names, or "" where it names none."""
    for text in _texts(response):
        if found := _HANDLE.search(text):
            return found[1]
    return ""


def _texts(response: Any) -> list[str]:
    if not isinstance(response, Mapping):
        return []
    held = response.get("_handle")
    own = [f"handle='{held}'"] if isinstance(held, str) else []
    return own + [value for value in response.values() if isinstance(value, str)]

"""Tool results of other agents as an account shows them: small ones whole, larger ones as a shape."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any, NamedTuple

from adk_context_pack._json import json_text
from adk_context_pack.conversation.outcome import outcome_of
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.tables.stub_form import HANDLE

_WRAPPERS = ("result", "output")
_SHORT = 60
# No estimate gives a text of this many characters a single token.
_CHARACTERS_A_TOKEN = 12
# A shorter one is written about as fast as it is looked up.
_LONG = 500
_SIZE_BYTES = 155
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
        tokens: what the whole costs as text; 0 where it is too long to be quoted.
        length: characters of the whole.
        written: the whole as text; "" where it was not kept. Read `text`.
    """

    response: Any
    tokens: int
    length: int
    written: str = ""

    @property
    def text(self) -> str:
        """The whole as text."""
        return self.written or whole_text(self.response)


class ResultSizes(dict[int, tuple[int, int]]):
    """Remembers tokens and characters of long results, by the hash of what ADK shows of them."""

    @property
    def bytes(self) -> int:
        """About how many bytes of memory they take."""
        return getsizeof(self) + _SIZE_BYTES * len(self)


@dataclass(slots=True)
class ResultTexts:
    """Writes results and remembers them by identity, since every account of a run shows the same ones again.

    Attributes:
        limits: say from which size on the tokens of a result are not needed.
        sizes: what is known of results by their hashes, which outlives the run. Writing a long result takes longer than
            all else that an account needs of it.
    """

    limits: Limits
    sizes: ResultSizes = field(default_factory=ResultSizes)
    _written: dict[int, WrittenResult] = field(default_factory=dict)

    def of(self, response: Any, shown: str = "") -> WrittenResult:
        """Returns `response` as text.

        Args:
            response: the tool's response as the session holds it.
            shown: the text that ADK shows in its place, if any.
        """
        known = self._written.get(id(response))
        if known is None or known.response is not response:
            size = self.sizes.get(hash(shown)) if len(shown) >= _LONG else None
            known = WrittenResult(response, *size) if size else self._write(response, shown)
            self._written[id(response)] = known
        return known

    def _write(self, response: Any, shown: str) -> WrittenResult:
        text, limits = whole_text(response), self.limits
        small = len(text) <= max(limits.whole * _CHARACTERS_A_TOKEN, limits.result + _SHORT)
        tokens = estimate_tokens(text) if small else 0
        if len(shown) >= _LONG:
            self.sizes[hash(shown)] = tokens, len(text)
        return WrittenResult(response, tokens, len(text), text if small else "")


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
    held = response.get(HANDLE)
    own = [f"handle='{held}'"] if isinstance(held, str) else []
    return own + [value for value in response.values() if isinstance(value, str)]

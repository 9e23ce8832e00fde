"""Says what may be shown of a tool's result, and what has to be kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from adk_context_pack._adk.model_names import model_names
from adk_context_pack._json import json_text
from adk_context_pack.conversation.token_estimate import estimate_payload, estimate_tokens
from adk_context_pack.conversation.tokens import Counter, window_of
from adk_context_pack.stores.handles import Kind

Encoding = Literal["json", "csv"]
"""The form of the shown rows in a stub: as a list of objects, or as one text with a header."""
_FEW, _SMALLEST = 8, 100
_PLAIN = frozenset({int, float, bool, type(None)})


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Holds what the passes of one result allow, and what its agent can open.

    What is not said here is a setting of `CapRows` or `OffloadPayload`.

    Attributes:
        max_rows: a list with more rows is capped. None caps no list at all.
        titles: whether each row is shown by what tells it apart, rather than the first rows whole.
        text_tokens: `max_tokens` of `OffloadPayload`. None leaves long texts and branches alone.
        read_tokens: a result of up to so many stays whole, as the session has read others of its tool to their end.
        refer_in: where the agent may write a reference to what is kept, "" for nowhere.
    """

    max_rows: int | None = None
    max_tokens: int | None = None
    stub_rows: int | None = None
    stub_tokens: int | None = None
    facts: bool = True
    encoding: Encoding = "json"
    titles: bool = False
    text_tokens: int | None = None
    preview_tokens: int = 200
    read_tokens: int = 0
    can_query: bool = False
    can_read: bool = False
    refer_in: str = ""
    tool: str = ""
    counter: Counter | None = None

    @property
    def budget(self) -> int | None:
        """The most tokens of a result that is left alone, or None for any number."""
        given = [each for each in (self.max_tokens, self.text_tokens) if each is not None]
        return max(given, default=None)

    def admits(self, result: Any) -> bool:
        """Tells at a glance that a result is within any limits: a few short fields, and no list among them."""
        if type(result) is not dict or len(result) > _FEW or (self.budget or _SMALLEST) < _SMALLEST:
            return False
        return all(type(value) in _PLAIN or (type(value) is str and len(value) <= _FEW) for value in result.values())

    def tokens(self, value: Any) -> int:
        """Returns the tokens of a value as JSON with blanks in it, the longest form in which a provider gets it."""
        return estimate_payload(value) if self.counter is None else self.counter(json_text(value, layout="spaced"))

    def text(self, text: str) -> int:
        """Returns the tokens of a text."""
        return (self.counter or estimate_tokens)(text)


def room_to_read(context: Any) -> int:
    """Returns the tokens that a page for an agent may have: an eighth of its model's window."""
    return min(map(window_of, model_names(context, None))) // 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Something that the model does not see whole, and that has to be kept.

    Attributes:
        value: the whole of it.
        kind: "rows" for `query_rows`, "payload" for `read_payload`.
        rows_shown: how many rows the model sees.
        rows_total: how many rows there are.
    """

    value: Any
    kind: Kind
    rows_shown: int = 0
    rows_total: int = 0

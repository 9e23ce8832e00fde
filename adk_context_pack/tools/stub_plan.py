"""Plans a stub."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from adk_context_pack._json import json_text
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.conversation.tokens import Counter, TokenMeter

Encoding = Literal["json", "csv"]
"""The form of the shown rows in a stub: as a list of objects, or as one text with a header."""

# It remembers contents, of which there are none here.


@dataclass(frozen=True, kw_only=True, slots=True)
class StubPlan:
    """The settings of `CapRows` that decide how a stub is made."""

    max_rows: int
    max_tokens: int | None
    facts: bool
    encoding: Encoding
    can_query: bool
    where_to_refer: str = ""
    counter: Counter | None = None
    stub_tokens: int | None = None
    stub_rows: int | None = None

    @property
    def target(self) -> int | None:
        """The most tokens of a stub, or None where there is no limit."""
        return self.max_tokens if self.stub_tokens is None else self.stub_tokens

    @property
    def most_rows(self) -> int:
        """The most rows of a list that a stub shows."""
        return self.max_rows if self.stub_rows is None else self.stub_rows

    def tokens(self, value: Any) -> int:
        """Tokens of a value, by the counter as JSON with blanks in it, the longest form in which a provider gets it."""
        if self.counter is None:
            return TokenMeter().payload(value)
        return self.counter(json_text(value, layout="spaced"))

    def text_tokens(self, text: str) -> int:
        """Tokens of a text."""
        return (self.counter or estimate_tokens)(text)

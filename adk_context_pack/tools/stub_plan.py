"""How a stub is to be made."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.conversation.tokens import Counter, TokenMeter

Encoding = Literal["json", "csv"]
"""How shown rows stand in a stub: as a list of objects, or as one text with a header."""

# It remembers contents, of which there are none here.


@dataclass(frozen=True, kw_only=True, slots=True)
class StubPlan:
    """How a stub is made; the settings of `CapRows` as far as they concern it."""

    max_rows: int
    max_tokens: int | None
    facts: bool
    encoding: Encoding
    can_query: bool
    counter: Counter | None = None

    def tokens(self, value: Any) -> int:
        """Tokens of a value, by the counter as JSON with blanks in it, the longest form in which a provider gets it."""
        if self.counter is None:
            return TokenMeter().payload(value)
        return self.counter(json.dumps(value, ensure_ascii=False, default=str))

    def text_tokens(self, text: str) -> int:
        """Tokens of a text."""
        return (self.counter or estimate_tokens)(text)

"""The record of one pass over one model call's request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class PassReport:
    """The record of one pass over one request.

    Attributes:
        name: the pass, in snake case (`strip_for_context`).
        tokens_before: tokens of the whole request as the pass received it.
        tokens_after: tokens of the whole request as the pass left it.
        note: what the pass did and what it left alone, in one line without payload.
        seconds: the time that the pass took.
        error: the exception of a pass that failed and was skipped, as `type: message`, or None.
    """

    name: str
    tokens_before: int
    tokens_after: int
    note: str = ""
    seconds: float = 0.0
    error: str | None = None

    @property
    def tokens_saved(self) -> int:
        """`tokens_before` less `tokens_after`. Negative if a state view was filled in."""
        return self.tokens_before - self.tokens_after

    @property
    def error_type(self) -> str | None:
        """The type of `error` alone, since a message may quote what the pass was reading."""
        return self.error.partition(":")[0] if self.error else None

    def to_dict(self) -> dict[str, Any]:
        """Returns the record as plain JSON values, without payload."""
        record: dict[str, Any] = {
            "name": self.name,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "seconds": round(self.seconds, 6),
        }
        if self.note:
            record["note"] = self.note
        if self.error:
            record["error"] = self.error_type
        return record


@dataclass(frozen=True, kw_only=True, slots=True)
class PrefixReport:
    """The most that a provider can read from its prompt cache.

    Attributes:
        tokens: the tokens at the beginning of this request that the previous request begins with as well.
        previous_tokens: the tokens of the previous request of the same agent in the same session, or 0.
    """

    tokens: int = 0
    previous_tokens: int = 0

    @property
    def share(self) -> float:
        """`tokens` as a share of the previous request, from 0 to 1. An agent's first request has 0."""
        return min(1.0, self.tokens / self.previous_tokens) if self.previous_tokens else 0.0

    def scaled(self, factor: float) -> PrefixReport:
        """Returns it with all tokens multiplied."""
        tokens, previous = round(factor * self.tokens), round(factor * self.previous_tokens)
        return replace(self, tokens=tokens, previous_tokens=previous)

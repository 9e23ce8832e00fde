"""The record of one pass over one model call's request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class PassReport:
    """What one pass did to one request.

    Attributes:
        name: the pass, in snake case (`strip_for_context`).
        tokens_before: tokens of the whole request as the pass received it.
        tokens_after: tokens of the whole request as the pass left it.
        note: what it did and what it left alone, in one line; never a payload.
        seconds: how long it took.
        error: the exception, as `type: message`, of a pass that failed and was skipped, else None.
    """

    name: str
    tokens_before: int
    tokens_after: int
    note: str = ""
    seconds: float = 0.0
    error: str | None = None

    @property
    def tokens_saved(self) -> int:
        """`tokens_before` less `tokens_after`; negative where a state view was filled in."""
        return self.tokens_before - self.tokens_after

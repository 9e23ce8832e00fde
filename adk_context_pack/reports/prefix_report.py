"""How much of an agent's previous request is still at the beginning of this one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class PrefixReport:
    """What a provider can read from its prompt cache, at best.

    Attributes:
        tokens: tokens at the beginning of this request that stand at the beginning of the previous one as well.
        previous_tokens: tokens of the previous request of the same agent in the same session; 0 where there was none.
    """

    tokens: int = 0
    previous_tokens: int = 0

    @property
    def share(self) -> float:
        """`tokens` as a share of the previous request, from 0 to 1; 0 for an agent's first request."""
        return min(1.0, self.tokens / self.previous_tokens) if self.previous_tokens else 0.0

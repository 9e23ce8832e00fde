"""Prices of input tokens, with the cached share apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

from adk_context_pack.errors import SettingError


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """The prices of a million input tokens, in any currency.

    Output tokens are the same with and without the pack, so they have no price here.

    Args:
        input: a token that the provider has to read.
        cached: a token that it finds in its prompt cache.

    Raises:
        SettingError: a price that is negative or not a finite number.
    """

    input: float = 1.0
    cached: float = 0.1

    def __post_init__(self) -> None:
        for name in ("input", "cached"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not (math.isfinite(value) and value >= 0):
                raise SettingError.of("Prices", name, value, "a number from 0 up")

    @property
    def cached_share(self) -> float:
        """The price of a cached token as a share of that of another one, at most 1."""
        return min(self.cached / self.input, 1.0) if self.input else 1.0

    def micros(self, tokens: float, cached: float) -> float:
        """Returns the price of a request in millionths of the currency.

        Args:
            tokens: the tokens of the request.
            cached: those of them that the provider finds in its cache.
        """
        return (tokens - cached) * self.input + cached * self.cached

    def of(self, tokens: int, cached: int) -> float:
        """Returns the price of a request that shares `cached` tokens with the beginning of the previous one."""
        return self.micros(tokens, cached) / 1e6

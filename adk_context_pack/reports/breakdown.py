"""Holds the tokens of one request by category and by tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

CALLS_AND_RESULTS = "tool_calls_and_results"
"""The category to which the tokens of the tools add up."""


class Breakdown(NamedTuple):
    """Holds the tokens of one request by category, and those of this agent's calls and results by tool.

    Attributes:
        categories: tokens by category.
        tools: tokens by tool.
    """

    categories: Mapping[str, int]
    tools: Mapping[str, int]

    def scaled(self, total: int) -> Breakdown:
        """Returns it scaled so that the categories add up to exactly `total`, and the tools to their category."""
        categories = spread(self.categories, total)
        return Breakdown(categories, spread(self.tools, categories.get(CALLS_AND_RESULTS, 0)) if self.tools else {})


def spread(found: Mapping[str, int], total: int) -> dict[str, int]:
    """Returns `found` scaled so that its sum is exactly `total`. The largest entry takes what rounding leaves."""
    whole = sum(found.values())
    if whole == total:
        return dict(found)
    if not whole:
        return {**found, "other": total}
    scaled = {name: tokens * total // whole for name, tokens in found.items()}
    largest = max(scaled, key=scaled.__getitem__)
    scaled[largest] += total - sum(scaled.values())
    return scaled

"""The tokens of a request by category and by tool add up, whatever they are scaled to."""

import pytest

from adk_context_pack.reports.breakdown import Breakdown, spread

FOUND = Breakdown({"user": 300, "tool_calls_and_results": 700, "other": 0}, {"look_up": 300, "query": 400})


@pytest.mark.parametrize("total", [0, 1, 333, 1000, 2501])
def test_scales_to_an_exact_sum(total):
    """Categories add up to the total, and the tools to their category."""
    scaled = FOUND.scaled(total)
    assert sum(scaled.categories.values()) == total
    assert sum(scaled.tools.values()) == scaled.categories["tool_calls_and_results"]


def test_a_request_without_tools_has_none():
    """Scaling adds no entry for a tool where no tool was used."""
    assert Breakdown({"user": 3, "other": 0}, {}).scaled(6) == ({"user": 6, "other": 0}, {})


def test_spreads_to_an_exact_sum():
    """Scaled shares add up to the total, also where there is nothing to scale."""
    assert spread({"a": 1, "b": 1, "c": 1, "other": 0}, 100) == {"a": 34, "b": 33, "c": 33, "other": 0}
    assert spread({"a": 0, "other": 0}, 7) == {"a": 0, "other": 7}
    assert spread({"a": 3, "other": 0}, 3) == {"a": 3, "other": 0}

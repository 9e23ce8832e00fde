"""Groups of a summary: by the dimensions that there are, the largest first."""

import math

from adk_context_pack.tables.results import Result
from adk_context_pack.tables.summarize import SummaryPlan, summarize

ROWS = [
    {"device": "desktop", "cost": 4.0},
    {"device": "mobile", "cost": 1e308},
    {"device": "mobile", "cost": 1e308},
    {"device": "tablet", "cost": math.nan},
]


def groups(rows, *group_by):
    return summarize(Result(id="r", rows=rows), SummaryPlan(group_by=group_by))["groups"]


def test_a_dimension_that_no_row_has_is_left_out():
    """A dimension that the rows do not have has no groups, alone or together with one that they have."""
    assert groups(ROWS, ("device",), ("region",), ("device", "region")).keys() == {"device"}


def test_a_group_beyond_floats_is_the_largest():
    """A group whose sum no float holds comes first, and one without a number last."""
    found = groups(ROWS, ("device",))["device"]
    assert [group["device"] for group in found] == ["mobile", "desktop", "tablet"]
    assert [group["row_count"] for group in found] == [2, 1, 1]

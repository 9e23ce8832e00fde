"""Groups of a summary: by the dimensions that there are, the largest first."""

import math

from adk_context_pack.tables.query_results import Result
from adk_context_pack.tables.summarize import SummaryPlan, summarize, without_rows
from adk_context_pack.tables.table_facts import table_facts

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


def money(*cells, **columns):
    return [{"cost": cell, **{name: column[row] for name, column in columns.items()}} for row, cell in enumerate(cells)]


def entry(rows, **plan):
    return summarize(Result(id="r", rows=rows), SummaryPlan(**plan))


def test_what_no_total_holds_is_told():
    """Missing cells and cells that are not numbers are counted beside the totals, with one of them, and the unit."""
    found = entry(money("$1,250.00", "N/A", "on request", "950"))
    assert (found["totals"], found["units"]) == ({"cost": 2200.0}, {"cost": "$"})
    assert found["left_out"] == {"cost": {"missing": 1, "not_numbers": 1, "such_as": "on request"}}
    assert "left_out" not in entry(money("1", "2"))


def test_two_currencies_are_not_added_up():
    """Where rows name several currencies, money has a total for each and for what has none, and counts one for all."""
    rows = money("10 kr", 20, 5, 1, currency_code=["SEK", "DKK", "SEK", None], clicks=[1, 2, 3, 0], device=[*"aabc"])
    found = entry(rows, group_by=(("device",),))
    assert found["totals"] == {"cost": None, "clicks": 6}
    assert (found["kpis"]["CPC"], found["note"][:7]) == (None, "Amounts")
    totals = {name: part["totals"]["cost"] for name, part in found["by_currency"].items()}
    assert totals == {"SEK": 15, "DKK": 20, "(no currency)": 1}
    groups = [(each["totals"]["cost"], each.get("currency", "")) for each in found["groups"]["device"]]
    assert groups == [(None, ""), (5, "SEK"), (1, "(no currency)")]


def test_signs_of_two_currencies_are_not_added_up():
    """A column with amounts in dollars and in euros has no total and no order, and it is told why, as are its cells."""
    found = entry(money("$10", "€20", clicks=[1, 2]))
    assert (found["totals"], [row["cost"] for row in found["top"]]) == ({"cost": None, "clicks": 3}, ["€20", "$10"])
    assert (found["ranked_by"], found.get("units"), found["kpis"]["CPC"]) == ("clicks", None, None)
    assert all(entry(money("$10", "€20", clicks=[1, 2]), rank_by=name)["top"] == [] for name in ("cost", "CPC"))
    assert found["left_out"] == {"cost": {"currencies": ["$", "€"]}}
    assert {name: part["totals"]["cost"] for name, part in found["by_currency"].items()} == {"$": 10, "€": 20}


def test_a_figure_that_the_rows_have_stays():
    """A column of the rows named like a key figure is kept where none can be computed, and a writer sees no others."""
    found = without_rows(entry([{"ad": 7, "CTR": 0.5}, {"ad": 7, "CTR": 0.25}], rank_by="ad", group_by=(("ad",),)))
    assert (found["top"][0], found["kpis"], found["totals"]) == ({"ad": 7, "CTR": 0.5}, {}, {})


def test_ranked_by_a_column_in_any_spelling():
    """The column that ranks is named as the rows name it, and orders the groups."""
    rows = [{"Clicks": n, "device": name} for n, name in ((3, "desktop"), (9, "mobile"), (1, "tablet"))]
    found = entry(rows, rank_by="clicks", group_by=(("device",),), max_ranked=2)
    assert found["ranked_by"] == "Clicks"
    assert [row["Clicks"] for row in found["top"]] == [9, 3]
    assert [row["Clicks"] for row in found["bottom"]] == [1, 3]
    assert [group["device"] for group in found["groups"]["device"]] == ["mobile", "desktop", "tablet"]


def test_a_row_of_totals_is_no_row_of_a_summary():
    """A last row that sums up the others is in no total and no group, and a note names it."""
    found = entry([{"device": device, "clicks": n} for device, n in (("a", 1), ("b", 2), ("a", 5), ("Total", 8))])
    assert (found["row_count"], found["totals"]["clicks"], found["top"][0]["clicks"]) == (3, 8, 5)
    assert "rows 3" in found["note"]
    short = [{"firm": name, "clicks": n} for name, n in (("Shell", 10), ("BP", 20), ("Total", 30))]
    assert entry(short)["totals"]["clicks"] == table_facts(short[::-1]).column("clicks").total == 30
    assert entry([*short[:2], short[2] | {"clicks": 31}])["totals"]["clicks"] == 61

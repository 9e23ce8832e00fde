"""Measures under any spelling, in micros and in currency."""

import math
from decimal import Decimal

import pytest

from adk_context_pack.tables.summarize import GOOGLE_ADS_KPIS, Measures

ROWS = [{"metrics": {"costMicros": "1500000", "averageCpc": 2_000_000.0}, "segments": {"device": "M"}}, {"metrics": {}}]


@pytest.mark.parametrize(
    "name", ["cost", "cost_micros", "costMicros", "metrics.cost_micros", "metrics.costMicros", "COST"]
)
def test_found_in_any_spelling(name):
    """All names of the cost mean the cost in currency."""
    assert Measures(ROWS).find(name) == "cost"


def test_prices_that_are_micros():
    """The API's prices are micros though their names do not say so; the same name elsewhere is currency."""
    assert Measures(ROWS).row(0, ())["average_cpc"] == 2.0
    assert Measures([{"average_cpc": 2_000_000.0}]).row(0, ())["average_cpc"] == 2_000_000.0


def test_totals_of_some_rows():
    """Totals and key figures of some rows are those rows' own."""
    table = Measures([{"clicks": 1, "impressions": 10}, {"clicks": 5, "impressions": 10}])
    assert table.totals([1]) == {"clicks": 5, "impressions": 10}
    assert table.kpis(GOOGLE_ADS_KPIS, [1])["CTR"] == 0.5


@pytest.mark.parametrize("micros", [math.inf, -math.inf, Decimal("Infinity")])
def test_micros_without_end(micros):
    """Infinite micros have no amount in currency, in a row and in a total, and nothing raises."""
    table = Measures([{"metrics": {"cost_micros": micros, "clicks": 3}}])
    assert table.row(0, GOOGLE_ADS_KPIS)["cost"] is None
    assert table.totals()["cost"] is None
    assert table.totals()["clicks"] == 3
    assert table.kpis(GOOGLE_ADS_KPIS)["CPC"] is None


KPIS = {kpi.name: kpi for kpi in GOOGLE_ADS_KPIS}


@pytest.mark.parametrize("rows", [
    [{"cost": 2.5, "clicks": 5}, {"cost": 0.5, "clicks": 2}, {"clicks": 4}, {"cost": 1}],
    [{"cost_micros": 2_500_000, "clicks": 5}, {"cost_micros": 500_000, "clicks": 2}, {"clicks": 4},
     {"cost_micros": 1_000_000}],
    [{"metrics": {"costMicros": 2_500_000, "clicks": 5}}, {"metrics": {"costMicros": 500_000, "clicks": 2}},
     {"metrics": {"clicks": 4}}, {"metrics": {"costMicros": 1_000_000}}],
])  # fmt: skip
def test_key_figures_are_the_same_in_either_unit(rows):
    """A figure of each row, of some rows and of all is that of the cost in currency, however the rows have it."""
    table, cpc = Measures(rows), (KPIS["CPC"],)
    assert table.values("CPC", cpc) == table.values("cpc", cpc) == [0.5, 0.25, None, None]
    assert [table.row(index, cpc)["CPC"] for index in range(4)] == [0.5, 0.25, None, None]
    assert table.kpis(cpc) == {"CPC": 4 / 11}
    assert table.kpis(cpc, [0, 1]) == {"CPC": 3 / 7}
    assert table.cells("cost") == [2.5, 0.5, None, 1]
    assert table.totals()["cost"] == 4
    assert table.totals([2])["cost"] is None


def test_money_of_several_currencies_is_never_added():
    """Rows of one currency have a total of money. Rows of two, or of one and none, do not, and other totals stay."""
    cells = [("EUR", 1), ("USD", 2), ("EUR", 3), (None, 4)]
    table = Measures([{"currency_code": code, "cost": cost, "clicks": 1} for code, cost in cells])
    assert table.currencies() == {"EUR": [0, 2], "USD": [1], "(no currency)": [3]}
    assert table.totals() == {"cost": None, "clicks": 4}
    assert (table.totals([0, 2]), table.totals([0, 2, 3])["cost"]) == ({"cost": 4, "clicks": 2}, None)
    assert table.kpis((KPIS["CPC"],)) == {"CPC": None}
    assert Measures([{"currency_code": "EUR", "cost": 1}, {"currency_code": "EUR", "cost": 2}]).currencies() == {}


def test_rates_are_not_added():
    """A column of ratios or averages has no total."""
    assert Measures([{"ctr": 0.5, "clicks": 1}, {"ctr": 0.25, "clicks": 3}]).totals() == {"clicks": 4}

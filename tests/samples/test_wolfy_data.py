"""The data behind the Wolfy sample: the made-up account, queries on it, and CSV files of the user's own."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from google.adk.sessions.state import State

from samples.wolfy.agent import open_account
from samples.wolfy.demo_account import demo_account
from samples.wolfy.gaql import run_gaql
from samples.wolfy.measure import run_pipeline
from samples.wolfy.queries import QueryTools
from samples.wolfy.techniques import TECHNIQUES
from tests.support.shared_data import shared_file

GOOGLE_ADS = (
    "account_stats",
    "ad_group_stats",
    "ad_stats",
    "campaign_stats",
    "keyword_stats",
    "search_term_keyword_stats",
)
LISTS = ("account_history", "ad_group_criterion_history", "ad_group_history", "ad_history", "campaign_history")


@pytest.fixture(scope="module")
def account():
    return demo_account()


def test_rows_are_those_of_the_rest_api(account):
    """Rows are nested, in camelCase, with resource names and with 64-bit integers as strings."""
    query = (
        "SELECT campaign.id, segments.device, metrics.clicks, metrics.cost_micros, metrics.conversions_value "
        "FROM campaign WHERE campaign.name = 'Brand' AND segments.date DURING LAST_7_DAYS "
        "ORDER BY metrics.clicks DESC LIMIT 1"
    )
    (row,) = run_gaql(account, query)

    where = (
        "campaign_name = 'Brand' AND segments_date BETWEEN '2024-06-08' AND '2024-06-14' AND segments_device = 'MOBILE'"
    )
    columns = "SUM(metrics_clicks), SUM(metrics_cost_micros), SUM(metrics_conversions_value)"
    clicks, micros, value = account.sql(f"SELECT {columns} FROM facts WHERE {where}")[0]
    assert row == {
        "campaign": {"resourceName": "customers/1234567890/campaigns/344106490", "id": "344106490"},
        "segments": {"device": "MOBILE"},
        "metrics": {"clicks": str(clicks), "costMicros": str(micros), "conversionsValue": value},
    }


def test_a_query_waits_for_those_it_depends_on(account):
    """A query that names another's first row stays pending until that one has run, and then runs on its value."""
    brand = "SELECT campaign.id, metrics.clicks FROM campaign WHERE campaign.name = 'Brand'"
    days = "SELECT segments.date, metrics.clicks FROM campaign WHERE campaign.id = $q1.campaign.id"
    plan = [
        {"id": "q1", "title": "", "purpose": "", "query": brand},
        {"id": "q2", "title": "", "purpose": "", "query": days, "depends_on": ["q1"]},
    ]
    tools, context = QueryTools(account), SimpleNamespace(state=State({}, {}))
    tools.save_queries(plan, context)

    assert tools.run_query("q2", context)["message"] == "Waits for q1."
    assert tools.run_query("q1", context)["row_count"] == 1
    found = tools.run_query("q2", context)
    assert found["row_count"] == 14
    assert {row["segments"]["date"] for row in found["results"]} == {f"2024-06-{day:02}" for day in range(1, 15)}
    assert [entry["status"] for entry in context.state["gaql_queries"]] == ["SUCCESS", "SUCCESS"]
    assert tools.run_query("q7", context)["error_message"] == "There is no query 'q7'."


@pytest.mark.parametrize("name", [*(f"google_ads/{name}.csv" for name in GOOGLE_ADS), "meridian/geo_media.csv"])
async def test_a_csv_of_the_users_own_gives_its_totals(name):
    """For each file the report has the sum of every column that can be added up, with the pack and without."""
    account = open_account(str(shared_file(name)))
    lean = await run_pipeline(account)
    bare = await run_pipeline(account, without=TECHNIQUES)

    metrics = [entry for entry in account.fields.values() if entry.is_metric]
    assert lean.figures == bare.figures
    for entry in metrics:
        total = account.sql(f"SELECT SUM({entry.sql}) FROM facts")[0][0]
        name, scale = entry.column.removesuffix("_micros"), 1_000_000 if entry.column.endswith("_micros") else 1
        assert math.isclose(lean.figures[name], total / scale, rel_tol=1e-9), name
    assert "did not succeed" not in lean.report


@pytest.mark.parametrize("name", LISTS)
async def test_a_csv_without_figures_is_counted(name):
    """A list of things has no sums; the report says how many there are."""
    account = open_account(str(shared_file(f"google_ads/{name}.csv")))
    lean = await run_pipeline(account)

    assert lean.figures == (await run_pipeline(account, without=TECHNIQUES)).figures
    assert lean.figures["entries"] == account.sql("SELECT COUNT(*) FROM facts")[0][0]

"""The data behind the Wolfy sample: the made-up account, queries on it, and CSV files of the user's own."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from google.adk.sessions.state import State

from samples.wolfy.agent import open_account
from samples.wolfy.csv_account import csv_account
from samples.wolfy.demo_account import demo_account
from samples.wolfy.gaql import QueryError, run_gaql
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


def test_the_account_is_the_same_at_every_start():
    """A seed gives one account of several thousand rows, another seed another one."""
    everything = "SELECT * FROM facts"

    assert demo_account().sql(everything) == demo_account().sql(everything)
    assert demo_account(seed=1).sql(everything) != demo_account().sql(everything)
    assert len(demo_account().sql(everything)) == 5040


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


@pytest.mark.parametrize(
    ("where", "sql"),
    [
        ("campaign.status = 'PAUSED'", "campaign_status = 'PAUSED'"),
        ("campaign.status != 'PAUSED'", "campaign_status != 'PAUSED'"),
        ("segments.device IN ('MOBILE', 'TABLET')", "segments_device IN ('MOBILE', 'TABLET')"),
        ("segments.device NOT IN ('MOBILE')", "segments_device NOT IN ('MOBILE')"),
        ("segments.date BETWEEN '2024-06-02' AND '2024-06-05'", "segments_date BETWEEN '2024-06-02' AND '2024-06-05'"),
        (
            "campaign.name LIKE '%Search%' AND campaign.id > 344106491",
            "campaign_name LIKE '%Search%' AND campaign_id > 344106491",
        ),
        ("campaign.name = 'this AND that'", "campaign_name = 'this AND that'"),
        ("campaign.name = 'x'' OR 1=1'", "campaign_name = 'nothing of the kind'"),
    ],
)
def test_conditions_select_what_sql_selects(account, where, sql):
    """Every form of condition finds the clicks that SQL finds, and text in quotes is text."""
    try:
        rows = run_gaql(account, f"SELECT campaign.id, metrics.clicks FROM campaign WHERE {where}")
    except QueryError:
        rows = []

    found = sum(int(row["metrics"]["clicks"]) for row in rows)
    assert found == (account.sql(f"SELECT SUM(metrics_clicks) FROM facts WHERE {sql}")[0][0] or 0)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT metrics.cost FROM campaign", "Unrecognized field in the query: 'metrics.cost'"),
        ("SELECT ad_group.id FROM campaign", "Cannot select field 'ad_group.id' from resource 'campaign'"),
        ("SELECT metrics.clicks FROM facts", "'facts' is not a valid resource"),
        ("DROP TABLE facts", "expected SELECT"),
        ("SELECT metrics.clicks FROM campaign WHERE campaign.id = 'x'", "expected a number"),
        ("SELECT metrics.clicks FROM campaign WHERE metrics.clicks ~ 3", "invalid condition"),
        ("SELECT metrics.clicks FROM campaign WHERE campaign.id = 1 OR campaign.id = 2", "invalid value"),
        ("SELECT metrics.clicks FROM campaign WHERE segments.date DURING LAST_YEAR", "not a valid period"),
        ("SELECT metrics.clicks FROM campaign ORDER BY metrics.clicks SIDEWAYS", "ORDER BY"),
    ],
)
def test_a_wrong_query_says_what_is_wrong(account, query, message):
    """A query that cannot run is refused with a message that a model can correct it from."""
    with pytest.raises(QueryError, match=message):
        run_gaql(account, query)


def test_a_malformed_plan_is_refused_with_a_reason(account):
    """A model that leaves out a field is told so; the run goes on and nothing is saved."""
    context = SimpleNamespace(state={})
    answer = QueryTools(account).save_queries([{"id": "q1"}], context)

    assert answer["status"] == "FAILED"
    assert "query" in answer["error_message"]
    assert context.state == {}


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


def test_numbers_that_say_nothing_when_added_are_no_metrics(tmp_path):
    """Identifiers, rates and prices of a CSV are attributes; an empty cell is no zero."""
    file = tmp_path / "mine.csv"
    file.write_text(
        "campaign_id,day,ctr,Spend,refund\n7,2024-01-01,0.5,1.25,-2\n7,2024-01-02,0.7,,3\n", encoding="utf-8"
    )
    account = csv_account(file)

    assert [name for name in account.fields if name.startswith("metrics.")] == ["metrics.spend", "metrics.refund"]
    rows = run_gaql(account, "SELECT segments.day, metrics.spend, metrics.refund FROM data")
    assert rows == [
        {"segments": {"day": "2024-01-01"}, "metrics": {"spend": 1.25, "refund": "-2"}},
        {"segments": {"day": "2024-01-02"}, "metrics": {"refund": "3"}},
    ]


def test_a_ragged_csv_names_the_row(tmp_path):
    """A line with too few cells is named, instead of shifting every column."""
    file = tmp_path / "ragged.csv"
    file.write_text("a,b\n1,2\n3\n", encoding="utf-8")

    with pytest.raises(ValueError, match=r"ragged\.csv, row 3: 1 cells"):
        csv_account(file)


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

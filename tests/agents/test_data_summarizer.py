"""DataSummarizer in real pipelines: what it reads from state, what it writes, and who receives it."""

import csv
import json
import logging

import pytest
from google.adk.agents import LlmAgent, LoopAgent, SequentialAgent
from google.adk.agents.base_agent import BaseAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions

from adk_context_pack import (
    GOOGLE_ADS_KPIS,
    DataSummarizer,
    Kpi,
    SettingError,
    cap_rows,
    get_summarized_results,
    table_facts,
)
from adk_context_pack.agents.summarized_results import summarized_results_tool
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call
from tests.support.shared_data import shared_file

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ROWS = [
    {"campaign": {"id": "11", "name": "Brand"}, "segments": {"device": "MOBILE"},
     "metrics": {"clicks": "10", "impressions": "200", "costMicros": "5000000", "conversions": 2.0,
                 "conversionsValue": 30.0}},
    {"campaign": {"id": "12", "name": "Shoes"}, "segments": {"device": "DESKTOP"},
     "metrics": {"clicks": "30", "impressions": "300", "costMicros": "9007199254740993", "conversions": 1.0}},
    {"campaign": {"id": "13", "name": "Idle"}, "segments": {"device": "MOBILE"},
     "metrics": {"clicks": "0", "impressions": "0", "costMicros": "0"}},
]  # fmt: skip
FLAT = [
    {"clicks": 10, "impressions": 200, "cost_micros": 5_000_000, "conversions": 2.0, "conversions_value": 30.0},
    {"clicks": 30, "impressions": 300, "cost_micros": 9_007_199_254_740_993, "conversions": 1.0},
    {"clicks": 0, "impressions": 0, "cost_micros": 0},
]
DOTTED = [
    {f"metrics.{key}": str(value) if isinstance(value, int) else value for key, value in row.items()} for row in FLAT
]
MICROS = 9_007_199_259_740_993


async def summary_of(results, **settings):
    agent = DataSummarizer(name="summarizer", **settings)
    run = await run_agent(agent, "go", state={"gaql_execution_results": results})
    return run.session.state["summarized_results"]


@pytest.mark.parametrize("rows", [ROWS, FLAT, DOTTED], ids=["nested", "flat", "dotted"])
async def test_every_spelling_gives_the_same_figures(rows):
    """Nested camel-case rows with integers as texts, flat ones and dotted ones give the same exact figures."""
    entry = (await summary_of({"q1": {"results": rows}}))["q1"]
    assert (entry["status"], entry["row_count"]) == ("ok", 3)
    assert entry["totals"] == {
        "clicks": 40,
        "impressions": 500,
        "cost_micros": MICROS,
        "cost": MICROS / 1_000_000,
        "conversions": 3.0,
        "conversions_value": 30.0,
    }
    cost = MICROS / 1_000_000
    assert entry["kpis"] == pytest.approx(
        {"CTR": 40 / 500, "CPC": cost / 40, "CPM": cost / 500 * 1000, "CVR": 3 / 40, "CPA": cost / 3, "ROAS": 30 / cost}
    )


async def test_rows_are_enriched():
    """Each row has its own key figures and its cost in currency; a zero denominator gives None."""
    entry = (await summary_of({"q1": ROWS}))["q1"]
    first, _, idle = entry["enriched_rows"]
    assert (first["cost"], first["CTR"], first["CPC"], first["ROAS"]) == (5.0, 0.05, 0.5, 6.0)
    assert (first["campaign.id"], first["clicks"]) == ("11", 10)
    assert [idle[kpi.name] for kpi in GOOGLE_ADS_KPIS] == [None] * 6
    assert "micros" not in json.dumps(entry["enriched_rows"])


async def test_top_bottom_and_groups():
    """Rows are ranked by a column or a key figure, and groups have totals and ratios of their own."""
    entry = (
        await summary_of({"q1": ROWS}, rank_by="CTR", max_ranked=1, group_by=("device", ("device", "campaign.name")))
    )["q1"]
    assert entry["top"][0]["campaign.name"] == "Shoes"
    assert entry["bottom"][0]["campaign.name"] == "Brand"
    mobile = next(group for group in entry["groups"]["device"] if group["device"] == "MOBILE")
    assert (mobile["row_count"], mobile["totals"]["cost_micros"], mobile["kpis"]["CTR"]) == (2, 5_000_000, 0.05)
    assert len(entry["groups"]["device, campaign.name"]) == 3


async def test_identifiers_and_ratios_are_not_summed():
    """Totals hold no sums of ids, and none of averages and rates."""
    rows = [
        {"campaign_id": 5, "ctr": 0.1, "average_cpc": 3.0, "clicks": 1},
        {"campaign_id": 6, "ctr": 0.2, "clicks": 2},
    ]
    assert (await summary_of(rows))["gaql_execution_results"]["totals"] == {"clicks": 3}


@pytest.mark.parametrize(
    ("results", "ids"),
    [
        ({"q1": FLAT, "q2": []}, {"q1": 3, "q2": 0}),
        ({"results": ROWS, "fieldMask": "metrics.clicks"}, {"gaql_execution_results": 3}),
        ([{"results": ROWS}, {"results": ROWS}], {"gaql_execution_results": 6}),
        ([{"query_id": "a", "rows": FLAT}, {"query_id": "b", "rows": FLAT[:1]}], {"a": 3, "b": 1}),
        (json.dumps({"q1": {"rows": FLAT}}), {"q1": 3}),
        ({"q1": {"content": [{"type": "text", "text": json.dumps(FLAT)}], "isError": False}}, {"q1": 3}),
        ({"q1": {"columns": ["clicks", "cost_micros"], "rows": [[1, 2], [3, 4]]}}, {"q1": 2}),
        ({"q1": None, "q2": {"fieldMask": "x"}}, {"q1": 0, "q2": 0}),
        ({"q1": {"sales": FLAT, "refunds": FLAT[:2]}}, {"q1.sales": 3, "q1.refunds": 2}),
    ],
)
async def test_forms_of_results(results, ids):
    """Results by id, single ones, streams, lists, JSON, MCP, columns with values and several tables are all read."""
    summary = await summary_of(results)
    assert {name: entry["row_count"] for name, entry in summary.items()} == ids
    assert {entry["status"] for entry in summary.values()} == {"ok"}


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ({"status": "failed", "error": "bad field"}, "bad field"),
        ({"error": {"code": 400, "message": "INVALID_ARGUMENT"}}, "INVALID_ARGUMENT"),
        ({"success": False}, "failed"),
        ({"isError": True, "content": [{"type": "text", "text": "quota"}]}, "quota"),
    ],
)
async def test_failed_queries(result, error):
    """A failed query has its own entry with the error, and does not disturb the others."""
    summary = await summary_of({"q1": result, "q2": FLAT})
    assert (summary["q1"]["status"], summary["q1"]["error"], summary["q1"]["row_count"]) == ("failed", error, 0)
    assert summary["q2"]["totals"]["clicks"] == 40


@pytest.mark.parametrize("odd", [42, "prose", True, {"q1": FLAT, "q2": 3.5, "q3": {}}])
async def test_odd_values_are_named(odd, caplog):
    """What is no result gets an entry that says so and a line in the log without the value; the run goes on."""
    summary = await summary_of({"good": {"rows": FLAT}, "odd": odd})
    assert summary["good"]["row_count"] == 3
    if not isinstance(odd, dict):
        assert summary["odd"]["status"] == "unreadable"
        assert [record.levelno for record in caplog.records if record.name == "adk_context_pack"] == [logging.WARNING]
        assert "prose" not in caplog.text


@pytest.mark.parametrize("cells", [[None, "", "abc"], [True, float("nan"), 3], [[1], {"a": 2}, "5"], ["1", 2, 3.5]])
async def test_odd_cells(cells):
    """Cells of any type give JSON, and numbers among them still add up."""
    entry = (await summary_of([{"clicks": cell} for cell in cells]))["gaql_execution_results"]
    assert entry["row_count"] == 3
    json.dumps(entry, allow_nan=False)


async def test_missing_state():
    """Without any results the summary is empty, and the tool says that there is none yet."""
    run = await run_agent(DataSummarizer(name="summarizer"), "go")
    assert run.session.state["summarized_results"] == {}


async def test_long_results_are_bounded():
    """Enriched rows and groups are cut with the numbers of both, while totals stay those of all rows."""
    rows = [{"clicks": index, "name": f"n{index}"} for index in range(500)]
    entry = (await summary_of(rows, max_rows=10, max_groups=3, group_by=("name",)))["gaql_execution_results"]
    assert len(entry["enriched_rows"]) == 10
    assert entry["_row_limits"] == {
        "enriched_rows": {"shown": 10, "total": 500},
        "groups.name": {"shown": 3, "total": 500},
    }
    assert (entry["row_count"], entry["totals"]["clicks"]) == (500, sum(range(500)))
    assert [group["name"] for group in entry["groups"]["name"]] == ["n499", "n498", "n497"]


async def test_own_kpis():
    """Key figures of one's own are declared as data, also over columns that no row has."""
    kpis = (
        Kpi(name="eCPM", numerator="spend", denominator="views", scale=1000),
        Kpi(name="none", numerator="x", denominator="y"),
    )
    entry = await summary_of([{"spend": 0.1, "views": 10}, {"spend": 0.2, "views": 20}], kpis=kpis)
    assert entry["gaql_execution_results"]["kpis"] == {"eCPM": pytest.approx(10), "none": None}


def fetching(tool, *calls):
    def answer(request):
        done = any(part.function_response for content in request.contents for part in content.parts)
        return "fetched" if done else [call(tool.name, **arguments) for arguments in calls]

    return LlmAgent(name="fetcher", model=ScriptedModel(answer=answer), tools=[tool])


def writer(tool=get_summarized_results):
    def answer(request):
        for content in request.contents:
            for part in content.parts:
                if part.function_response:
                    return json.dumps(part.function_response.response)
        return call("get_summarized_results")

    return LlmAgent(name="writer", model=ScriptedModel(answer=answer), tools=[tool], include_contents="none")


def run_gaql(query_id: str) -> dict:
    """Runs a query."""
    return {"query_id": query_id, "rows": FLAT * 100}


@pytest.mark.parametrize("source", ["run_gaql", "rows:run_gaql", "gaql_execution_results"])
async def test_reads_what_cap_rows_kept(source):
    """The full rows of capped results are found by the tool's name, and by default whatever was kept."""
    steps = [
        fetching(cap_rows(run_gaql, max_rows=5), {"query_id": "q1"}, {"query_id": "q2"}),
        DataSummarizer(name="summarizer", source=source),
        writer(),
    ]
    run = await run_agent(SequentialAgent(name="pipeline", sub_agents=steps), "go")
    said = json.loads(run.answer)
    assert set(said) == {"q1", "q2"}
    assert (said["q1"]["row_count"], said["q2"]["totals"]["clicks"]) == (300, 4000)
    assert said["q1"]["totals"]["cost"] == MICROS * 100 / 1_000_000
    assert "micros" not in run.answer
    assert "enriched_rows" not in run.answer


@pytest.mark.parametrize("place", ["state", "artifacts"])
async def test_reads_any_store(place):
    """Rows that live in an artifact give the same figures as rows in state, and as the facts in the stub."""
    fetch = fetching(cap_rows(run_gaql, max_rows=5, store=place), {"query_id": "q1"})
    steps = [fetch, DataSummarizer(name="summarizer", source="run_gaql")]
    run = await run_agent(SequentialAgent(name="pipeline", sub_agents=steps), "go")
    totals = run.session.state["summarized_results"]["q1"]["totals"]
    facts = table_facts(run_gaql("q1")["rows"])
    assert totals["cost_micros"] == facts.column("cost_micros").total == MICROS * 100
    assert totals["clicks"] == facts.column("clicks").total


async def test_a_store_that_is_gone(caplog):
    """An artifact that cannot be read gives an entry that says so, and the run goes on."""
    pointer = {"stored": "artifact", "artifact": "rows-x-abc.json", "bytes": 1, "sha256": "0"}
    state = {"gaql_execution_results:q1": pointer, "gaql_execution_results:q2": FLAT}
    summary = (await run_agent(DataSummarizer(name="s"), "go", state=state)).session.state["summarized_results"]
    assert (summary["q1"]["status"], summary["q2"]["row_count"]) == ("unreadable", 3)
    assert "could not be read" in summary["q1"]["error"]


async def test_kept_rows_go_before_an_account_of_them():
    """Where an agent's own account of a result has no rows, those under a key for the query's id count."""
    state = {
        "gaql_execution_results": {"q1": {"status": "success", "row_count": 3, "title": "Spend"}},
        "gaql_execution_results:q1": {"rows": FLAT},
        "gaql_execution_results:q2": {"rows": FLAT[:1]},
    }
    run = await run_agent(DataSummarizer(name="summarizer"), "go", state=state)
    summary = run.session.state["summarized_results"]
    assert {name: (entry["status"], entry["row_count"]) for name, entry in summary.items()} == {
        "q1": ("ok", 3),
        "q2": ("ok", 1),
    }


async def test_writer_sees_a_summary_only():
    """The writer's tool gives figures in currency, and neither raw rows nor micros reach the writer's request."""
    steps = [DataSummarizer(name="summarizer", group_by=("device",)), writer()]
    run = await run_agent(
        SequentialAgent(name="pipeline", sub_agents=steps), "go", state={"gaql_execution_results": {"q1": ROWS}}
    )
    assert json.loads(run.answer)["q1"]["totals"]["cost"] == MICROS / 1_000_000
    assert all("icros" not in request.text for request in run.requests)


async def test_another_output_key():
    """A summarizer with a key of its own has a writer's tool for it, under the same name."""
    steps = [
        DataSummarizer(name="summarizer", output_key="numbers"),
        writer(summarized_results_tool(output_key="numbers")),
    ]
    run = await run_agent(
        SequentialAgent(name="pipeline", sub_agents=steps), "go", state={"gaql_execution_results": FLAT}
    )
    assert json.loads(run.answer)["gaql_execution_results"]["row_count"] == 3
    with pytest.raises(SettingError):
        summarized_results_tool(output_key="")


async def test_the_tool_before_the_summary():
    """A writer that asks too early is told so."""
    assert "No summarized results" in (await run_agent(writer(), "go")).answer


class Growing(BaseAgent):
    """Adds a query in its second round."""

    async def _run_async_impl(self, ctx):
        rounds = ctx.session.state.get("rounds", 0) + 1
        results = {"q1": FLAT} | ({"q2": FLAT} if rounds == 2 else {})
        delta = {"rounds": rounds} | ({"gaql_execution_results": results} if rounds < 3 else {})
        yield Event(author=self.name, invocation_id=ctx.invocation_id, actions=EventActions(state_delta=delta))


async def test_loop_writes_only_what_changed():
    """In a LoopAgent the summary follows the state, and rounds without news write nothing."""
    loop = LoopAgent(
        name="loop", sub_agents=[Growing(name="grow"), DataSummarizer(name="summarizer")], max_iterations=4
    )
    run = await run_agent(loop, "go")
    # From the third round on the state is that of the second one but for the counter.
    writes = [e for e in run.events if "summarized_results" in e.actions.state_delta]
    assert [sorted(e.actions.state_delta["summarized_results"]) for e in writes] == [["q1"], ["q1", "q2"]]


async def test_node_of_a_workflow():
    """As a node of a Workflow it hands the compact summary to the next node, also where nothing has changed."""
    workflow = pytest.importorskip("google.adk.workflow", reason="this ADK has no Workflow")
    received = []

    async def report(node_input):
        received.append(node_input)
        return "done"

    flow = workflow.Workflow(name="flow", edges=[("START", DataSummarizer(name="summarizer"), report)])
    await run_agent(flow, "go", "again", state={"gaql_execution_results": {"q1": ROWS}})
    assert [item["q1"]["totals"]["clicks"] for item in received] == [40, 40]
    assert "micros" not in json.dumps(received)


@pytest.mark.parametrize("name", ["campaign_stats", "ad_group_stats", "keyword_stats", "account_stats"])
async def test_real_reports(name):
    """On real Google Ads reports totals and ratios are those of a plain sum over the file."""
    with shared_file(f"google_ads/{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    entry = (await summary_of({"q": {"rows": rows}}))["q"]
    clicks, shown, micros = (sum(int(row[key]) for row in rows) for key in ("clicks", "impressions", "cost_micros"))
    assert (entry["totals"]["clicks"], entry["totals"]["cost_micros"]) == (clicks, micros)
    assert entry["kpis"]["CTR"] == clicks / shown
    assert entry["kpis"]["CPC"] == pytest.approx(micros / 1e6 / clicks)
    assert not {"id", "customer_id", "campaign_id"} & entry["totals"].keys()


class BrokenKpi(Kpi):
    def value(self, *_):
        raise ZeroDivisionError


async def test_a_result_that_cannot_be_summarized_does_not_end_the_run(caplog):
    """A key figure that raises makes its result unreadable, with the reason under its id; the run goes on."""
    broken = BrokenKpi(name="B", numerator="clicks", denominator="impressions")
    entry = (await summary_of({"q1": FLAT}, kpis=(broken,)))["q1"]
    assert (entry["status"], entry["row_count"]) == ("unreadable", 0)
    assert entry["error"] == "could not be summarized (ZeroDivisionError)"
    assert "could not be summarized" in caplog.text


async def test_kept_rows_that_are_damaged_leave_the_account_of_them():
    """Where what was kept under an id holds no rows, the rows that the agent wrote down under that id count."""
    state = {"gaql_execution_results": {"q1": FLAT}, "gaql_execution_results:q1": 7}
    run = await run_agent(DataSummarizer(name="summarizer"), "go", state=state)
    entry = run.session.state["summarized_results"]["q1"]
    assert (entry["status"], entry["row_count"]) == ("ok", 3)

"""DataSummarizer in real pipelines: what it reads from state, what it writes, and who receives it."""

import csv
import json
import logging

import pytest
from google.adk.agents import LlmAgent, LoopAgent, SequentialAgent
from google.adk.agents.base_agent import BaseAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions

from adk_context_pack import GOOGLE_ADS_KPIS, DataSummarizer, Kpi, get_summarized_results, summarized_results_tool
from adk_context_pack.stores.handles import HANDLE_LENGTH
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call
from tests.support.shared_data import shared_file
from tests.support.spans import warned

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
MICROS = 9_007_199_259_740_993


async def summary_of(results, **settings):
    agent = DataSummarizer(name="summarizer", **settings)
    run = await run_agent(agent, "go", state={"gaql_execution_results": results})
    return run.session.state["summarized_results"]


@pytest.mark.parametrize("odd", [42, "prose", True, {"q1": FLAT, "q2": 3.5, "q3": {}}])
async def test_odd_values_are_named(odd, caplog):
    """What is no result gets an entry that says so and a line in the log without the value; the run goes on."""
    summary = await summary_of({"good": {"rows": FLAT}, "odd": odd})
    assert summary["good"]["row_count"] == 3
    if not isinstance(odd, dict):
        assert summary["odd"]["status"] == "unreadable"
        assert [record.levelno for record in caplog.records if record.name == "adk_context_pack"] == [logging.WARNING]
        assert "prose" not in caplog.text


async def test_own_kpis():
    """Key figures of one's own are declared as data, also over columns that no row has."""
    kpis = (
        Kpi(name="eCPM", numerator="spend", denominator="views", scale=1000),
        Kpi(name="none", numerator="x", denominator="y"),
    )
    entry = await summary_of([{"spend": 0.1, "views": 10}, {"spend": 0.2, "views": 20}], kpis=kpis)
    assert entry["gaql_execution_results"]["kpis"] == {"eCPM": pytest.approx(10), "none": None}


def writer(tool=get_summarized_results):
    def answer(request):
        for content in request.contents:
            for part in content.parts:
                if part.function_response:
                    return json.dumps(part.function_response.response)
        return call("get_summarized_results")

    return LlmAgent(name="writer", model=ScriptedModel(answer=answer), tools=[tool], include_contents="none")


async def test_a_store_that_is_gone(caplog):
    """An artifact that cannot be read gives an entry that says so, and the run goes on."""
    pointer = {"stored": "artifact", "artifact": "rows-x-abc.json", "bytes": 1, "sha256": "0"}
    state = {"gaql_execution_results:q1": pointer, "gaql_execution_results:q2": FLAT}
    summary = (await run_agent(DataSummarizer(name="s"), "go", state=state)).session.state["summarized_results"]
    assert (summary["q1"]["status"], summary["q2"]["row_count"]) == ("unreadable", 3)
    assert "could not be read" in summary["q1"]["error"]


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
    assert (entry["status"], entry["row_count"]) == ("unreadable", None)
    assert entry["error"] == "could not be summarized (ZeroDivisionError)"
    assert "could not be summarized" in caplog.text


async def test_kept_rows_that_are_damaged_leave_the_account_of_them():
    """Where what was kept under an id holds no rows, the rows that the agent wrote down under that id count."""
    state = {"gaql_execution_results": {"q1": FLAT}, "gaql_execution_results:q1": 7}
    run = await run_agent(DataSummarizer(name="summarizer"), "go", state=state)
    entry = run.session.state["summarized_results"]["q1"]
    assert (entry["status"], entry["row_count"]) == ("ok", 3)


REPORT_ROWS = [
    {"campaign.name": "Brand", "metrics.costMicros": 5_000_000, "clicks": 3, "segments.device": "MOBILE"}
] * 3
KEPT = f"rows:run_gaql:{'0' * HANDLE_LENGTH}"
CPV = Kpi(name="CPV", numerator="cost", denominator="video_vews")


async def said_by(*turns, state, **settings):
    agent = DataSummarizer(name="summarizer", **settings)
    with warned() as texts:
        run = await run_agent(agent, *(turns or ("go",)), state=state)
    assert "summarized_results" in run.session.state
    return texts


@pytest.mark.parametrize(("settings", "expected"), [
    ({"group_by": ["segments.devise"]}, "group_by names 'segments.devise', .* (did you mean 'segments.device'?)"),
    ({"group_by": [("campaign.name", "zone")]}, "group_by names 'zone', which no row has"),
    ({"rank_by": "clics"}, "rank_by names 'clics', which no row has (did you mean 'clicks'?)"),
    ({"kpis": [CPV]}, "Kpi 'CPV' names 'video_vews', which no row has"),
])  # fmt: skip
async def test_a_column_that_no_row_has_is_named_once(settings, expected):
    """One warning names the setting, the word and the nearest column, however many turns there are."""
    begin, _, end = expected.partition(" .* ")
    (text,) = await said_by(
        "go", "again", state={"gaql_execution_results": {"q1": REPORT_ROWS, "q2": REPORT_ROWS}}, **settings
    )
    assert text.startswith(f"summarizer: {begin}")
    assert text.endswith(end)


@pytest.mark.parametrize("rows", [[], [{"error": "denied"}]], ids=["an empty list", "a failure"])
async def test_without_rows_nothing_is_said(rows):
    """A first run before the data is there, an empty list and a failed query are no mistakes."""
    state = {"gaql_execution_results": {"q1": {"rows": rows} if not rows else rows[0]}}
    assert not await said_by(state=state, rank_by="clics", group_by=["zone"], kpis=[CPV])


@pytest.mark.parametrize("settings", [
    {"group_by": ["device", "segments.device"], "rank_by": "cost"},
    {"rank_by": "CPC"},
    {"rank_by": "metrics.costMicros", "max_rows": 0},
    {"kpis": [*GOOGLE_ADS_KPIS, Kpi(name="CPC2", numerator="cost_micros", denominator="clicks")]},
    {"max_rows": 0, "max_ranked": 0, "group_by": ["device"]},
])  # fmt: skip
async def test_columns_in_any_spelling_are_found(settings):
    """A setting that the summary answers to is never warned of, nor are the columns of the key figures for Ads."""
    assert not await said_by(state={"gaql_execution_results": REPORT_ROWS}, **settings)


@pytest.mark.parametrize(("source", "hint"), [("run_gqal", " (did you mean 'run_gaql'?)"), ("orders", "")])
async def test_a_source_that_nothing_was_stored_under_is_named(source, hint):
    """Results of another tool were read in its place, which the warning says."""
    (text,) = await said_by("go", "again", state={KEPT: {"rows": REPORT_ROWS}}, source=source)
    said = f"source names {source!r}, under which nothing is stored, so all results that are stored were read"
    assert text == f"summarizer: {said}{hint}"


async def test_a_misspelled_source_is_named_without_other_results():
    """A state key that is nearly the source's name is offered."""
    (text,) = await said_by(state={"gaql_results": [{"id": 1}]}, source="gaql_result", output_key="summarized_results")
    assert text.endswith("source names 'gaql_result', under which nothing is stored (did you mean 'gaql_results'?)")

"""Capping and the stores behind it: where full results go, and what happens when they cannot."""

import asyncio
import logging

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.tool_context import ToolContext

from adk_context_pack.errors import SettingError
from adk_context_pack.stores.opening import load_payload
from adk_context_pack.stores.payload_store import PayloadStore
from adk_context_pack.tools.cap_rows import CapRows, cap_rows
from adk_context_pack.tools.query_rows import query_rows
from tests.support.kept import kept_in_state
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in
from tests.support.tables import transactions

ROWS = transactions()


def list_transactions() -> dict:
    """Lists transactions."""
    return {"rows": list(ROWS)}


def list_some(count: int) -> dict:
    """Lists some transactions."""
    return {"rows": ROWS[:count]}


def analyst(*tools, calls=(("list_transactions", {}),), **settings):
    """An agent that makes `calls` at once and then stops."""

    def answer(request):
        return "done" if results_in(request) else [call(name, **args) for name, args in calls]

    return LlmAgent(name="analyst", model=ScriptedModel(answer=answer), tools=list(tools), **settings)


def shown(run, index=0):
    """What the model was shown as the result of a call."""
    return results_in(run.requests[-1])[index].response


@pytest.mark.parametrize(
    ("store", "artifact_service", "place"),
    [
        ("auto", InMemoryArtifactService(), "artifact"),
        ("auto", None, "state"),
        ("state", InMemoryArtifactService(), "state"),
        ("artifacts", InMemoryArtifactService(), "artifact"),
        (PayloadStore(max_state_bytes=10**9), InMemoryArtifactService(), "state"),
    ],
)
async def test_full_results_go_where_the_setting_says(store, artifact_service, place):
    """A large result goes to artifacts where the app has a service, to state where it has none or is told so."""
    agent = analyst(cap_rows(list_transactions, store=store))
    run = await run_agent(agent, "go", artifact_service=artifact_service)
    handle = shown(run)["_handle"]
    entry = run.session.state[f"rows:list_transactions:{handle}"]
    if place == "artifact":
        assert entry["store"] == "ADK artifact"
    else:
        assert kept_in_state(entry) == {"rows": ROWS}


async def test_a_handle_opens_the_full_result_in_the_next_turn():
    """What the stub's handle opens is the very result that the tool returned."""
    opened = []

    async def look(handle: str, tool_context: ToolContext) -> str:
        """Looks."""
        opened.append(await load_payload(tool_context, handle))
        return "seen"

    def answer(request):
        results = results_in(request)
        if not results:
            return call("list_transactions")
        return call("look", handle=results[0].response["_handle"]) if len(results) == 1 else "done"

    agent = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[cap_rows(list_transactions), look])
    await run_agent(agent, "go")
    assert opened == [{"rows": ROWS}]


async def test_the_agent_that_has_query_rows_is_told_and_its_answers_are_not_capped():
    """From the stub to exact rows: the answer of `query_rows` comes back whole, however small the cap."""

    def answer(request):
        results = results_in(request)
        if not results:
            return call("list_transactions")
        first = results[0].response
        if len(results) == 1:
            assert "query_rows" in first["_note"]
            return call("query_rows", handle=first["_handle"], sql="SELECT quantity FROM rows LIMIT 30")
        return "done"

    agent = LlmAgent(
        name="a",
        model=ScriptedModel(answer=answer),
        tools=[cap_rows(list_transactions, max_rows=5), query_rows],
        after_tool_callback=[CapRows(max_rows=5)],
    )
    run = await run_agent(agent, "go")
    replies = results_in(run.requests[-1], "query_rows")
    assert "_row_limits" not in replies[0].response
    assert str(replies[0].response).count("\n") + str(replies[0].response).count(",") >= 29


async def test_an_agent_without_query_rows_is_not_told_of_it():
    """The stub speaks of a handle only, where the agent could not use the tool."""
    run = await run_agent(analyst(cap_rows(list_transactions)), "go")
    assert "query_rows" not in str(shown(run))


class FailingArtifacts(InMemoryArtifactService):
    """A service that does not keep what it is given."""

    how: str = "raises"

    async def save_artifact(self, **kwargs):
        if self.how == "raises":
            raise OSError("secret path")
        if self.how == "hangs":
            await asyncio.sleep(3600)
        return 0

    async def load_artifact(self, **kwargs):
        return None


@pytest.mark.parametrize("how", ["raises", "hangs", "writes nothing"])
async def test_a_store_that_fails_leaves_a_stub_that_says_so(how, caplog):
    """The model gets no handle and is told why, as log and report are, the run goes on, and the log has no payload."""
    service = FailingArtifacts()
    service.how = how
    reports = []
    tool = cap_rows(list_transactions, store=PayloadStore(place="artifacts", timeout_s=0.05), on_report=reports.append)
    with caplog.at_level(logging.WARNING, "adk_context_pack"):
        run = await run_agent(analyst(tool), "go", artifact_service=service)
    assert run.answer == "done"
    assert "_handle" not in shown(run)
    assert f"not kept ({reports[0].error}): call list_transactions again for less at a time" in shown(run)["_note"]
    assert shown(run)["rows"] == ROWS[:1]
    assert "a result of list_transactions could not be kept" in caplog.text
    assert "secret" not in caplog.text
    assert reports[0].error
    assert reports[0].handle is None


async def test_a_store_that_the_app_does_not_have_keeps_nothing():
    """Artifacts without an artifact service: the stub has facts over all rows, and says that these were not kept."""
    run = await run_agent(analyst(cap_rows(list_transactions, store="artifacts")), "go", artifact_service=None)
    assert "amount," in shown(run)["_row_facts"]["rows"]["numbers"]
    assert "_handle" not in shown(run)
    assert "The rest was not kept" in shown(run)["_note"]


async def test_settings_for_single_tools():
    """One tool has its own limit, two are never capped, the others follow the general one."""

    def never() -> dict:
        """Lists."""
        return {"rows": list(ROWS)}

    def always() -> dict:
        """Lists."""
        return {"rows": list(ROWS)}

    cap = CapRows(tools={"list_some": CapRows(stub_tokens=900), "never": None, "always": "whole"})
    tools = [list_transactions, list_some, never, always]
    calls = [(tool.__name__, {"count": 40} if tool is list_some else {}) for tool in tools]
    run = await run_agent(analyst(*tools, calls=calls, after_tool_callback=cap), "go")
    assert [len(shown(run, index)["rows"]) for index in range(4)] == [1, 3, 500, 500]


async def test_a_report_for_each_capped_result():
    """Who counts what was kept out of prompts gets rows, handle and session of each result."""
    reports = []
    run = await run_agent(analyst(cap_rows(list_transactions, stub_tokens=900, on_report=reports.append)), "go")
    (report,) = reports
    assert (report.tool, report.rows_shown, report.rows_total) == ("list_transactions", 2, 500)
    assert report.handle == shown(run)["_handle"]
    assert report.session_id == run.session.id
    assert report.error is None


async def test_a_report_that_fails_costs_nothing(caplog):
    """An `on_report` that raises is logged, and the model gets its stub."""

    def broken(report):
        raise KeyError

    run = await run_agent(analyst(cap_rows(list_transactions, stub_tokens=900, on_report=broken)), "go")
    assert len(shown(run)["rows"]) == 2
    assert "a report could not be given" in caplog.text


async def test_a_key_of_ones_own_means_state_even_where_there_are_artifacts():
    """Tools and templates that read the key find the rows there, not a pointer."""
    run = await run_agent(analyst(cap_rows(list_transactions, state_key="results:{tool}")), "go")
    assert run.session.state["results:list_transactions"] == {"rows": ROWS}


async def test_a_key_that_the_call_does_not_fill_is_left_out(caplog):
    """A missing argument costs the key of one's own, not the rows."""
    run = await run_agent(analyst(cap_rows(list_transactions, state_key="results:{query_id}", store="state")), "go")
    handle = shown(run)["_handle"]
    assert kept_in_state(run.session.state[f"rows:list_transactions:{handle}"]) == {"rows": ROWS}
    assert "does not fill the state key" in caplog.text


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({"max_tokens": 0}, "0"),
        ({"encoding": "xml"}, "'xml'"),
        ({"store": "disk"}, "'disk'"),
        ({"tools": {"a": 5}}, "5"),
        ({"tools": "a"}, "'a'"),
    ],
)
def test_settings_that_cannot_work_fail_when_built(settings, value):
    """The error names the offending value."""
    with pytest.raises(SettingError) as caught:
        CapRows(**settings)
    assert value in str(caught.value)


async def test_a_handle_made_below_an_agent_tool_is_valid_above_it():
    """A child agent's capped rows can be queried by the agent that called it, in state as in artifacts."""

    def child_answer(request):
        results = results_in(request)
        return results[0].response["_handle"] if results else call("list_transactions")

    def answer(request):
        results = results_in(request)
        if not results:
            return call("child", request="go")
        if len(results) == 1:
            return call("query_rows", handle=results[0].response["result"], sql="SELECT COUNT(*) AS n FROM rows")
        return "done"

    for store in ("state", "artifacts"):
        child = LlmAgent(
            name="child",
            description="d",
            model=ScriptedModel(answer=child_answer),
            tools=[cap_rows(list_transactions, store=store)],
        )
        parent = LlmAgent(name="parent", model=ScriptedModel(answer=answer), tools=[AgentTool(child), query_rows])
        run = await run_agent(parent, "go")
        assert "500" in str(results_in(run.requests[-1], "query_rows")[0].response), store

"""Capping and the stores behind it: where full results go, and what happens when they cannot."""

import asyncio
import logging

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.tools.agent_tool import AgentTool

from adk_context_pack import CapRows, PayloadStore, SettingError, cap_rows, query_rows
from tests.support.kept import kept_in_state
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in
from tests.support.tables import transactions

ROWS = transactions()


def list_transactions() -> dict:
    """Lists transactions."""
    return {"rows": list(ROWS)}


def analyst(*tools, calls=(("list_transactions", {}),), **settings):
    """An agent that makes `calls` at once and then stops."""

    def answer(request):
        return "done" if results_in(request) else [call(name, **args) for name, args in calls]

    return LlmAgent(name="analyst", model=ScriptedModel(answer=answer), tools=list(tools), **settings)


def shown(run, index=0):
    """What the model was shown as the result of a call."""
    return results_in(run.requests[-1])[index].response


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

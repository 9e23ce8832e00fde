"""The step that keeps a view of state in state, in real pipelines."""

from __future__ import annotations

import warnings

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.tools.tool_context import ToolContext

from adk_context_pack import CompactStateStep
from tests.support.run import run_agent, session_service
from tests.support.scripted_model import ScriptedModel, answers, call

ONE, TWO = '[{"id":"a"}]', '[{"id":"a"},{"id":"b"}]'


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", UserWarning)
        yield


def add_query(query_id: str, tool_context: ToolContext) -> str:
    """Adds a query."""
    tool_context.state["q"] = [*tool_context.state["q"], {"id": query_id, "body": "x"}]
    return "added"


def step(**settings):
    return CompactStateStep(**{"name": "step", "key": "q", "select": ("id",), **settings})


def reader(answer=None, instruction="Review {q_compact}."):
    model = ScriptedModel(answer=answer or answers("ok"))
    return LlmAgent(name="reader", model=model, instruction=instruction, tools=[add_query])


def written(run, key="q_compact"):
    return [event.actions.state_delta[key] for event in run.events if key in event.actions.state_delta]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "sqlite", "database"])
async def test_the_next_agent_and_a_later_process_read_the_view(kind, tmp_path):
    """The view reaches the next agent's template, and is in the stored session."""
    async with session_service(kind, tmp_path) as service:
        pipeline = SequentialAgent(name="root", sub_agents=[step(), reader()])
        run = await run_agent(pipeline, "hi", state={"q": [{"id": "a", "body": "x"}]}, session_service=service)
    assert run.requests[0].system.startswith(f"Review {ONE}.")
    assert run.session.state["q_compact"] == ONE


async def test_only_a_changed_view_is_written():
    """In a loop and over turns there is one event for each change, and none where nothing changed."""
    model = answers(call("add_query", query_id="b"), "ok", "ok", "ok", "ok")
    loop = LoopAgent(name="loop", max_iterations=3, sub_agents=[step(), reader(model)])
    run = await run_agent(loop, "hi", "again", state={"q": [{"id": "a"}]})
    assert written(run) == [ONE, TWO]
    assert [request.system.split(".")[0] for request in run.requests] == [f"Review {ONE}"] * 2 + [f"Review {TWO}"] * 5
    assert [event.author for event in run.events].count("step") == 2


async def test_a_workflow_node_hands_its_view_on():
    """As a node the step's output is the view, also in a turn in which nothing changed."""
    workflow = pytest.importorskip("google.adk.workflow", reason="this ADK has no Workflow")
    flow = workflow.Workflow(name="flow", edges=[("START", step(), reader(instruction="Review."))])
    run = await run_agent(flow, "hi", "again", state={"q": [{"id": "a"}]})
    assert [request.text.splitlines()[-1] for request in run.requests] == [ONE, ONE]
    assert written(run) == [ONE]
    assert [event.output for event in run.events if event.author == "step"] == [ONE, ONE]


async def test_missing_state_is_null_and_a_failing_select_is_told(caplog):
    """Neither ends the run; the model reads what there is."""
    missing = SequentialAgent(name="root", sub_agents=[step(), reader()])
    assert (await run_agent(missing, "hi")).requests[0].system.startswith("Review null.")
    failing = SequentialAgent(name="root", sub_agents=[step(select=lambda value: value["x"]), reader()])
    run = await run_agent(failing, "hi", state={"q": [1]})
    assert run.requests[0].system.startswith('Review {"error":"no view of q: TypeError"}.')
    assert "the view of state key q could not be made" in caplog.text


def test_a_clone_keeps_its_settings():
    """ADK copies agents; a copy makes the same view."""
    twin = step().clone(update={"name": "twin"})
    assert (twin.name, twin.key, twin.output_key) == ("twin", "q", "q_compact")

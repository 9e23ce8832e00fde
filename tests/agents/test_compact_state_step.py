"""The step that keeps a view of state in state, in real pipelines."""

from __future__ import annotations

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.tools.tool_context import ToolContext

from adk_context_pack import CompactStateStep
from tests.support.run import run_agent, session_service
from tests.support.scripted_model import ScriptedModel, answers

ONE, TWO = '[{"id":"a"}]', '[{"id":"a"},{"id":"b"}]'
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


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


async def test_a_workflow_node_hands_its_view_on():
    """As a node the step's output is the view, also in a turn in which nothing changed."""
    workflow = pytest.importorskip("google.adk.workflow", reason="this ADK has no Workflow")
    flow = workflow.Workflow(name="flow", edges=[("START", step(), reader(instruction="Review."))])
    run = await run_agent(flow, "hi", "again", state={"q": [{"id": "a"}]})
    assert [request.text.splitlines()[-1] for request in run.requests] == [ONE, ONE]
    assert written(run) == [ONE]
    assert [event.output for event in run.events if event.author == "step"] == [ONE, ONE]

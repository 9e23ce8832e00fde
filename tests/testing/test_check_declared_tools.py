"""The law of declarations: those of an agent only grow from one request to the next."""

import pytest
from google.adk.agents import LlmAgent
from google.genai import types

from adk_context_pack import defer_tools
from adk_context_pack.testing import RecordedRequest, check_declared_tools
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in


def request_with(*names, agent="a", description="d"):
    functions = [types.FunctionDeclaration(name=name, description=description) for name in names]
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=functions)])
    return RecordedRequest(agent=agent, model="m", contents=[], config=config)


@pytest.mark.parametrize(
    "later",
    [request_with("one"), request_with("two", "one"), request_with("one", "two", description="other")],
    ids=["gone", "moved", "changed"],
)
def test_a_declaration_that_goes_changes_or_moves_is_noticed(later):
    """Each of the three fails, and the message names the agent and the tool."""
    with pytest.raises(AssertionError, match=r"a is shown another declaration .* of (one|two)"):
        check_declared_tools([request_with("one", "two"), later])


def test_agents_are_looked_at_one_by_one():
    """New declarations at the end are fine, and those of another agent do not count."""
    check_declared_tools([request_with("one"), request_with("three", agent="b"), request_with("one", "two")])


def book(city: str) -> dict:
    """Books a room."""
    return {"booked": city}


@pytest.mark.parametrize("batch", [None, 1])
async def test_the_law_holds_for_deferred_tools(batch):
    """Whether tools are found or also declared in batches, no declaration changes in a session."""

    def answer(request):
        if not results_in(request, "find_tools"):
            return call("find_tools", query="book a room")
        return "Found."

    model = ScriptedModel(answer=answer)
    agent = LlmAgent(name="a", model=model, tools=[defer_tools(book, batch=batch)])
    await run_agent(agent, "Book a room in Oslo.", "Thanks.")
    assert len(model.requests) > 2
    check_declared_tools(model.requests)

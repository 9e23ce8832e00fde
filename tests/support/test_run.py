"""The helpers that run agents: what they promise to the tests that lean on them."""

from __future__ import annotations

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from tests.support.run import SERVICES, run_agent, session_service
from tests.support.scripted_model import ScriptedModel, answers, call, results_in, text_of

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def look_up(city: str) -> dict:
    """Looks a city up."""
    return {"city": city, "population": 717_710}


def guide(**settings) -> LlmAgent:
    """An agent that answers only from what it was shown."""

    def answer(request):
        results = results_in(request, "look_up")
        if results:
            return f"{results[-1].response['population']} people"
        return call("look_up", city="Oslo") if "Oslo" in text_of(request) else "which city?"

    return LlmAgent(name="guide", model=ScriptedModel(answer=answer), tools=[look_up], **settings)


async def test_a_scripted_model_answers_from_what_it_received():
    """The tool's number reaches the answer only by way of the second request."""
    run = await run_agent(guide(), "How many live in Oslo?")
    assert run.answer == "717710 people"
    assert [request.agent for request in run.requests] == ["guide", "guide"]
    assert "717710" not in run.requests[0].text
    assert "717710" in run.requests[1].text
    assert run.requests[0].tool_names == ["look_up"]


async def test_recorded_requests_are_detached_from_the_session():
    """Writing into a recorded request changes neither the session nor the next record."""
    model = ScriptedModel(answer=answers("hello"))
    run = await run_agent(LlmAgent(name="a", model=model, instruction="Be kind."), "hi", "again")
    model.requests[0].contents[0].parts[0].text = "spoilt"
    assert run.session.events[0].content.parts[0].text == "hi"
    assert model.requests[1].contents[0].parts[0].text == "hi"
    assert "Be kind." in model.requests[0].system


async def test_requests_of_parallel_agents_and_agent_tools_are_seen():
    """The run sees the requests of agents that run in tasks and in runners of their own."""
    inner = LlmAgent(name="inner", model=ScriptedModel(answer=answers("deep")), description="asks")
    outer = LlmAgent(
        name="outer",
        model=ScriptedModel(answer=lambda r: "end" if results_in(r) else call("inner", request="go")),
        tools=[AgentTool(inner)],
    )
    other = LlmAgent(name="other", model=ScriptedModel(answer=answers("beside")))
    run = await run_agent(ParallelAgent(name="both", sub_agents=[outer, other]), "start")
    assert {request.agent for request in run.requests} == {"inner", "outer", "other"}
    assert len(run.requests_of("outer")) == 2


@pytest.mark.parametrize("kind", SERVICES)
async def test_a_session_goes_on_with_a_second_service_over_the_same_folder(kind, tmp_path):
    """What one service stored, a second one over the same folder reads, except in memory."""
    async with session_service(kind, tmp_path) as first:
        await run_agent(guide(), "Oslo?", session_service=first, state={"seen": 1})
    async with session_service(kind, tmp_path) as second:
        run = await run_agent(guide(), "And?", session_service=second)
    assert (run.session.state.get("seen") == 1) is (kind != "memory")
    assert len([e for e in run.session.events if e.author == "user"]) == (1 if kind == "memory" else 2)


async def test_answers_may_be_parts_responses_and_errors():
    """A list becomes one content, usage is claimed, and an exception is the model's own failure."""
    parts = ["look:", types.Part(text="here")]
    model = ScriptedModel(answer=answers(parts), usage=lambda request: 42)
    run = await run_agent(LlmAgent(name="a", model=model), "hi")
    assert run.answer == "look:here"
    assert run.events[-1].usage_metadata.prompt_token_count == 42
    broken = LlmAgent(name="a", model=ScriptedModel(answer=answers(ValueError("no quota"))))
    with pytest.raises(ValueError, match="no quota"):
        await run_agent(broken, "hi")

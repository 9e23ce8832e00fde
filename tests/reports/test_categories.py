"""Categories: each kind of content is told from the others."""

import pytest
from google.adk.agents import LlmAgent
from google.genai import types

from adk_context_pack import CompactState, ContextPipeline
from tests.support.events import agent_called, agent_said, event, summary, tool_returned, user_said
from tests.support.requests import call_for, request_for
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel

PNG = types.Part(inline_data=types.Blob(data=b"png", mime_type="image/png"))


def categories_of(*session, agent="me"):
    request = request_for(agent, session)
    return ContextPipeline([]).run(request, call_for(agent, session))[1].categories


def test_calls_and_results_are_the_agents_own():
    """Calls and results of the agent itself are one category."""
    session = [user_said("Look."), agent_called("me", "look", "c1"), tool_returned("me", "look", {"n": [1] * 50}, "c1")]
    found = categories_of(*session)
    assert found["tool_calls_and_results"] > 50
    assert found["own_words"] == found["relayed"] == 0


def test_an_image_within_a_message_is_media():
    """Parts of one content may belong to different categories."""
    found = categories_of(event("user", types.Part(text="What is this?"), PNG, role="user"))
    assert found["media"] == 258
    assert 0 < found["user"] < 20


def test_a_compaction_summary_is_nobodys_words():
    """ADK's summary is neither the user's nor the agent's nor a relay."""
    session = [user_said("Hello"), agent_said("me", "Good day to you.")]
    for place, each in enumerate(session):
        each.timestamp = 1.0 + place
    found = categories_of(*session, summary("They greeted each other at length.", 1.0, 2.0, timestamp=3.0))
    assert found["other"] > 0
    assert found["user"] == found["own_words"] == 0


@pytest.mark.parametrize("static", [None, "You are a careful reviewer."])
async def test_a_filled_in_view_is_a_state_view(static):
    """What a pass filled into an instruction, dynamic or not, counts as a state view, and only after the passes."""
    pipeline = ContextPipeline([CompactState(key="queries")])
    agent = LlmAgent(
        name="reviewer",
        model=ScriptedModel(),
        static_instruction=static,
        instruction="Review these: {compact:queries}",
        before_model_callback=[pipeline],
    )
    await run_agent(agent, "Go on.", state={"queries": [{"id": number, "title": "sum"} for number in range(30)]})
    report = pipeline.reports[0]
    assert report.categories_before["state_views"] == 0
    assert report.categories["state_views"] > 200
    before = report.categories_before["system_instruction"]
    assert before - 10 <= report.categories["system_instruction"] <= before
    assert sum(report.categories.values()) == report.tokens_after

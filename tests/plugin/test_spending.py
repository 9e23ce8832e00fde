"""max_input_tokens and max_cost: what a session or a run may be sent."""

import pytest
from google.adk import __version__ as adk_version
from google.adk.agents import LlmAgent, LoopAgent
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from adk_context_pack import ContextPackPlugin, Prices
from adk_context_pack._adk.releases import NEWEST_TRIED, note_release
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, text_of

USAGE = types.GenerateContentResponseUsageMetadata(prompt_token_count=1_000, cached_content_token_count=500)
SAID = LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Hello.")]), usage_metadata=USAGE)
TOKENS, COST = {"max_input_tokens": 2_500}, {"max_cost": 0.0016, "prices": Prices(input=1.0, cached=0.1)}


async def asked(turns=5, *, loop=False, **settings):
    """The run of an agent whose calls have 1,000 tokens each, and its plugin."""
    agent = LlmAgent(name="a", model=ScriptedModel(answer=lambda _: SAID.model_copy(deep=True)))
    agent = LoopAgent(name="loop", sub_agents=[agent]) if loop else agent
    plugin = ContextPackPlugin(**settings)
    return await run_agent(agent, *["Hi."] * turns, plugins=[plugin]), plugin


@pytest.mark.parametrize(("settings", "calls"), [
    (TOKENS, 3), (COST, 3), (TOKENS | COST, 3), (TOKENS | COST | {"max_cost": 0.0005}, 1),
    (TOKENS | {"limit_per": "run"}, 5), (TOKENS | {"on_limit": "warn"}, 5), (TOKENS | {"shadow": True}, 5),
    (TOKENS | {"loop": True, "turns": 1}, 3),
])  # fmt: skip
async def test_a_limit_ends_what_it_is_for(settings, calls):
    """A session or a loop ends with an answer that says so, and a run of a session starts anew."""
    run, _ = await asked(**settings)
    assert len(run.requests) == calls
    assert ("I have to stop here. This session has spent" in run.answer) is (calls < 5)


async def test_reports_and_the_log_warn_near_a_limit(caplog):
    """From four fifths on each report has a note, and the log a line there and at the limit."""
    _, plugin = await asked(on_limit="warn", **TOKENS)
    assert ["spent" in each.passes[-1].note for each in plugin.reports] == [False, False, True, True, True]
    lines = [each.message.partition("has spent ")[2] for each in caplog.records if "has spent" in each.message]
    assert lines == ["2,000 of 2,500 input tokens", "3,000 of 2,500 input tokens"]


@pytest.mark.parametrize(("limit_per", "calls"), [("session", 3), ("run", 6)])
async def test_what_a_called_agent_is_sent_counts(limit_per, calls):
    """A turn of two calls that has a child of `AgentTool` called spends three, and the next turn spends its own."""
    child = LlmAgent(name="child", model=ScriptedModel(answer=lambda _: SAID.model_copy(deep=True)))

    def answer(request):
        is_answered = request.contents[-1].parts[-1].function_response
        part = SAID.content.parts[0] if is_answered else call("child", request="Hi.")
        return SAID.model_copy(update={"content": types.Content(role="model", parts=[part])}, deep=True)

    agent = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[AgentTool(child)])
    plugin = ContextPackPlugin(max_input_tokens=2_500, limit_per=limit_per)
    await run_agent(agent, "Hi.", "And now?", plugins=[plugin])
    assert len(plugin.reports) == calls


async def test_an_agent_is_told_what_is_spent():
    """The line is the last of the request, and stands in no request before it."""
    run, _ = await asked(2, show_budget=True, **TOKENS)
    first, second = map(text_of, run.requests)
    assert first.endswith("[This session has spent 0 of 2,500 input tokens]")
    assert second.partition("spent")[2] == " 1,000 of 2,500 input tokens]"


@pytest.mark.parametrize(
    ("installed", "said"), [("2.13.9", 0), ("1.22.0", 0), (adk_version, 0), ("2.14.0", 1), ("3.0.0a1", 1)]
)
def test_a_newer_adk_is_said_once(installed, said, caplog):
    """It is a line in the log that names both releases and how to try it, and none for the one that runs this."""
    note_release.cache_clear()
    note_release(installed), note_release(installed)
    assert [installed in each.message and NEWEST_TRIED in each.message for each in caplog.records] == [True] * said

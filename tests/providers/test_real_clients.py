"""The real clients of Gemini, LiteLLM and Anthropic against servers that refuse what the providers refuse."""

import pytest
from google.adk.agents.run_config import RunConfig, StreamingMode

from tests.providers.provider_clients import ATTACHED, PROVIDERS, connect
from tests.support.all_passes import WAYS
from tests.support.scenarios import SCENARIOS, converse, maker

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
BUDGET = 300
"""Tokens of a whole request: less than the turns of the scenarios have, so that the passes have something to do."""


@pytest.fixture
def talk(strict_server, monkeypatch):
    """Has a scenario's conversation through a provider's client, with callbacks and plugins."""

    async def run(provider, name, callbacks=(), plugins=(), **settings):
        scenario = SCENARIOS[name]()
        strict_server.brain = scenario.brain
        make = maker(connect(provider, strict_server.url, monkeypatch), callbacks)
        return scenario, await converse(scenario, scenario.build(make), plugins, **settings)

    return run


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize(("provider", "way"), ATTACHED)
async def test_no_request_is_refused(provider, way, name, talk, strict_server):
    """With all passes on, each of which may bite, a conversation comes to its end and nothing is refused."""
    declared = SCENARIOS[name]().declared if way.startswith("plugin") else 0
    # That server counts three fifths of what is estimated, and budgets are calibrated by what it counts.
    attached = WAYS[way](BUDGET + declared * 3 // 5 if provider == "anthropic" else BUDGET + declared)
    scenario, run = await talk(provider, name, attached.callbacks, attached.plugins)
    assert strict_server.refusals == []
    assert run.answer == scenario.ends_with
    assert attached.taken_away() > 0


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_streams_are_not_refused_either(provider, talk, strict_server):
    """Answers that come as server-sent events leave the same history, and nothing is refused."""
    attached = WAYS["plugin"](BUDGET)
    streaming = RunConfig(streaming_mode=StreamingMode.SSE)
    scenario, run = await talk(provider, "sequence", (), attached.plugins, run_config=streaming)
    assert strict_server.refusals == []
    assert run.answer == scenario.ends_with


def keep_six(callback_context, llm_request):
    """What people write first."""
    llm_request.contents = llm_request.contents[-6:]


SPLIT = {
    "gemini": "function response turn comes immediately after a function call turn",
    "gemini-with-ids": "function response turn comes immediately after a function call turn",
    "openai": "messages with role 'tool' must be a response to a preceeding message",
    "anthropic": "unexpected `tool_use_id` found in `tool_result` blocks",
}


@pytest.mark.parametrize(("kind", "provider", "words"), [
    *(("sequence", provider, SPLIT[provider]) for provider in PROVIDERS),
    ("tool_loop", "gemini", "function call turn comes immediately after a user turn"),
    ("tool_loop", "anthropic", 'must use the "user" role'),
])  # fmt: skip
async def test_keeping_the_last_six_contents_is_refused(kind, provider, words, talk, strict_server):
    """The servers bite: a naive window splits a result from its call, and drops the question before a loop of calls."""
    with pytest.raises(Exception, match=words):
        await talk(provider, kind, [keep_six])
    assert len(strict_server.refusals) == 1


def forget_signatures(callback_context, llm_request):
    """What a pass does that builds calls anew from their names and arguments."""
    llm_request.contents = [
        content.model_copy(
            update={"parts": [part.model_copy(update={"thought_signature": None}) for part in content.parts]}
        )
        for content in llm_request.contents
    ]


async def test_a_lost_thought_signature_is_refused(talk, strict_server):
    """Gemini hands out a signature with a call and wants it back while the turn lasts."""
    with pytest.raises(Exception, match="Function call is missing a thought_signature"):
        await talk("gemini", "sequence", [forget_signatures])
    assert len(strict_server.seen) == 2

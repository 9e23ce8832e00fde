"""Models whose provider keeps the history, through the real clients: what is sent, counted and reported."""

from __future__ import annotations

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.plugins.base_plugin import BasePlugin

from adk_context_pack import ClearToolResults, ContextPackPlugin, FitTokenBudget
from tests.providers.kept_chains import KeptChains
from tests.providers.provider_clients import connect
from tests.support.run import run_agent
from tests.support.scripted_model import call

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
BUDGET = 1_500
TURNS = [f"What is in file {number}? Name all that you find there." for number in range(14)]


def read_file(number: int) -> str:
    """Returns the lines of a file."""
    return " ".join(f"line-{number}-{place} says {place * 7919 % 1000}" for place in range(24))


def brain(request):
    """Reads the file that the user names, then says so."""
    parts = [part for content in request.contents for part in content.parts]
    newest = next(part for part in reversed(parts) if part.function_response or "file " in (part.text or ""))
    if newest.function_response:
        return "It says so much."
    return call("read_file", number=int(newest.text.split("file ")[1].split("?")[0]))


class GoOn(BasePlugin):
    """Names the last interaction to OpenAI, and leaves what is new, as an app does. ADK does both for Gemini alone."""

    async def before_model_callback(self, *, callback_context, llm_request):
        own = (each for each in reversed(callback_context.session.events) if each.author == "helper")
        llm_request.previous_interaction_id = next((each.interaction_id for each in own if each.interaction_id), None)
        if llm_request.previous_interaction_id:
            answered = [place for place, each in enumerate(llm_request.contents) if each.role == "model"][-1]
            llm_request.contents = llm_request.contents[answered + 1 :]


@pytest.fixture(params=["interactions", "responses"])
def talk(request, strict_server, monkeypatch):
    """Has a conversation with a provider that keeps it, and returns the tokens that it counted in each request."""
    provider = KeptChains()
    strict_server.providers, strict_server.brain = (provider,), brain
    model = connect(request.param, strict_server.url, monkeypatch)

    async def run(*plugins, turns=TURNS, **settings):
        first = [GoOn(name="go_on")] if request.param == "responses" else []
        settings = {"instruction": "Be brief.", **settings}
        agent = LlmAgent(name="helper", model=model, tools=[read_file], **settings)
        await run_agent(agent, *turns, plugins=[*first, *plugins])
        assert strict_server.refusals == []
        return provider.counted

    return run


def beginnings(server):
    """The numbers of the requests that began a chain."""
    ids = [each.body.get("previous_interaction_id") or each.body.get("previous_response_id") for each in server.seen]
    return [number for number, each in enumerate(ids) if each is None]


async def test_a_chain_that_outgrows_its_budget_begins_anew(talk, strict_server):
    """No chain is above the budget, each goes on for long, and what can be looked up again stays declared."""
    plugin = ContextPackPlugin(max_tokens=BUDGET)
    counted = await talk(plugin)
    first, second, *more = beginnings(strict_server)
    assert BUDGET // 2 < max(counted) <= BUDGET
    assert first == 0
    assert all(later - earlier >= 6 for earlier, later in zip([first, second, *more], [second, *more], strict=False))
    declared = ["read_back" in str(each.body.get("tools")) for each in strict_server.seen]
    assert declared == [number >= second for number in range(len(declared))]
    assert "began a new chain" in str(plugin.reports[second])


async def test_reports_tell_what_the_provider_keeps(talk, strict_server):
    """With room enough the chain goes on, passes stand aside and say so, and its count corrects no estimate."""
    plugin = ContextPackPlugin(max_tokens=BUDGET)
    counted = await talk(plugin, turns=TURNS[:4])
    assert beginnings(strict_server) == [0]
    assert "read_back" not in str(strict_server.seen)
    first, *later = plugin.reports
    assert first.kept_by_provider is None
    assert [each.kept_by_provider for each in later] == [tokens + 9 for tokens in counted[:-1]]
    assert [each.scale for each in later] == pytest.approx([first.scale] * len(later), rel=1e-3)
    assert max(each.tokens_after for each in later) < 400 < counted[-1]
    assert f"stood aside: the provider keeps the history, {counted[-2] + 9:,} tokens" in str(later[-1])
    assert f"the provider keeps the history: {counted[-2] + 9:,} tokens" in str(later[-1])


ATTACHED = {
    "as callbacks": {"before_model_callback": [ClearToolResults(), FitTokenBudget(max_tokens=BUDGET)]},
    "beside a dynamic instruction": {"static_instruction": "Be brief.", "instruction": "It is now noon."},
    "within a turn": {"turns": ["Read them all."]},
}


@pytest.mark.parametrize("way", ATTACHED)
async def test_a_chain_begins_anew_however_the_pack_is_attached(way, talk, strict_server):
    """Chains stay within the budget, also in a long turn, where each result follows its call."""
    if way == "within a turn":
        numbers = iter(range(1, 30))
        strict_server.brain = lambda request: call("read_file", number=n) if (n := next(numbers)) % 25 else "Done."
    counted = await talk(*([] if way == "as callbacks" else [ContextPackPlugin(max_tokens=BUDGET)]), **ATTACHED[way])
    assert max(counted) <= BUDGET
    assert 2 <= len(beginnings(strict_server)) <= len(counted) // 2


async def test_a_run_that_a_limit_ended_leaves_a_chain_that_goes_on(talk, strict_server):
    """A call that got no result, since the run ended before, is sent with it in a new chain, and nothing is refused."""
    await talk(ContextPackPlugin(max_input_tokens=700, limit_per="run", show_budget=True), turns=TURNS[:8])
    assert len(strict_server.seen) < 16
    assert 2 <= len(beginnings(strict_server)) < 8


async def test_a_chain_is_told_its_budget_once_for_each_tenth(talk, strict_server):
    """The provider keeps each line that it is sent."""
    await talk(ContextPackPlugin(max_input_tokens=60_000, show_budget=True), turns=TURNS[:8])
    said = ["has spent" in str(each.body["input"]) for each in strict_server.seen]
    assert (said[0], sum(said), len(said)) == (True, 3, 16)

"""Models whose provider keeps the history, through the real clients: what is sent, counted and reported."""

from __future__ import annotations

import pytest
from google.adk.agents.llm_agent import LlmAgent

from adk_context_pack import ContextPackPlugin
from tests.providers.kept_chains import KeptChains
from tests.providers.provider_clients import connect
from tests.support.run import run_agent
from tests.support.scripted_model import call

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.filterwarnings("ignore::UserWarning")]

BUDGET = 1_500
TURNS = [f"What is in file {number}? Name all that you find there." for number in range(14)]


def read_file(number: int) -> str:
    """Returns the lines of a file."""
    return " ".join(f"line-{number}-{place} says {place * 7919 % 1000}" for place in range(24))


def brain(request):
    """Reads the file that the user's newest message names, then answers with the number of what it remembers."""
    last = next(c.parts[0] for c in reversed(request.contents) if c.parts[0].function_response or "file " in (c.parts[0].text or ""))
    if last.function_response:
        return f"It says so much, and I remember {len(request.contents)} steps."
    return call("read_file", number=int(last.text.split("file ")[1].split("?")[0]))


def go_on(callback_context, llm_request):
    """What an app does to use OpenAI's chains, since ADK does it for Gemini alone."""
    own = (each for each in reversed(callback_context.session.events) if each.author == "helper")
    llm_request.previous_interaction_id = next((each.interaction_id for each in own if each.interaction_id), None)
    if llm_request.previous_interaction_id:
        while llm_request.contents[0].role == "model" or any(each.role == "model" for each in llm_request.contents):
            llm_request.contents = llm_request.contents[1:]


@pytest.fixture(params=["interactions", "responses"])
def talk(request, strict_server, monkeypatch):
    """Has the conversation with a provider that keeps it, and returns the run and the provider."""
    provider = KeptChains()
    strict_server.providers, strict_server.brain = (provider,), brain

    async def run(*plugins, turns=TURNS, **settings):
        model = connect(request.param, strict_server.url, monkeypatch)
        last = [_as_plugin()] if request.param == "responses" else []
        agent = LlmAgent(name="helper", model=model, instruction="Be brief.", tools=[read_file], **settings)
        return await run_agent(agent, *turns, plugins=[*last, *plugins]), provider

    return run


def _as_plugin():
    from google.adk.plugins.base_plugin import BasePlugin  # noqa: PLC0415

    class GoOn(BasePlugin):
        """ADK calls plugins before an agent's own callbacks."""

        async def before_model_callback(self, *, callback_context, llm_request):
            go_on(callback_context, llm_request)

    return GoOn(name="go_on")


def began(server):
    """The numbers of the requests that began a chain."""
    ids = [each.body.get("previous_interaction_id") or each.body.get("previous_response_id") for each in server.seen]
    return [number for number, each in enumerate(ids) if each is None]


async def test_a_chain_that_outgrows_its_budget_begins_anew(talk, strict_server):
    """No request and chain is above the budget, few chains begin, and each goes on for as long as it fits."""
    plugin = ContextPackPlugin(max_tokens=BUDGET)
    _, provider = await talk(plugin)
    print(provider.counted, began(strict_server))
    for r in plugin.reports: print(r.tokens_before, r.tokens_after, r.prompt_tokens, r.kept_by_provider, r.scale, [p.note for p in r.passes])
    print(plugin.reports[-1])
    assert strict_server.refusals == []
    assert max(provider.counted) <= BUDGET

"""The Wolfy sample through real clients, with the whole pack on top of its own techniques."""

import asyncio
import json

import pytest

from samples.wolfy.agent import build_pipeline, open_account
from samples.wolfy.measure import figures_of, run_pipeline
from samples.wolfy.offline import reading
from samples.wolfy.offline.roles import answer
from samples.wolfy.prompts import QUESTION
from samples.wolfy.techniques import llm_agents
from tests.providers.provider_clients import ATTACHED, connect, shows_dict_results
from tests.support.all_passes import WAYS
from tests.support.run import run_agent

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def account():
    return open_account()


@pytest.fixture(scope="module")
def figures(account):
    """What the report says when the run needs no network."""
    return asyncio.run(run_pipeline(account)).figures


def brain(request):
    """The sample's own model; where the provider is told of a schema, as LiteLLM tells it, it keeps to that."""
    content = answer(request)
    if request.config.response_schema is None or any(part.function_call for part in content.parts):
        return content
    ran = reading.latest_responses(request, "run_query")
    return json.dumps({"queries": reading.statuses(ran)})


@pytest.mark.parametrize(("provider", "way"), ATTACHED)
async def test_wolfy_is_not_refused_and_reports_the_same_figures(  # noqa: PLR0913, PLR0917 - fixtures
    provider, way, account, figures, strict_server, monkeypatch
):
    """Nothing is refused under a budget that cuts, and the report's figures are those of a run without a network."""
    if not shows_dict_results(provider):
        pytest.skip("this ADK shows Claude no results that are dicts, so nobody could write the report")
    attached = WAYS[way](1500)
    strict_server.brain = brain
    root = build_pipeline(account, connect(provider, strict_server.url, monkeypatch))
    for agent in llm_agents(root):
        agent.before_model_callback = [*agent.before_model_callback, *attached.callbacks]
    run = await run_agent(root, QUESTION, plugins=attached.plugins)
    assert strict_server.refusals == []
    assert figures_of(run.session.state["report"]) == figures
    assert attached.taken_away() > 0

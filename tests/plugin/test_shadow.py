"""Shadow mode: the app runs as without the plugin, and the reports say what the plugin would have done."""

import json
import logging
from dataclasses import replace

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adk_context_pack import ContextPackPlugin, ContextPass, StripForContext
from adk_context_pack.conversation.token_estimate import TokenMeter
from adk_context_pack.testing import RecordedRequest
from samples.wolfy.agent import build_pipeline, open_account
from samples.wolfy.measure import QUESTION
from samples.wolfy.techniques import TECHNIQUES, leave_out, llm_agents
from tests.reports.test_saved_results import QUESTIONS, team
from tests.support.databases import without_ids
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
TURN = st.lists(st.sampled_from(["table", "text", "tree", "failure", "small", "say"]), min_size=1, max_size=4)
CONVERSATIONS = st.lists(TURN, min_size=1, max_size=4)


def get(kind: str, size: int) -> dict:
    """Returns something of a kind."""
    found = {
        "table": {"rows": [{"id": n, "name": f"it's {n}", "spent": n * 1.25} for n in range(size)]},
        "text": {"text": "\n".join(f"line {n} said 'so'" for n in range(size))},
        "tree": {"tree": [{"leaf": [{"deep": [n, {"more": str(n)}]}]} for n in range(size)]},
        "failure": {"error": "It failed. " * size},
        "small": {"fine": True},
    }
    return found[kind]


def told(script):
    """Builds two agents that make the calls of a script, one list of calls in each turn."""
    left = [[*turn] for turn in script]

    def answer(request):
        for turn in left:
            if turn:
                kind = turn.pop(0)
                return call("get", kind=kind, size=250) if kind != "say" else "That is all."
        return "Done."

    first = LlmAgent(name="first", model=ScriptedModel(answer=answer), tools=[get], instruction="Get {wish?}.")
    second = LlmAgent(name="second", model=ScriptedModel(answer=answer), tools=[get])
    return SequentialAgent(name="team", sub_agents=[first, second])


def requests_of(run):
    found = [(each.agent, each.contents, each.config) for each in run.requests]
    dumped = [
        [agent, [content.model_dump(mode="json") for content in contents], config.model_dump(mode="json")]
        for agent, contents, config in found
    ]
    return without_ids(json.dumps(dumped, sort_keys=True))


def stored(run):
    """Returns all of a stored session: events with their metadata and actions, and the state."""
    return without_ids(json.dumps(run.session.model_dump(mode="json"), sort_keys=True))


async def both(make, *messages, services=(None, None), plugin=None):
    """Runs an app without the plugin, and with one in shadow mode."""
    plugin = plugin or ContextPackPlugin(shadow=True)
    alone = await run_agent(make(), *messages, session_service=services[0], state={"wish": "it"})
    beside = await run_agent(make(), *messages, session_service=services[1], state={"wish": "it"}, plugins=[plugin])
    return alone, beside, plugin


def assert_untouched(alone, beside):
    assert requests_of(alone) == requests_of(beside)
    assert stored(alone) == stored(beside)
    assert not any(event.custom_metadata for event in beside.session.events)
    assert not [key for key in beside.session.state if key.startswith(("rows:", "payload:"))]


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CONVERSATIONS)
async def test_requests_and_sessions_are_those_without_the_plugin(script):
    """On generated conversations every request and the stored session are equal with and without the shadow."""
    alone, beside, plugin = await both(lambda: told(script), *[f"Question {n}" for n in range(len(script))])
    assert_untouched(alone, beside)
    assert len(plugin.reports) == len(beside.requests)
    sent = [TokenMeter().request(request) for request in beside.requests]
    assert [report.tokens_without_pack for report in plugin.reports] == pytest.approx(sent, rel=0.05)


@pytest.mark.slow
async def test_the_wolfy_sample_is_untouched():
    """The Ads pipeline without techniques of its own sends and stores the same beside a shadow, which saves much."""
    account, found = open_account(), []
    for plugins in ([], [ContextPackPlugin(shadow=True)]):
        root, requests = build_pipeline(account), []
        leave_out(root, TECHNIQUES, account)
        for agent in llm_agents(root):
            agent.before_model_callback = [
                *agent.canonical_before_model_callbacks,
                lambda callback_context, llm_request, seen=requests: seen.append(RecordedRequest.of(llm_request)),
            ]
        run = await run_agent(root, QUESTION, plugins=plugins)
        found.append(replace(run, requests=requests))
    assert_untouched(*found)
    (plugin,) = plugins
    assert len(plugin.reports) == len(found[1].requests) > 3
    sent = [TokenMeter().request(request) for request in found[1].requests]
    assert [report.tokens_without_pack for report in plugin.reports] == pytest.approx(sent, rel=0.05)
    assert plugin.reports.totals().tokens_saved > sum(sent) / 3


async def test_reports_say_what_the_plugin_would_have_done():
    """The reports in shadow mode are those of the same app with the plugin, call by call."""
    shadow, real = ContextPackPlugin(shadow=True), ContextPackPlugin()
    await run_agent(team(), *QUESTIONS, plugins=[shadow])
    await run_agent(team(), *QUESTIONS, plugins=[real], session_id="real")
    assert all(report.shadow for report in shadow.reports)
    assert "shadow: ADK's own request was sent" in str(shadow.reports[0])
    for one, other in zip(shadow.reports, real.reports, strict=True):
        assert one.tokens_after == pytest.approx(other.tokens_after, rel=0.01, abs=8)
        assert one.tokens_without_pack == pytest.approx(other.tokens_without_pack, rel=0.05)
        assert one.pack_tools == other.pack_tools
        assert [each.name for each in one.passes] == [each.name for each in other.passes]
    kinds = [(each.tool, each.pass_name, each.tokens_before, bool(each.handle)) for each in shadow.result_reports]
    assert kinds == [(each.tool, each.pass_name, each.tokens_before, bool(each.handle)) for each in real.result_reports]
    assert {each.session_id for each in shadow.result_reports} == {"session"}
    ranges = [plugin.reports.totals() for plugin in (shadow, real)]
    assert [each.read_backs for each in ranges] == 2 * [len(real.result_reports)]
    assert ranges[0].tokens_read_back == pytest.approx(ranges[1].tokens_read_back, rel=0.05)
    assert f"If each shortened result is read back whole, once: {ranges[0].read_backs} calls more" in str(ranges[0])


async def test_a_failure_never_reaches_the_run(caplog):
    """A pass that raises, with on_error="raise" too, is logged and the run goes on as without the plugin."""

    class Broken(ContextPass):
        def apply(self, request, call):
            raise OSError("broken")

    plugin = ContextPackPlugin(shadow=True, passes=[Broken(on_error="raise"), StripForContext()])
    with caplog.at_level(logging.ERROR, "adk_context_pack"):
        alone, beside, _ = await both(lambda: told([["table", "say"]]), "Go", plugin=plugin)
    assert_untouched(alone, beside)
    assert "pass broken failed and was skipped" in caplog.text

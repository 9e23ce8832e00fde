"""Inputs of a workflow's nodes, which ADK shows to an agent and stores in no session."""

import pytest

from adk_context_pack._adk.requests import contents_for, is_model_call
from tests.replay.live_apps import LiveApp, agent, rows
from tests.replay.live_runs import run_live

workflow = pytest.importorskip("google.adk.workflow")
pytestmark = pytest.mark.filterwarnings("ignore")


def shout(node_input):
    return {"upper": str(node_input).upper()}


def chain():
    first, last = agent("first", rows(3), "From the first."), agent("last", rows(2), "The end.")
    return workflow.Workflow(name="flow", edges=[("START", first), (first, last)])


def fan():
    nodes = [
        agent(name, *script) for name, script in {"a": (rows(3), "Of a."), "b": ("Of b.",), "c": ("Of c.",)}.items()
    ]
    (a, b, c), last, join = nodes, agent("last", "The end."), workflow.JoinNode(name="join")
    edges = [("START", a), (a, shout), (shout, b), (shout, c), (b, join), (c, join), (join, last)]
    return workflow.Workflow(name="flow", edges=edges)


def by_agent(requests):
    found = {}
    for name, contents in requests:
        shown = [(content.role, [part.text or "" for part in content.parts]) for content in contents]
        found.setdefault(name, []).append(shown)
    return found


@pytest.mark.parametrize("make", [chain, fan])
async def test_requests_of_nodes_are_those_that_adk_built(make):
    """From the events alone, each node's requests are rebuilt as its model received them, in both turns."""
    requests, session = await run_live(LiveApp(make=make, messages=["Go.", "And?"]))
    rebuilt = [
        (event.author, contents_for(event, session.events[:place]))
        for place, event in enumerate(session.events)
        if is_model_call(event)
    ]
    assert by_agent(rebuilt) == by_agent((request.agent, request.contents) for request in requests)

"""Calls that wait for somebody: until they are answered, however often they ask."""

import pytest
from google.adk.events.event_actions import EventActions
from google.adk.tools.tool_confirmation import ToolConfirmation

from adk_context_pack import ModelCall
from adk_context_pack.conversation.pairing import pair, waiting_calls
from tests.support.events import agent_called, call_part, event, result_part, tool_returned


def asks(call_id):
    actions = EventActions(requested_tool_confirmations={call_id: ToolConfirmation(hint="Pay?")})
    return tool_returned("a", "pay", {"error": "waits"}, call_id, actions=actions)


def waiting(*events):
    contents = [event.content for event in events]
    call = ModelCall(agent_name="a", events=list(events), user_content=None)
    return len(waiting_calls(pair(contents), call))


def test_a_tool_that_asks_twice_waits_until_it_answers():
    """A result that asks again does not end the waiting, and one that asks nothing does."""
    called = agent_called("a", "pay", "c1", amount=5)
    assert waiting(called, asks("c1")) == 1
    assert waiting(called, asks("c1"), asks("c1")) == 1
    assert waiting(called, asks("c1"), asks("c1"), tool_returned("a", "pay", {"paid": 5}, "c1")) == 0


def pairs(*contents):
    """Which call each result has, as (content, part), for contents of calls and results in short."""
    found = pair([event("a", *parts).content for parts in contents])
    shown = {tuple(result): tuple(made) for result, made in found.call_of.items()}
    return shown, {tuple(place) for place in found.unanswered}, [tuple(place) for place in found.orphans]


def made(name="look", call_id=None):
    return call_part(name, {}, call_id)


def returned(name="look", call_id=None):
    return result_part(name, {"a": 1}, call_id)


@pytest.mark.parametrize("call_id", ["c1", None])
def test_a_reused_id_finds_the_call_right_before(call_id):
    """A call that nobody answered does not take the result of a later call with the same id, or of the same name."""
    shown, unanswered, _ = pairs([made(call_id=call_id)], [made(call_id=call_id)], [returned(call_id=call_id)])
    assert shown == {(2, 0): (1, 0)}
    assert unanswered == {(0, 0)}


def test_parallel_calls_without_ids_are_answered_in_order():
    """Results of parallel calls of one tool, without ids, pair in the order of the calls."""
    shown, unanswered, orphans = pairs([made(), made(), made("other")], [returned(), returned("other"), returned()])
    assert shown == {(1, 0): (0, 0), (1, 1): (0, 2), (1, 2): (0, 1)}
    assert not unanswered
    assert not orphans

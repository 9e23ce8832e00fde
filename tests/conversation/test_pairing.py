"""Calls that wait for somebody: until they are answered, however often they ask."""

from google.adk.events.event_actions import EventActions
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.pairing import pair, waiting_calls
from tests.support.events import agent_called, tool_returned


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


def test_an_answer_to_another_call_ends_no_waiting():
    """Only a result of the same call ends its waiting."""
    called = [agent_called("a", "pay", call_id, amount=5) for call_id in ("c1", "c2")]
    assert waiting(*called, asks("c1"), tool_returned("a", "pay", {"paid": 5}, "c2")) == 1
    assert isinstance(called[0].content, types.Content)

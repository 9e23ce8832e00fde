"""reduce_event: function responses of a fresh event made smaller, and nothing else touched."""

from types import SimpleNamespace

from google.adk.events.event_actions import EventActions
from google.genai import types

from adk_context_pack.tools.reduce_event import is_stored, reduce_event
from tests.support.events import agent_said, event, result_part


def context(*stored):
    return SimpleNamespace(session=SimpleNamespace(events=list(stored)))


async def halve(response, delta):
    delta["seen"] = response.name
    return {"short": True} if len(response.response) > 1 else response.response


async def test_only_large_responses_are_replaced():
    """A new content with new parts in place of the large ones; the other parts are the same objects."""
    media = types.FunctionResponse(name="big", id="1", response={"a": 1, "b": 2}, scheduling=None)
    made = event("a", types.Part(text="see"), types.Part(function_response=media), result_part("small", {"a": 1}, "2"))
    content, parts = made.content, list(made.content.parts)
    assert await reduce_event(context(), made, halve) is True
    assert [part.function_response and part.function_response.response for part in made.content.parts] == [
        None,
        {"short": True},
        {"a": 1},
    ]
    assert made.content is not content
    assert content.parts == parts
    assert media.response == {"a": 1, "b": 2}
    assert made.content.parts[0] is parts[0]
    assert made.content.parts[2] is parts[2]
    assert made.actions.state_delta == {"seen": "small"}


async def test_events_that_are_left_alone():
    """No response, a partial one, a stored one, an answer to the user, an error: nothing is asked or changed."""
    big = {"a": 1, "b": 2}
    stored = event("a", result_part("t", big))
    shown = event("a", result_part("t", big), actions=EventActions(skip_summarization=True))
    failed = event("a", result_part("t", {"error": "no", "b": 2}))
    for made in (agent_said("a", "hi"), event("a", result_part("t", big), partial=True), stored, shown, failed):
        content = made.content
        assert await reduce_event(context(stored), made, halve) is False
        assert made.content is content
        assert not made.actions.state_delta


def test_a_stored_event_is_found_by_its_id_among_the_newest():
    """ADK may store a copy of the event, so the object does not count."""
    made = agent_said("a", "hi")
    made.id = "e1"
    assert is_stored(context(made.model_copy(), agent_said("b", "x")), made)
    assert not is_stored(context(agent_said("b", "x")), made)

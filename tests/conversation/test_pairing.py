"""Calls that wait for somebody: until they are answered, however often they ask."""

from __future__ import annotations

import pytest
from google.adk.events.event_actions import EventActions
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack import ModelCall
from adk_context_pack.conversation.contents import texts_of
from adk_context_pack.conversation.outline import Outline, Voices, waiting_calls
from tests.support.conversation import Conversation
from tests.support.conversations import conversations
from tests.support.events import agent_called, call_part, event, result_part, tool_returned, user_said


def asks(call_id):
    actions = EventActions(requested_tool_confirmations={call_id: ToolConfirmation(hint="Pay?")})
    return tool_returned("a", "pay", {"error": "waits"}, call_id, actions=actions)


def waiting(*events):
    contents = [event.content for event in events]
    call = ModelCall(agent_name="a", events=list(events), user_content=None)
    return len(waiting_calls(Outline(Voices.of(call)).grow(contents), call))


def test_a_tool_that_asks_twice_waits_until_it_answers():
    """A result that asks again does not end the waiting, and one that asks nothing does."""
    called = agent_called("a", "pay", "c1", amount=5)
    assert waiting(called, asks("c1")) == 1
    assert waiting(called, asks("c1"), asks("c1")) == 1
    assert waiting(called, asks("c1"), asks("c1"), tool_returned("a", "pay", {"paid": 5}, "c1")) == 0


def pairs(*contents):
    """Which call each result has, as (content, part), for contents of calls and results in short."""
    found = Outline(Voices(None, ())).grow([event("a", *parts).content for parts in contents])
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


def said(role: str, text: str) -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def facts(outline: Outline) -> tuple[object, ...]:
    steps = (*outline.steps, outline.next_step)
    made = outline.call_of, outline.unanswered, outline.repeats
    return outline.voices, outline.turns, steps, list(outline.groups), *made


@pytest.mark.slow
@given(conversation=conversations(max_turns=4), data=st.data())
def test_growing_is_the_same_as_seeing_all_at_once(conversation: Conversation, data: st.DataObject) -> None:
    """An outline that took in its contents in pieces says what one says that took them in at once."""
    contents, voices = conversation.contents(), Voices.of(conversation.call())
    grown, start = Outline(voices), 0
    for stop in sorted(data.draw(st.lists(st.integers(0, len(contents)), max_size=4))):
        grown.grow(contents[start:stop])
        assert grown.groups is not None
        start = stop
    assert facts(grown.grow(contents[start:])) == facts(Outline(voices).grow(contents))


@pytest.mark.slow
@given(conversations(max_turns=4))
def test_steps_count_results(conversation: Conversation) -> None:
    """Before each model call stand as many results as a plain count finds, and as many before its turn."""
    voices = Voices.of(conversation.call())
    outline = Outline(voices).grow(conversation.contents())
    places = [place.content for place in outline.results]
    for now, there, before_turn, _ in (*outline.steps, outline.next_step):
        turn = max((start for start in outline.turns if start < now), default=0)
        assert there == sum(place < now for place in places)
        assert before_turn == sum(place < turn for place in places)


def test_overlapping_exchanges_are_one_group() -> None:
    """Exchanges that overlap leave a request together, through a chain of them, and those beside them do not."""

    def called(call_id: str) -> types.Content:
        return types.Content(role="model", parts=[call_part("look", {}, call_id)])

    def returned(call_id: str) -> types.Content:
        return types.Content(role="user", parts=[result_part("look", {}, call_id)])

    contents = [called("a"), called("b"), returned("a"), called("c"), returned("b"), called("d"), returned("c")]
    contents += [returned("d"), said("model", "Done."), called("e"), returned("e"), called("f"), called("g")]
    contents += [returned("g"), said("model", "Waiting.")]
    voices = Voices({}, ())
    groups = Outline(voices).grow(contents).groups
    kinds = [(group.start, group.stop, group.kind, group.open) for group in groups]
    assert kinds == [
        (0, 8, "exchange", False),
        (8, 9, "model", False),
        (9, 11, "exchange", False),
        (11, 12, "exchange", True),
        (12, 14, "exchange", False),
        (14, 15, "model", False),
    ]


def test_what_is_heard_later_changes_what_was_heard() -> None:
    """A text that nobody had said is found out anew once a user says it, and so is one that no longer is a user's."""
    contents = [said("user", "Hello"), said("user", "For context, see below."), said("model", "Hi")]
    hello, other = (hash(texts_of(content)) for content in contents[:2])
    voices = Voices({hello: 0.0}, ())
    outline = Outline(voices).grow(contents)
    assert outline.voices == ["user", "relay", "model"]
    assert outline.fits(Voices({hello: 0.0, 7: 0.0}, ()))
    assert not outline.fits(Voices({hello: 0.0, other: 0.0}, ()))
    assert not outline.fits(Voices({7: 0.0}, ()))
    assert not outline.fits(Voices(None, ()))
    assert not outline.fits(Voices({hello: 0.0}, ("a summary",)))


@pytest.mark.parametrize(("role", "text", "voice"), [
    ("user", "Hello", "user"), ("model", "Hello", "model"), ("user", "For context:", "relay"),
    ("user", "Something else", "fixed"), ("system", "Hello", "fixed"), (None, "Hello", "fixed"),
])  # fmt: skip
def test_roles_alone_do_not_tell(role, text, voice):
    """What a user typed is the user's, and a content without a role, or with one of its own, is nobody's to drop."""
    call = ModelCall(agent_name="a", events=[user_said("Hello")], user_content=None)
    content = types.Content(role=role, parts=[types.Part(text=text)])
    assert Voices.of(call).voice(content) == voice

"""What contents are, found out while they grow."""

from __future__ import annotations

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.conversation.contents import texts_of
from adk_context_pack.conversation.outline import Outline
from adk_context_pack.conversation.voices import Voices
from tests.support.conversation import Conversation
from tests.support.conversations import conversations
from tests.support.events import call_part, result_part


def said(role: str, text: str) -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def facts(outline: Outline) -> tuple[object, ...]:
    pairing = outline.pairing
    steps = (*outline.steps, outline.next_step)
    return (
        outline.voices,
        outline.calls,
        outline.turns,
        steps,
        list(outline.groups),
        pairing.call_of,
        pairing.unanswered,
    )


@pytest.mark.slow
@given(conversation=conversations(max_turns=4), data=st.data())
def test_growing_is_the_same_as_seeing_all_at_once(conversation: Conversation, data: st.DataObject) -> None:
    """An outline that took in its contents in pieces says what one says that took them in at once."""
    contents, voices = conversation.contents(), Voices.of(conversation.call())
    grown, start = Outline(voices), 0
    for stop in sorted(data.draw(st.lists(st.integers(0, len(contents)), max_size=4))):
        grown.grow(contents[start:stop], voices)
        assert grown.groups is not None
        start = stop
    assert facts(grown.grow(contents[start:], voices)) == facts(Outline(voices).grow(contents, voices))


@pytest.mark.slow
@given(conversations(max_turns=4))
def test_steps_count_results(conversation: Conversation) -> None:
    """Before each model call stand as many results as a plain count finds, and as many before its turn."""
    voices = Voices.of(conversation.call())
    outline = Outline(voices).grow(conversation.contents(), voices)
    places = [place.content for place in outline.pairing.results]
    for now, there, before_turn in (*outline.steps, outline.next_step):
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
    groups = Outline(voices).grow(contents, voices).groups
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
    voices = Voices({hello: None}, ())
    outline = Outline(voices).grow(contents, voices)
    assert outline.voices == ["user", "relay", "model"]
    assert outline.fits(Voices({hello: None, 7: None}, ()))
    assert not outline.fits(Voices({hello: None, other: None}, ()))
    assert not outline.fits(Voices({7: None}, ()))
    assert not outline.fits(Voices(None, ()))
    assert not outline.fits(Voices({hello: None}, ("a summary",)))

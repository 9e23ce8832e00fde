"""live_events: the events that ADK builds a request from after a rewind."""

from __future__ import annotations

from contextlib import suppress

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from hypothesis import given

from adk_context_pack._adk.live_events import live_events
from tests.support.adk_contents import contents_of
from tests.support.conversation import Conversation
from tests.support.conversations import conversations
from tests.support.events import agent_said, user_said


def rewind(before: str) -> Event:
    """The user takes back all since an invocation."""
    return Event(author="user", actions=EventActions(rewind_before_invocation_id=before))


@pytest.mark.slow
@given(conversations())
def test_adk_builds_the_same_contents_of_them(conversation: Conversation):
    """What is left out, ADK's own content builder leaves out as well."""
    left = live_events(conversation.events)
    with suppress(ValueError):
        assert contents_of(left, conversation.agent, **conversation.settings) == conversation.contents()


def test_a_rewind_within_what_was_rewound_counts_for_nothing():
    """Of several rewinds only those count that no later one took back; an unknown invocation takes nothing back."""
    said = [
        user_said("a", invocation_id="1"),
        agent_said("x", "b", invocation_id="2"),
        user_said("c", invocation_id="3"),
    ]
    assert live_events([*said, rewind("2")]) == said[:1]
    assert live_events([*said[:2], rewind("1"), said[2], rewind("3")]) == []
    assert live_events([*said, rewind("nobody's")]) == said


def test_without_a_rewind_the_events_are_given_back():
    """Nothing is copied where there is nothing to leave out."""
    said = [user_said("a"), agent_said("x", "b")]
    assert live_events(said) is said

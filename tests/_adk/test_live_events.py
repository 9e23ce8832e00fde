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

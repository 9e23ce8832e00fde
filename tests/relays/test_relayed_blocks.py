"""find_relayed: which event of the session a relayed block is."""

from __future__ import annotations

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions

from adk_context_pack.relays.relayed_blocks import find_relayed
from tests.support import relay
from tests.support.adk_contents import contents_of
from tests.support.events import agent_said, user_said
from tests.support.requests import call_for


@pytest.mark.parametrize("relay_format", relay.FORMATS)
def test_a_block_is_no_event_that_was_rewound(relay_format):
    """Of two events that read alike, the one that a rewind took back is not behind the block."""
    gone, stands = agent_said("scout", "Oslo.", invocation_id="1"), agent_said("scout", "Oslo.", invocation_id="2")
    rewind = Event(author="user", actions=EventActions(rewind_before_invocation_id="1"))
    events = [user_said("Hi"), gone, rewind, stands]
    (block,) = find_relayed(contents_of(events, "writer", relay_format=relay_format), call_for("writer", events))
    assert block.event is stands

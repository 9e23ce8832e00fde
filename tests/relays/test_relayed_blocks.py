"""find_relayed: which event of the session a relayed block is."""

from __future__ import annotations

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions

from adk_context_pack.relays.relayed_blocks import _search, find_relayed
from tests.support import relay
from tests.support.adk_contents import contents_of
from tests.support.events import agent_said, user_said
from tests.support.requests import call_for

formats = pytest.mark.parametrize("relay_format", relay.FORMATS)


@formats
def test_a_block_is_no_event_that_was_rewound(relay_format):
    """Of two events that read alike, the one that a rewind took back is not behind the block."""
    gone, stands = agent_said("scout", "Oslo.", invocation_id="1"), agent_said("scout", "Oslo.", invocation_id="2")
    rewind = Event(author="user", actions=EventActions(rewind_before_invocation_id="1"))
    events = [user_said("Hi"), gone, rewind, stands]
    (block,) = find_relayed(contents_of(events, "writer", relay_format=relay_format), call_for("writer", events))
    assert block.event is stands


@formats
def test_the_oldest_of_equal_events_is_the_one_that_is_left_out(relay_format):
    """Of two events that read alike, a request that begins in the middle shows the newer one."""
    older, newer = agent_said("scout", "Oslo."), agent_said("scout", "Oslo.")
    contents = contents_of([newer], "writer", relay_format=relay_format)
    (block,) = find_relayed(contents, call_for("writer", [older, user_said("And now?"), newer]))
    assert block.event is newer


@formats
def test_a_later_event_that_says_more_raises_no_doubt(relay_format):
    """A user's copy of a block is told from the block, also once the agent says the same again with more."""
    first = agent_said("scout", "Oslo.")
    typed = [part.text for part in contents_of([first], "writer", relay_format=relay_format)[0].parts]
    events = [first, user_said(*typed), agent_said("scout", "Oslo.", "Or Bergen.")]
    contents = contents_of(events, "writer", relay_format=relay_format)
    blocks = find_relayed(contents, call_for("writer", events))
    assert [block.event for block in blocks] == [events[0], events[2]]


@formats
@pytest.mark.parametrize("cursor", [-1, 0, 1, 2, 3])
def test_the_search_goes_back_and_round(relay_format, cursor):
    """The event behind a block is found wherever the search begins: before that place first, the newest first."""
    events = [agent_said("scout", text) for text in ("Oslo.", "Rome.", "Oslo.", "Paris.")]
    contents = contents_of(events, "writer", relay_format=relay_format)
    order = [*range(cursor, -1, -1), *range(3, cursor, -1)]
    for place, content in enumerate(contents):
        alike = {0, 2} if place in (0, 2) else {place}
        first, second = (
            [at for at in order if at in alike][:2] * 2 if len(alike) == 1 else [at for at in order if at in alike]
        )
        assert _search(content, events, cursor, set())[0] == first
        assert _search(content, events, cursor, {first})[0] == (second if len(alike) == 2 else 0)
        assert _search(content, events, cursor, alike) == (0, [])

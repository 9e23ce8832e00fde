"""Relays in a format that this package does not know are recognised by ADK's own renderer."""

from __future__ import annotations

from contextlib import contextmanager
from unittest.mock import patch

import pytest
from google.adk.events.event import Event
from google.genai import types

from adk_context_pack.errors import warn_once
from adk_context_pack.relays.relayed_blocks import find_relayed, unknown_preamble
from tests.support import relay
from tests.support.adk_contents import BUILDER, contents_of
from tests.support.events import agent_called, agent_said, tool_returned, user_said
from tests.support.requests import call_for

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::adk_context_pack.UnknownRelayFormatWarning"),
]
NEW, HALF_NEW = "Another agent's transcript follows.", relay.PREAMBLES[relay.PLAIN]
EVENTS = [
    user_said("Where is Oslo?"),
    agent_called("scout", "look_up", "c1", query="oslo", limit=3),
    tool_returned("scout", "look_up", {"rows": [{"id": n, "name": "secret"} for n in range(50)]}, "c1"),
    agent_said("scout", "Oslo is in Norway."),
]


def shown_part(author: str, source: types.Part) -> types.Part | None:
    if source.text is not None:
        return types.Part(text=f"{author} > {source.text}") if source.text.strip() and not source.thought else None
    if (asked := source.function_call) is not None:
        return types.Part(text=f"{author} > calls {asked.name}: {asked.args}")
    if (given := source.function_response) is not None:
        return types.Part(text=f"{author} > gets from {given.name}: {given.response}")
    return source


@contextmanager
def relaying(preamble: str):
    """ADK as it might relay agents in a later release."""

    def present(event: Event, **_) -> Event | None:
        parts = [shown for part in event.content.parts if (shown := shown_part(event.author, part)) is not None]
        content = types.Content(role="user", parts=[types.Part(text=preamble), *parts])
        return Event(author="user", timestamp=event.timestamp, content=content, branch=event.branch) if parts else None

    with patch.object(BUILDER, "_present_other_agent_message", present):
        yield


@pytest.fixture(autouse=True)
def _warned_of_nothing():
    warn_once.cache_clear()


@pytest.mark.parametrize("preamble", [NEW, HALF_NEW])
def test_every_block_is_proved_all_the_same(preamble):
    """A new preamble, or new lines behind a known one: each block is tied to its event, part by part."""
    with relaying(preamble):
        contents, model_call = contents_of(EVENTS, "writer"), call_for("writer", EVENTS)
        blocks = find_relayed(contents, model_call)
        assert unknown_preamble() == preamble
    assert [block.event for block in blocks] == EVENTS[1:]
    assert [part.kind for block in blocks for part in block.parts] == ["call", "result", "said"]
    assert [part.source for block in blocks for part in block.parts] == [e.content.parts[0] for e in EVENTS[1:]]


@pytest.mark.parametrize("preamble", [NEW, HALF_NEW])
def test_what_a_user_typed_in_the_new_format_stays(preamble):
    """A user who types a block byte for byte is not taken for an agent, and the real block is still found."""
    with relaying(preamble):
        block = contents_of(EVENTS, "writer")[2]
        typed = user_said(*(part.text for part in block.parts))
        other = user_said(preamble, "scout > Nothing of the kind.")
        events = [typed, other, *EVENTS]
        found = find_relayed(contents_of(events, "writer"), call_for("writer", events))
    assert [block.position for block in found] == [3, 4, 5]

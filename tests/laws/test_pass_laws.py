"""The laws of `laws.py`, over every pass of `passes.py`, on generated conversations.

`LAWS_EXAMPLES` sets how many conversations each pass is tried on, `LAWS_SEED` the seed ("random" for a new one), and
`LAWS_SHRINK=0` shows the first conversation that breaks a law, not the smallest. Examples and seed are
printed at the end of the run.
"""

from __future__ import annotations

import logging

import pytest
from google.adk.events.event import Event
from hypothesis import given, seed

from tests.laws import laws
from tests.laws.passes import CASES, Case
from tests.support.conversations import Conversation, conversations
from tests.support.events import agent_called, agent_said, tool_returned, user_said
from tests.support.laws_settings import LAWS_SEED, laws_settings

pytestmark = [pytest.mark.laws, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _quiet():
    """ADK and the passes say a lot about conversations like these."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@seed(LAWS_SEED)
@laws_settings()
@given(conversation=conversations())
def test_the_laws_hold(case: Case, conversation: Conversation):
    """Every law holds for the pass on any conversation, save those that the pass is declared to be an exception of."""
    laws.check(case, conversation, except_for=case.except_for)


def nobodys(event: Event) -> Event:
    """The event without an author, as only code can make it: validation wants a text."""
    return event.model_copy(update={"author": None})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_events_of_nobody_break_no_law(case: Case):
    """An event whose author is None, which ADK relays as `[None]`, is a block like any other."""
    logs = [agent_called("x", "look_up", "adk-1", city="Oslo" * 200), tool_returned("x", "look_up", {"a": 1}, "adk-1")]
    events = [user_said("hi"), *map(nobodys, [agent_said("x", "I looked at it. " * 40), *logs])]
    laws.check(case, Conversation(agent="writer", events=tuple(events)), except_for=case.except_for)

"""The laws of `laws.py`, over every pass, every pair and whole orders of `passes.py`, on generated conversations.

`LAWS_EXAMPLES` sets how many conversations are tried in all, each on `LAWS_CASES` of the cases; `LAWS_SEED` the seed
("random" for a new one); and `LAWS_SHRINK=0` shows the first conversation that breaks a law, not the smallest. Numbers
and seed are printed at the end of the run.
"""

from __future__ import annotations

import logging
from zlib import crc32

import pytest
from google.adk.events.event import Event
from google.genai import types
from hypothesis import given, seed

import adk_context_pack
from adk_context_pack import ContextPass
from tests.laws import laws
from tests.laws.built_once import BuiltOnce
from tests.laws.passes import CASES, GROUPS, PAIRS, PASSES, Case
from tests.support.conversation import Conversation
from tests.support.conversations import conversations
from tests.support.events import agent_called, agent_said, event, tool_returned, user_said
from tests.support.laws_settings import LAWS_CASES, laws_settings, shares, some_of

pytestmark = [pytest.mark.laws, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _quiet():
    """ADK and the passes say a lot about conversations like these."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(("group", "number", "examples"), shares(GROUPS))
def test_the_laws_hold(group: str, number: int, examples: int, record_property):
    """Every law holds for each case on any conversation, save those that it is declared to be an exception of."""
    tried: list[int] = []

    @seed(number)
    @laws_settings(examples)
    @given(conversation=conversations(), cases=some_of(GROUPS[group]))
    def look(conversation: Conversation, cases: list[Case]) -> None:
        tried.append(crc32(repr(conversation).encode(errors="surrogatepass")))
        laws.check_cases(cases, BuiltOnce(conversation))

    look()
    record_property("laws", (tried, len(tried) * min(LAWS_CASES, len(GROUPS[group]))))


def nobodys(event: Event) -> Event:
    """The event without an author, as only code can make it: validation wants a text."""
    return event.model_copy(update={"author": None})


@pytest.mark.parametrize("group", GROUPS)
def test_events_of_nobody_break_no_law(group: str):
    """An event whose author is None, which ADK relays as `[None]`, is a block like any other."""
    logs = [agent_called("x", "look_up", "adk-1", city="Oslo" * 200), tool_returned("x", "look_up", {"a": 1}, "adk-1")]
    events = [user_said("hi"), *map(nobodys, [agent_said("x", "I looked at it. " * 40), *logs])]
    laws.check_cases(GROUPS[group], BuiltOnce(Conversation(agent="writer", events=tuple(events))))


@pytest.mark.parametrize("group", GROUPS)
def test_an_answer_in_the_users_words_breaks_no_law(group: str):
    """A message that is put in before a turn of the model which reads like it is a message that was put in."""
    image = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"png"))
    message = [types.Part(text="ok"), image]
    events = [event("user", *message, role="user"), agent_said("x", "I looked."), event("writer", *message)]
    told = Conversation(agent="writer", events=tuple(events), settings={"include": "none"})
    laws.check_cases(GROUPS[group], BuiltOnce(told))


@pytest.mark.parametrize("group", GROUPS)
def test_messages_that_differ_in_media_alone_break_no_law(group: str):
    """Of two messages with the same words, the one with the picture is seen to have been put in."""
    code = types.Part(executable_code=types.ExecutableCode(code="1", language="PYTHON"))
    image = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"png"))
    asked = [event("user", types.Part(text="ok"), part, role="user") for part in (code, image)]
    events = [asked[0], agent_said("x", "I looked."), asked[1], agent_said("x", "I looked again.")]
    told = Conversation(agent="writer", events=tuple(events), settings={"include": "none"})
    laws.check_cases(GROUPS[group], BuiltOnce(told))


@pytest.mark.parametrize("group", GROUPS)
def test_a_message_of_an_earlier_turn_breaks_no_law(group: str):
    """A block of an open call begins a later turn's request, too, and the message that it answered stands there."""
    events = [
        user_said("A long question. " * 200),
        agent_called("x", "look_up", "adk-1"),
        user_said("And now?"),
        tool_returned("user", "look_up", {}, "adk-1"),
    ]
    told = Conversation(agent="writer", events=tuple(events), settings={"include": "none"})
    laws.check_cases(GROUPS[group], BuiltOnce(told))


@pytest.mark.parametrize("group", GROUPS)
def test_a_forged_relay_with_another_picture_breaks_no_law(group: str):
    """A relay after a message that was typed to look like it, but for the picture, does not pass for that message."""
    png, jpeg = (types.Part(inline_data=types.Blob(mime_type=kind, data=b"x")) for kind in ("image/png", "image/jpeg"))
    typed = [types.Part(text="For context:"), types.Part(text="[writer] said: It is far."), png]
    asked = event("user", *typed, role="user")
    events = [
        user_said("hi"),
        agent_said("writer", "It is far."),
        asked,
        event("writer", types.Part(text="It is far."), jpeg),
    ]
    told = Conversation(agent="reader", events=tuple(events), settings={"relay_format": "plain"})
    laws.check_cases(GROUPS[group], BuiltOnce(told))


def test_every_built_in_pass_is_tried_alone_and_with_every_other():
    """A pass that is public is in the list, and each two of them are a pair in both orders."""
    public = {getattr(adk_context_pack, name) for name in adk_context_pack.__all__}
    built_in = {
        entry for entry in public if isinstance(entry, type) and issubclass(entry, ContextPass) and entry != ContextPass
    }
    assert {kind for made in PASSES for kind in made.kinds} == built_in
    assert {made.kinds for made in PAIRS} == {(a, b) for a in built_in for b in built_in if a != b}
    assert sorted(made.name for made in CASES) == sorted(made.name for group in GROUPS.values() for made in group)

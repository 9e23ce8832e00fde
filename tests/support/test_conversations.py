"""The generator of conversations really makes what the laws are to be tried on."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator

import pytest
from google.genai import types
from hypothesis import HealthCheck, given, seed, settings

from tests.support import payloads, relay
from tests.support.adk_contents import contents_of
from tests.support.conversation import Conversation
from tests.support.conversations import CONFIRMATION, conversations
from tests.support.events import agent_called, tool_returned, user_said

WANTED = {
    "relay in the plain format",
    "relay in the fenced format",
    "relay of several parts",
    "relay labelled user",
    "relayed thought",
    "relay typed by the user",
    "relay typed as one text",
    "parallel calls",
    "call without an id",
    "call with an id of the model's",
    "call id used twice",
    "call without a result",
    "result without a call",
    "results out of order",
    "results in several events",
    "long-running call",
    "result posted back by the user",
    "approval",
    "transfer",
    "summary as a turn of the agent's own",
    "summary as a block",
    "dynamic instruction",
    "media",
    "code",
    "thought with a signature",
    "call with a signature",
    "payload that is no literal",
    "marker in a payload",
    "lone surrogate",
    "line separator",
    "carriage return",
    "nul",
    "author that is no agent",
    "event without an author",
    "event without content",
    "content with parts None",
    "content with no parts",
    "empty part",
    "tool name that is no identifier",
    "name that is not ascii",
    "huge text",
    "rewind",
    "branch",
    "include_contents none",
    "request without contents",
    "request that ends in a model turn",
}


@pytest.mark.slow
def test_the_generator_makes_every_kind_that_it_promises(caplog):
    """Over a few fixed seeds, each kind of event, block and request turns up."""
    caplog.set_level(logging.ERROR)
    wanted = WANTED - (set() if _labels_results_of_others() else {"relay labelled user"})
    for number in range(8):
        wanted -= _kinds_under(number)
        if not wanted:
            break
    assert wanted == set()


def test_conversations_are_the_same_for_the_same_seed():
    """Nothing drawn depends on a clock or on ADK's random ids."""

    def told() -> list[str]:
        seen: list[str] = []

        @seed(11)
        @settings(max_examples=20, deadline=None, database=None)
        @given(conversations())
        def look(conversation: Conversation) -> None:
            seen.append(repr(conversation) + repr([(event.id, event.timestamp) for event in conversation.events]))

        look()
        return seen

    assert told() == told()


@pytest.mark.slow
def test_orderly_conversations_hold_nothing_malformed(caplog):
    """A healthy app's session has named agents, contents with parts and calls that are answered or wait."""
    caplog.set_level(logging.ERROR)

    @seed(3)
    @settings(max_examples=60, deadline=None, database=None)
    @given(conversations(orderly=True))
    def look(conversation: Conversation) -> None:
        for event in conversation.events:
            assert event.author
            assert event.content is None or event.content.parts
            assert all(call.name in payloads.TOOLS or "_" in call.name for call in event.get_function_calls())

    look()


def _kinds_under(number: int) -> set[str]:
    seen: set[str] = set()

    @seed(number)
    @settings(max_examples=400, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(conversations())
    def look(conversation: Conversation) -> None:
        seen.update(_kinds_of_session(conversation), _kinds_of_request(conversation))

    look()
    return seen


def _labels_results_of_others() -> bool:
    """Whether the installed release relays a result that the user's side posted back for another agent (2.0.0)."""
    result = tool_returned("user", "wait", {}, "adk-1")
    events = [user_said("hi"), agent_called("writer", "wait", "adk-1"), result, user_said("and?")]
    return any("[user]" in (part.text or "") for content in contents_of(events, "model") for part in content.parts)


def _kinds_of_session(conversation: Conversation) -> Iterator[str]:
    events = conversation.events
    calls = [call for event in events for call in event.get_function_calls()]
    results = [result for event in events for result in event.get_function_responses()]
    ids = Counter(call.id for call in calls if call.id)
    answered = {result.id for result in results}
    flags = {
        "parallel calls": any(len(event.get_function_calls()) > 1 for event in events),
        "call without an id": any(call.id is None for call in calls),
        "call with an id of the model's": any(call.id and not call.id.startswith("adk-") for call in calls),
        "call id used twice": any(count > 1 for count in ids.values()),
        "call without a result": bool(set(ids) - answered),
        "result without a call": bool(answered - set(ids) - {None}),
        "long-running call": any(event.long_running_tool_ids for event in events),
        "result posted back by the user": any(e.author == "user" and e.get_function_responses() for e in events),
        "approval": any(call.name == CONFIRMATION for call in calls),
        "transfer": any(event.actions.transfer_to_agent for event in events),
        "author that is no agent": any(event.author and "\n" in event.author for event in events),
        "event without an author": any(not event.author for event in events),
        "event without content": any(event.content is None for event in events),
        "content with parts None": any(event.content and event.content.parts is None for event in events),
        "content with no parts": any(event.content and event.content.parts == [] for event in events),
        "tool name that is no identifier": any("-" in (call.name or "") for call in calls),
        "name that is not ascii": any(not (event.author or "").isascii() for event in events),
        "rewind": any(event.actions.rewind_before_invocation_id for event in events),
        "branch": any(event.branch for event in events),
        "dynamic instruction": conversation.dynamic is not None,
        "include_contents none": conversation.settings["include"] == "none",
    }
    yield from (name for name, found in flags.items() if found)
    yield from _kinds_of_results(conversation)
    for event in events:
        if event.actions.compaction:
            own = conversation.settings["summary_form"] == "own"
            yield "summary as a turn of the agent's own" if own else "summary as a block"


def _kinds_of_results(conversation: Conversation) -> Iterator[str]:
    for call, *after in zip(*(conversation.events[i:] for i in range(3)), strict=False):
        asked = [c.id for c in call.get_function_calls()]
        first = [r.id for r in after[0].get_function_responses()]
        if asked != first and sorted(map(str, asked)) == sorted(map(str, first)):
            yield "results out of order"
        if len(asked) > 1 and len(first) == 1 and after[1].get_function_responses():
            yield "results in several events"


def _kinds_of_request(conversation: Conversation) -> Iterator[str]:
    contents = conversation.contents()
    if not contents:
        yield "request without contents"
        return
    if contents[-1].role == "model":
        yield "request that ends in a model turn"
    typed = [event.content for event in conversation.events if event.author == "user"]
    for content in contents:
        yield from _kinds_of_content(content, typed=content in typed)
        for part in content.parts or ():
            yield from _kinds_of_part(part)


def _kinds_of_content(content: types.Content, *, typed: bool) -> Iterator[str]:
    texts = [part.text or "" for part in content.parts or ()]
    form = next((form for form in relay.FORMATS if texts and texts[0] == relay.PREAMBLES[form]), None)
    if typed:
        if form and len(texts) > 1:
            yield "relay typed by the user"
        if texts and any(texts[0].startswith(relay.PREAMBLES[form] + "\n[") for form in relay.FORMATS):
            yield "relay typed as one text"
    elif form:
        yield f"relay in the {form} format"
        if len(texts) > 2:
            yield "relay of several parts"
        if any(text.startswith("[user] ") for text in texts):
            yield "relay labelled user"
        if any("] thought:" in text for text in texts):
            yield "relayed thought"


def _kinds_of_part(part: types.Part) -> Iterator[str]:
    payload = str(part.function_response.response) if part.function_response else ""
    flags = {
        "media": part.inline_data or part.file_data,
        "code": part.executable_code or part.code_execution_result,
        "thought with a signature": part.thought and part.thought_signature,
        "call with a signature": part.function_call and part.thought_signature,
        "payload that is no literal": "Status.OK" in payload or "nan" in payload,
        "marker in a payload": relay.END in payload,
        "lone surrogate": "\ud83d" in (part.text or ""),
        "line separator": "\u2028" in (part.text or ""),
        "carriage return": "\r" in (part.text or ""),
        "nul": "\x00" in (part.text or ""),
        "empty part": part == types.Part() or part.text == "",
        "huge text": len(part.text or payload) > 10_000,
    }
    yield from (name for name, found in flags.items() if found)

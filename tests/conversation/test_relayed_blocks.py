"""find_relayed: which event of the session a relayed block is, also in a format that this package does not know."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import permutations
from unittest.mock import patch

import pytest
from google.adk.events.event import Event
from google.genai import types

from adk_context_pack import StripForContext
from adk_context_pack.conversation.relayed_blocks import _tie, find_relayed, unknown_preamble
from adk_context_pack.errors import warn_once
from adk_context_pack.passes.cast_narrative import CastNarrative, ResultTexts, handle_in, whole_text
from tests.support import relay
from tests.support.adk_contents import BUILDER, RELAYED_SUMMARY, contents_of, request_of
from tests.support.events import agent_called, agent_said, event, result_part, summary, tool_returned, user_said
from tests.support.requests import call_for

formats = pytest.mark.parametrize("relay_format", relay.FORMATS)


@formats
def test_the_search_goes_back_and_round(relay_format):
    """The events behind blocks are found in whatever order these stand, each event once, and of two the newer first."""
    events = [agent_said("scout", text) for text in ("Oslo.", "Rome.", "Oslo.", "Paris.")]
    contents = contents_of(events, "writer", relay_format=relay_format)
    assert _tie([(0, contents[0])], events)[0].event is events[2]
    for order in permutations(range(4)):
        tied = [block.event for block in _tie([*enumerate(contents[place] for place in order)], events)]
        assert [each.content for each in tied] == [events[place].content for place in order]
        assert set(map(id, tied)) == set(map(id, events))


SUMMARY = "The user asked for a report, and it was written."


def stamped(*events):
    for number, each in enumerate(events):
        each.timestamp = 1000.0 + number
    return list(events)


def built(events, relay_format):
    contents = contents_of(events, "writer", relay_format=relay_format, summary_form=RELAYED_SUMMARY)
    return request_of(contents), call_for("writer", events)


@formats
def test_a_summary_that_reads_like_what_an_agent_said_stays(relay_format):
    """Where an agent called `model` said what the summary says, nothing tells them apart, and none of them goes."""
    said = stamped(user_said("Write it."), agent_said("model", SUMMARY), agent_said("model", SUMMARY))
    events = [*said[:2], summary(SUMMARY, 1000.0, 1001.0, timestamp=1001.5), said[2]]
    request, call = built(events, relay_format)
    assert len(request.contents) == 2
    assert find_relayed(request.contents, call) == []
    once = StripForContext(keep_said=False).apply(request, call)
    assert once is request


@formats
def test_what_an_agent_called_model_said_is_a_block_like_any_other(relay_format):
    """Beside a summary that says something else, its blocks are known as its own."""
    said = stamped(user_said("Write it."), agent_said("model", "Done. " * 50), user_said("Thanks."))
    events = [said[0], summary(SUMMARY, 1000.0, 1000.0, timestamp=1000.5), *said[1:]]
    request, call = built(events, relay_format)
    assert [block.event for block in find_relayed(request.contents, call)] == [said[1]]


HANDLE = "2abcdefghjk"


@pytest.mark.parametrize(("response", "text"), [
    ({"a": 1, "b": [2]}, '{"a":1,"b":[2]}'), ({"result": "x" * 60}, f'"{"x" * 60}"'),
    ({"result": "x" * 61}, "x" * 61), ({"output": {"a": 1}}, '{"a":1}'),
    ({"result": 1, "more": 2}, '{"result":1,"more":2}'), ({"error": "no such table"}, "error: no such table"),
    ({"error": {"code": 3}}, '{"error":{"code":3}}'), ({"error": "no", "more": 2}, '{"error":"no","more":2}'),
    ("plain", '"plain"'), (None, "null"),
])  # fmt: skip
def test_the_whole_text(response, text):
    """A wrapper alone says nothing and is left out, and an error alone is one."""
    assert whole_text(response) == text


ROWS, LAST = [{"order": 4711 + n, "city": f"Oslo {n}", "open": True} for n in range(40)], "4750,Oslo 39"


@pytest.mark.parametrize(("response", "quoted", "cut"), [
    ({"rows": ROWS}, LAST, 0), ({"rows": ROWS[-20:], "text": "x" * 4000}, LAST, 1), ({"error": "x" * 9000}, "", 1),
    ({"rows": ROWS * 9}, "4711 to 4750", 1), ({"result": "## Part\n\nWords follow.\n\n" * 120}, "120 headings", 1),
    ({"result": '{"rows": [' + '{"order": 4711},' * 999 + '{"order": 4750}]}'}, '"rows\\":[{', 1),
    ({"_handle": HANDLE, "rows": ROWS[:9]}, '"order":4719', 0), ({"_handle": HANDLE, "rows": ROWS * 999}, "", 1),
])  # fmt: skip
def test_how_much_of_a_result_is_quoted(response, quoted, cut):
    """All rows in few words, else what the plugin would show. Stubs and errors stay whole."""
    written = ResultTexts(CastNarrative(max_result_chars=100, max_result_tokens=600)).of(response)
    assert quoted in written.text
    assert (bool(written.tokens), written.is_cut) == (bool(quoted), cut)


@pytest.mark.parametrize(("response", "handle"), [
    ({"_handle": HANDLE}, HANDLE), ({"_handle": "short"}, ""),
    ({"_handle": 7, "note": f'read it with handle: "{HANDLE}"'}, HANDLE),
    ({"_handle": HANDLE, "note": "handle='3abcdefghjk'"}, HANDLE), ({"note": "handle='IOIOIOIOIOI'"}, ""),
    ({"rows": [f"handle='{HANDLE}'"]}, ""), ([f"handle='{HANDLE}'"], ""), ({}, ""),
])  # fmt: skip
def test_the_handle_of_a_result(response, handle):
    """The first handle is the result's own, else one that one of its texts names."""
    assert handle_in(response) == handle


@formats
def test_the_oldest_of_equal_events_is_the_one_that_is_left_out(relay_format):
    """Of two events that read alike, a request that begins in the middle shows the newer one."""
    older, newer = agent_said("scout", "Oslo."), agent_said("scout", "Oslo.")
    contents = contents_of([newer], "writer", relay_format=relay_format)
    (block,) = find_relayed(contents, call_for("writer", [older, user_said("And now?"), newer]))
    assert block.event is newer


@formats
def test_what_is_left_of_a_block_is_tied_to_its_own_part(relay_format):
    """Of two results of one tool, of which a pass took the first away, the other keeps its source."""
    events = [event("scout", *(result_part("look", {"n": number}, f"c{number}") for number in range(2)))]
    (content,), call = contents_of(events, "writer", relay_format=relay_format), call_for("writer", events)
    assert len(find_relayed([content], call)[0].parts) == 2
    del content.parts[1]
    (block,) = find_relayed([content], call)
    assert block.parts[0].source is events[0].content.parts[1]


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

    warn_once.cache_clear()
    with patch.object(BUILDER, "_present_other_agent_message", present):
        yield


@pytest.mark.filterwarnings("ignore::adk_context_pack.UnknownRelayFormatWarning")
@pytest.mark.parametrize("preamble", [NEW, HALF_NEW])
def test_every_block_of_a_new_format_is_proved(preamble):
    """Each is tied to its event, part by part. What a user typed stays, byte for byte like a block or not."""
    with relaying(preamble):
        contents = contents_of(EVENTS, "writer")
        blocks = find_relayed(contents, call_for("writer", EVENTS))
        assert unknown_preamble() == preamble
        typed = user_said(*(part.text for part in contents[2].parts))
        events = [typed, user_said(preamble, "scout > Nothing of the kind."), *EVENTS]
        found = find_relayed(contents_of(events, "writer"), call_for("writer", events))
    assert [block.event for block in blocks] == EVENTS[1:]
    assert [part.kind for block in blocks for part in block.parts] == ["call", "result", "said"]
    assert [part.source for block in blocks for part in block.parts] == [e.content.parts[0] for e in EVENTS[1:]]
    assert [block.position for block in found] == [3, 4, 5]

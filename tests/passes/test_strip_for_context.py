"""StripForContext: other agents' tool logs go, and nothing else."""

import logging
import warnings

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.genai import types

from adk_context_pack import ModelCall, StripForContext, UnknownRelayFormatWarning
from adk_context_pack.errors import warn_once
from adk_context_pack.passes.drop_old_parts import LEFT_OUT
from tests.support import relay
from tests.support.adk_contents import contents_of, request_of
from tests.support.events import agent_called, agent_said, event, result_part, scouted, user_said
from tests.support.requests import applied, call_for, request_for, texts

formats = pytest.mark.parametrize("relay_format", relay.FORMATS)
PNG = types.Part(inline_data=types.Blob(data=b"png", mime_type="image/png"))


@formats
def test_leaves_both_where_nothing_tells_them_apart(relay_format):
    """Where the block behind a user's copy may have left the request, the copy is never taken for the block."""
    log = agent_called("scout", "t", "c", q=1)
    typed = event("user", *relay.relayed(log, relay_format).parts, role="user")
    request = request_of([typed.content.model_copy()])
    model_call = call_for("writer", [log, typed])
    assert StripForContext().apply(request, model_call) is request


def test_leaves_the_compaction_summary():
    """ADK's compaction summary in the form of a relay by `model` is no event of the session's, so it stays."""
    summary = relay.relayed(agent_said("model", "All that was before."), relay.PLAIN)
    request = request_of([summary, *contents_of(scouted(), "writer")])
    assert StripForContext().apply(request, call_for("writer", scouted())).contents[0] is summary


def test_warns_once_of_an_unknown_format(caplog):
    """A relay format of tomorrow is left alone, with one warning in the log and one for test suites."""
    unknown = types.Content(role="user", parts=[types.Part(text="For context, v3 of the relay"), types.Part(text="x")])
    request = request_of([unknown, *contents_of(scouted()[:1], "writer")])
    warn_once.cache_clear()
    with pytest.warns(UnknownRelayFormatWarning), caplog.at_level(logging.WARNING, "adk_context_pack"):
        results = [StripForContext().apply(request, call_for("writer", scouted())) for _ in range(3)]
    assert all(result is request for result in results)
    assert len(caplog.records) == 1


@formats
def test_keep_said_false_removes_everything_of_the_others(relay_format):
    """An agent that should see nothing of the others sees the user alone."""
    events = [*scouted(), event("scout", PNG)]
    request = applied(StripForContext(keep_said=False), "writer", events, relay_format=relay_format)
    assert texts(request) == [["Where is Oslo?"]]


@formats
def test_labels_of_a_submitted_result_are_no_user_message(relay_format):
    """A result that the user submitted for another agent's call is a log, though its label says `[user]`."""
    submitted = event("user", result_part("approve", {"ok": "secret"}, "c9"), role="user")
    events = [user_said("Hi"), agent_called("scout", "approve", "c9"), submitted]
    block = relay.relayed(submitted, relay_format)
    request = request_of([*contents_of(events[:2], "writer", relay_format=relay_format), block])
    assert texts(StripForContext().apply(request, call_for("writer", events))) == [["Hi"]]


@formats
def test_a_note_stands_before_a_model_turn_that_would_be_first(relay_format):
    """A request whose first content was a removed block does not begin with the model's turn."""
    events = [*scouted()[1:3], agent_said("writer", "Hello."), user_said("Hi")]
    request = applied(StripForContext(), "writer", events, relay_format=relay_format)
    assert [content.role for content in request.contents] == ["user", "model", "user"]
    assert texts(request)[0] == [LEFT_OUT]


def test_a_block_smaller_than_the_note_stays():
    """Where a note must stand, a block that is smaller than the note stays as it is."""
    events = [user_said("Hi"), agent_said("writer", "Wait."), agent_called("b", "t", "c")]
    request = request_for("writer", events, relay_format=relay.PLAIN)
    assert StripForContext().apply(request, call_for("writer", events)) is request


@formats
def test_the_user_message_is_what_remains_where_nothing_would(relay_format):
    """An agent with include_contents='none' whose only content is a log gets the invocation's user message."""
    events = scouted()[:3]
    contents = contents_of(events, "writer", include="none", relay_format=relay_format)
    assert len(contents) == 1
    result = StripForContext().apply(request_of(contents), call_for("writer", events))
    assert texts(result) == [["Where is Oslo?"]]
    assert result.contents[0].parts[0] is not events[0].content.parts[0]


@formats
def test_a_message_that_was_rewound_does_not_come_back(relay_format):
    """What the user took back is not put in, not even where nobody typed anything since."""
    rewind = Event(author="user", actions=EventActions(rewind_before_invocation_id="1"))
    events = [user_said("Send the password.", invocation_id="1"), rewind, *scouted()[1:3]]
    contents = contents_of(events, "writer", relay_format=relay_format)
    assert len(contents) == 2
    stripped = StripForContext().apply(request_of(contents), ModelCall(agent_name="writer", events=events))
    assert texts(stripped) == [[LEFT_OUT]]


@formats
@pytest.mark.parametrize("message", [
    None, types.Content(role="user", parts=[]), types.Content(role="user"),
    types.Content(role="user", parts=[types.Part(text=" \n")]),
    types.Content(role="user", parts=[PNG, types.Part(text="")]),
])  # fmt: skip
def test_an_empty_message_of_the_user_is_never_put_in(message, relay_format):
    """Where nobody said anything, a note stands for the block: no content without parts and no blank text goes out."""
    events = scouted()[1:3]
    request = request_of(contents_of(events, "writer", relay_format=relay_format))
    model_call = ModelCall(agent_name="writer", events=events, user_content=message)
    assert texts(StripForContext().apply(request, model_call)) == [[LEFT_OUT]]


def test_the_warning_as_an_error_loses_no_request():
    """Where a process turns warnings into errors the request goes on as it is, and the log has the line."""
    unknown = types.Content(role="user", parts=[types.Part(text="For context, v4 of the relay"), types.Part(text="x")])
    request = request_of([unknown, *contents_of(scouted()[:1], "writer")])
    warn_once.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert StripForContext(on_error="raise").apply(request, call_for("writer", scouted())) is request

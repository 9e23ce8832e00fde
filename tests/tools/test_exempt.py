"""What is never made smaller."""

import asyncio

import pytest
from google.adk.events.event_actions import EventActions

from adk_context_pack import ToolCall
from adk_context_pack.tools.exempt import is_stub, stays_whole


def exempt(tool, result, actions, call_id):
    return asyncio.run(stays_whole(result, ToolCall(tool_name=tool, actions=actions, call_id=call_id)))


def test_only_the_call_that_waits_exempt():
    """In an event of parallel calls, one that waits for a confirmation does not keep the others from being capped."""
    actions = EventActions()
    actions.requested_tool_confirmations["c1"] = object()
    assert exempt("search", {"rows": [1]}, actions, "c1")
    assert not exempt("search", {"rows": [1]}, actions, "c2")
    assert exempt("search", {"rows": [1]}, actions, None)


@pytest.mark.parametrize(
    ("result", "kept", "expected"),
    [
        ({"_row_limits": {}}, "rows:search:0123456789a", True),
        ({"_row_limits": {}, "_handle": "0123456789a"}, "rows:search:0123456789a", True),
        ({"_row_limits": {}, "_handle": "0000000000a"}, "rows:search:0123456789a", False),
        ({"_row_limits": {}, "_handle": "0123456789a"}, "city", False),
        ({"_row_limits": {}, "_handle": ["0123456789a"]}, "rows:search:0123456789a", False),
    ],
)
def test_only_what_was_kept_in_this_call_makes_a_stub(result, kept, expected):
    """A tool that writes the keys of a stub itself is capped like any other."""
    assert is_stub(result, ToolCall(tool_name="search", actions=EventActions(state_delta={kept: 1}))) is expected


@pytest.mark.parametrize("actions", [EventActions(), None])
def test_an_answer_to_the_user_stays_whole(actions):
    """A result that ends the turn (`skip_summarization`) is exempt, and a call without actions is like any other."""
    assert not exempt("search", {"rows": [1]}, actions, None)
    assert exempt("search", {"rows": [1]}, EventActions(skip_summarization=True), None)


class Odd(dict):
    """A result that cannot be looked at."""

    def get(self, *_):
        raise ZeroDivisionError("payload")


def test_a_result_that_cannot_be_looked_at_stays_whole(caplog):
    """An object whose methods fail passes as it is, and the log names the tool and no payload."""
    assert exempt("search", Odd(a=1), EventActions(), "c1")
    assert "search could not be looked at: ZeroDivisionError" in caplog.text
    assert "payload" not in caplog.text

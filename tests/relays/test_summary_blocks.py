"""Compaction summaries where ADK, up to 2.6.3, shows them as a block that an agent called `model` said."""

import pytest

from adk_context_pack import StripForContext
from adk_context_pack.relays.relayed_blocks import find_relayed
from tests.support import relay
from tests.support.adk_contents import RELAYED_SUMMARY, contents_of, request_of
from tests.support.events import agent_said, summary, user_said
from tests.support.requests import call_for

formats = pytest.mark.parametrize("relay_format", relay.FORMATS)
SUMMARY = "The user asked for a report, and it was written."


def stamped(*events):
    for number, event in enumerate(events):
        event.timestamp = 1000.0 + number
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

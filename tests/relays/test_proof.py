"""What was once proved of an event is remembered for that event alone."""

import pytest

from adk_context_pack.relays import proof
from adk_context_pack.relays.proof import prove
from tests.support import relay
from tests.support.events import tool_returned


@pytest.mark.parametrize("relay_format", relay.FORMATS)
def test_events_of_two_sessions_with_one_id_are_two_events(relay_format, monkeypatch):
    """Where a service counts ids in each session, what one session's event says proves nothing in another one."""
    monkeypatch.setattr(proof, "_proved", set())
    one = tool_returned("scout", "look_up", {"rows": [1, 2, 3]}, "c1", timestamp=1000.0)
    other = tool_returned("scout", "look_up", {"error": "quota"}, "c1", timestamp=2000.0)
    one.id = other.id = "1"
    block = relay.relayed(one, relay_format)
    assert [part.source for part in prove(block, one)] == one.content.parts
    assert prove(block, other) == []

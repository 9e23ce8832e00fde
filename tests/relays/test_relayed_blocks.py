"""find_relayed: which event of the session a relayed block is."""

from __future__ import annotations

import pytest

from adk_context_pack.relays.relayed_blocks import _search
from tests.support import relay
from tests.support.adk_contents import contents_of
from tests.support.events import agent_said

formats = pytest.mark.parametrize("relay_format", relay.FORMATS)


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

"""Many sessions at once in one app with one plugin: nothing crosses, and nothing is lost."""

import pytest

from adk_context_pack import ContextPackPlugin, PayloadStore
from tests.sessions.load_app import MARK, ROWS, Load
from tests.support.databases import kept_results

SESSIONS, TURNS = 40, 4


@pytest.mark.parametrize("place", ["state", "artifacts"])
async def test_nothing_crosses_and_nothing_is_lost(place):
    """Each model call is told of its own session alone, each handle opens its own rows, each turn is counted."""
    plugin = ContextPackPlugin(store=PayloadStore(place=place))
    load = Load(plugins=[plugin], settings={"seconds": 0.001})
    ids = [f"s{number}" for number in range(SESSIONS)]
    answers = await load.run(ids, TURNS)
    assert load.model.crossed == []
    for session_id, told in zip(ids, answers, strict=True):
        assert told == [str([[ROWS, MARK + session_id, MARK + session_id]])] * TURNS
        session = await load.stored(session_id)
        assert session.state["turns"] == TURNS
        assert len(kept_results(session.state)) == TURNS
        others = MARK + ("s1" if session_id != "s1" else "s2")
        assert f"'{others}'" not in str(session.state)
    assert plugin.reports.totals().calls == load.model.calls == SESSIONS * TURNS * 3
    assert {name: sums.calls for name, sums in plugin.reports.by_session().items()} == dict.fromkeys(ids, TURNS * 3)

"""Many sessions at once in one app with one plugin: nothing crosses, nothing is lost, nothing piles up."""

from __future__ import annotations

import gc
import logging

import pytest

from adk_context_pack import ContextPackPlugin, PayloadStore
from adk_context_pack.conversation import memos
from adk_context_pack.reports import call_reporter as prefix_memory
from adk_context_pack.reports import report_log
from tests.sessions.load_app import MARK, ROWS, Load
from tests.support.databases import kept_results

SESSIONS, TURNS = 40, 4
SPARE_OBJECTS = 300
"""What a wave of ten sessions may leave behind; one session of two turns has thousands."""


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


async def test_memory_is_flat_after_warm_up(monkeypatch):
    """Wave after wave of sessions that come and go leaves as many objects behind as the wave before."""
    # Its bounds are a thousand sessions; here they are reached with fewer.
    monkeypatch.setattr(report_log, "_MAX_WAITING", 20)
    monkeypatch.setattr(prefix_memory, "_MAX_AGENTS", 20)
    monkeypatch.setattr(memos, "SESSIONS", memos.SessionMemos(max_bytes=100_000))
    load = Load(plugins=[ContextPackPlugin(max_reports=20)], settings={"reads": False, "looks": False})
    logging.disable()  # pytest keeps every record of a test
    counts = []
    try:
        for wave in range(6):
            ids = [f"w{wave}-{number}" for number in range(10)]
            await load.run(ids, 2)
            await load.forget(ids)
            gc.collect()
            counts.append(len(gc.get_objects()))
    finally:
        logging.disable(logging.NOTSET)
    assert counts[-1] - counts[2] < SPARE_OBJECTS, counts

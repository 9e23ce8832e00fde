"""Two hundred sessions of twenty turns at once in one app with one plugin: nothing crosses, nothing is lost."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections import Counter
from types import FunctionType, ModuleType, SimpleNamespace

import pytest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions.base_session_service import BaseSessionService
from pydantic import BaseModel

from adk_context_pack import CapRows, ContextPackPlugin, PayloadStore, load_payload
from adk_context_pack.reports import call_report, token_use
from adk_context_pack.stores.byte_cache import CACHE
from adk_context_pack.stores.handles import stored_results
from tests.sessions import load_app
from tests.sessions.load_app import MARK, Load
from tests.support.databases import kept_results

# The whole load takes a minute or two, so that CI asks for it on one release; elsewhere the same with less.
SESSIONS, TURNS = (200, 20) if os.environ.get("WHOLE_LOAD") else (40, 6)
ROWS, WARM = 6, 3
SPARE_OBJECTS = 300
"""What may come and go between two looks; a session of twenty turns has tens of thousands of objects."""
NOT_HELD = (BaseModel, BasePlugin, BaseSessionService, ModuleType, FunctionType, type, logging.Logger)


@pytest.fixture
def load(monkeypatch):
    """An app whose plugin keeps back most of each result; what it remembers has bounds that a few turns reach."""
    monkeypatch.setattr(token_use, "_MAX_WAITING", 50)
    monkeypatch.setattr(call_report, "_MAX_BYTES", 20 * 5_000)
    monkeypatch.setattr(call_report.SIZES, "max_bytes", 70)
    # On some releases ADK tries to import what is not installed at each turn, and compiles it each time.
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    # Two hundred sessions are millions of objects; going through them again and again takes twice the time of the test.
    thresholds = gc.get_threshold()
    gc.set_threshold(200_000, 50, 100)
    logging.disable()  # pytest keeps every record of a test
    plugin = ContextPackPlugin(rows=CapRows(max_rows=2, store="state"), max_reports=50)
    yield Load(plugins=[plugin], rows=ROWS, settings={"reads": False})
    logging.disable(logging.NOTSET)
    gc.set_threshold(*thresholds)


async def test_many_sessions_of_many_turns(load):
    """Each answer is right, each stored result opens, each turn is counted, and the pack holds no more than before."""
    ids = [f"s{number}" for number in range(SESSIONS)]
    await load.open(ids)
    answers = await load.go_on(ids, range(WARM))
    early = held_by_the_pack(load)
    late = await load.go_on(ids, range(WARM, TURNS))
    grown = held_by_the_pack(load) - early
    assert sum(grown.values()) < SPARE_OBJECTS, grown.most_common(5)
    assert load.model.crossed == []
    assert load.model.calls == SESSIONS * TURNS * 2
    for session_id, first, rest in zip(ids, answers, late, strict=True):
        assert first + rest == [str([[2, MARK + session_id, MARK + session_id]])] * TURNS
        await assert_complete(await load.stored(session_id))


async def assert_complete(session) -> None:
    """Every turn is counted, and the whole result of each can be opened again."""
    assert session.state["turns"] == TURNS
    context = SimpleNamespace(session=session)
    opened = [await load_payload(context, result.handle) for result in stored_results(session.state)]
    assert sorted(int(result["turn"]) for result in opened) == list(range(TURNS))
    rows = [{"id": n, "owner": MARK + session.id, "amount": n / 4} for n in range(ROWS)]
    assert all(result["rows"] == rows for result in opened)


def held_by_the_pack(load: Load) -> Counter:
    """How many objects of the pack's own classes are alive, and how many objects of any class the pack holds on to."""
    # What is known of single sessions is bounded by its bytes, which has a test of its own.
    CACHE._items.clear()
    CACHE._bytes = 0
    gc.collect()
    ours = [each for each in gc.get_objects() if str(type(each).__module__).startswith("adk_context_pack.")]
    alive = Counter(type(each).__qualname__ for each in ours)
    modules = [vars(module) for name, module in sys.modules.items() if name.startswith("adk_context_pack")]
    return alive + Counter(held=reachable([*map(vars, load.plugins), *modules, *ours]))


def reachable(roots: list) -> int:
    """How many objects can be reached, without going through what ADK or the interpreter holds."""
    seen: set[int] = set()
    left = list(roots)
    while left:
        one = left.pop()
        if id(one) not in seen and not isinstance(one, NOT_HELD):
            seen.add(id(one))
            left += gc.get_referents(one)
    return len(seen)


@pytest.mark.parametrize("place", ["state", "artifacts"])
async def test_nothing_crosses_and_nothing_is_lost(place):
    """Each model call is told of its own session alone, each handle opens its own rows, each turn is counted."""
    sessions, turns = 40, 4
    plugin = ContextPackPlugin(store=PayloadStore(place=place))
    load = Load(plugins=[plugin], settings={"seconds": 0.001})
    ids = [f"s{number}" for number in range(sessions)]
    answers = await load.run(ids, turns)
    assert load.model.crossed == []
    for session_id, told in zip(ids, answers, strict=True):
        assert told == [str([[load_app.ROWS, MARK + session_id, MARK + session_id]])] * turns
        session = await load.stored(session_id)
        assert session.state["turns"] == turns
        assert len(kept_results(session.state)) == turns
        others = MARK + ("s1" if session_id != "s1" else "s2")
        assert f"'{others}'" not in str(session.state)
    assert plugin.reports.totals().calls == load.model.calls == sessions * turns * 3
    assert {name: sums.calls for name, sums in plugin.reports.by_session().items()} == dict.fromkeys(ids, turns * 3)

"""Large results are reduced, stored and opened beside the event loop, which goes on with everybody else's work."""

from __future__ import annotations

import gc
import re
import time

import pytest

from adk_context_pack import CapRows, OffloadPayload, QueryRows, ReadPayload
from adk_context_pack.stores import payload_store
from adk_context_pack.stores.handles import new_handle
from adk_context_pack.tools.wrap import wrap_tool
from tests.attacks.hostile import OddTool, heart, own_run
from tests.tools.test_query_rows import ask

pytestmark = pytest.mark.slow

ROWS = {"rows": [{"id": number, "name": f"row {number}", "v": number * 1.5} for number in range(60_000)]}
TREE = {"plan": {f"k{number}": {"n": number, "deep": {"t": "lorem ipsum " * 5}} for number in range(50_000)}}
LOG = "\n".join(f"2026-11-22 INFO line {number} of the log, all is well" for number in range(300_000))
CASES = {
    "rows": (CapRows(), ROWS, ("query_rows", {"sql": "SELECT count(*) FROM rows"})),
    "tree": (OffloadPayload(), TREE, ("read_payload", {"search": "k49999"})),
    "log": (OffloadPayload(), LOG, ("read_payload", {"search": "line 299999"})),
}


def handle_of(results):
    return re.search(r"handle(?:=\\?'|': ')(\w{11})", str(results[0]))[1]


async def loop_and_process_time(reduce, value, question):
    """The longest processor time that the loop's thread took in one go, and that of the whole process, in seconds."""
    name, args = question
    tools = [wrap_tool(OddTool("work", value), reduce), QueryRows(max_seconds=60), ReadPayload(max_seconds=60)]
    # A collection of all that earlier tests left would count as work.
    gc.freeze()
    before = time.process_time()
    async with heart() as beats:
        results, _ = await own_run([], tools, ("work", {}), (name, {"handle": handle_of, **args}))
    gc.unfreeze()
    assert "error" not in results[1]
    return max(beat.worked for beat in beats), time.process_time() - before


@pytest.mark.parametrize(("entry", "value", "question"), CASES.values(), ids=CASES)
async def test_the_loop_does_a_small_share_of_the_work(entry, value, question):
    """Of the work on a large result and on opening it, the event loop does less than a tenth in one go."""
    await loop_and_process_time(CapRows().reduce, {"rows": ROWS["rows"][:200]}, CASES["rows"][2])
    longest, whole = await loop_and_process_time(entry.reduce, value, question)
    assert longest < 0.1 * whole


@pytest.mark.parametrize("names", [("session_id", "s1", "s2"), ("user_id", "ann", "bob"), ("app_name", "one", "two")])
async def test_loaded_rows_are_kept_by_session(monkeypatch, names):
    """Where two sessions, users or apps have a result of the same handle, each gets its own rows."""
    handle = new_handle(10**9)
    monkeypatch.setattr(payload_store, "new_handle", lambda _: handle)
    setting, *values = names
    for number, value in enumerate(values):
        (reply,) = await ask([{"id": number}] * 9, "SELECT id, count(*) FROM rows", **{setting: value})
        assert reply["rows"] == [[number, 9]]

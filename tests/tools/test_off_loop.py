"""Large results are reduced, stored and opened beside the event loop, which goes on with everybody else's work."""

from __future__ import annotations

import asyncio
import re
import time

import pytest

from adk_context_pack import CapRows, OffloadPayload, QueryRows, ReadPayload
from adk_context_pack.tools.wrap import wrap_tool
from tests.attacks.hostile import OddTool, own_run

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
    slices = []
    beating = asyncio.create_task(heart(slices))
    before = time.process_time()
    name, args = question
    tools = [wrap_tool(OddTool("work", value), reduce), QueryRows(max_seconds=60), ReadPayload(max_seconds=60)]
    results, _ = await own_run([], tools, ("work", {}), (name, {"handle": handle_of, **args}))
    whole = time.process_time() - before
    await asyncio.sleep(0)
    beating.cancel()
    assert "error" not in results[1]
    return max(slices), whole


async def heart(slices):
    while True:
        before = time.thread_time()
        await asyncio.sleep(0.001)
        slices.append(time.thread_time() - before)


@pytest.mark.parametrize(("entry", "value", "question"), CASES.values(), ids=CASES)
async def test_the_loop_does_a_small_share_of_the_work(entry, value, question):
    """Of the work on a large result and on opening it, the event loop does less than a tenth in one go."""
    await loop_and_process_time(CapRows().reduce, {"rows": ROWS["rows"][:200]}, CASES["rows"][2])
    longest, whole = await loop_and_process_time(entry.reduce, value, question)
    assert longest < 0.1 * whole

"""Large results are reduced, stored and opened beside the event loop, which goes on with everybody else's work."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from google.adk.agents import LlmAgent

from adk_context_pack import CapRows, ContextPackPlugin, OffloadPayload, QueryRows, ReadPayload
from adk_context_pack.stores import payload_store
from adk_context_pack.stores.handles import new_handle
from adk_context_pack.tools.wrap import wrap_tool
from tests.attacks.hostile import OddTool, heart, own_run
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in
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
    before = time.process_time()
    async with heart() as beats:
        results, _ = await own_run([], tools, ("work", {}), (name, {"handle": handle_of, **args}))
    assert "error" not in results[1]
    return max(beat.worked for beat in beats), time.process_time() - before


@pytest.mark.parametrize(("entry", "value", "question"), CASES.values(), ids=CASES)
async def test_the_loop_does_a_small_share_of_the_work(entry, value, question):
    """Of the work on a large result and on opening it, the event loop does less than a tenth in one go."""
    await loop_and_process_time(CapRows().reduce, {"rows": ROWS["rows"][:200]}, CASES["rows"][2])
    longest, whole = await loop_and_process_time(entry.reduce, value, question)
    assert longest < 0.1 * whole


QUERIED_ROWS = [{"id": number, "note": f"row {number}"} for number in range(2000)]
STEPS = 1_000_000
COUNT = "SELECT count(*) FROM rows"
# Finite work in place of a time limit, so that a busy machine slows all users alike.
WORK = f"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT {STEPS}) SELECT {{}}, count(*) FROM c"


class Recorder(ThreadPoolExecutor):
    """A default executor that remembers what it was asked to run."""

    def __init__(self):
        super().__init__(max_workers=1)
        self.asked = []

    def submit(self, work, /, *args, **kwargs):
        self.asked.append(work)
        return super().submit(work, *args, **kwargs)


def eight_at_once(request):
    found = [result.response for result in results_in(request)]
    if not found:
        return call("work")
    if len(found) == 1:
        return [call("query_rows", handle=found[0]["_handle"], sql=WORK.format(number)) for number in range(8)]
    return "done"


async def answered_in_parallel():
    """The answers to eight parallel calls of one model, in order."""
    model = ScriptedModel(answer=eight_at_once)
    tools = [OddTool("work", {"rows": QUERIED_ROWS}), QueryRows(max_seconds=120)]
    agent = LlmAgent(name="actor", model=model, tools=tools)
    run = await run_agent(agent, "go", plugins=[ContextPackPlugin()], user_id="mallory")
    return [result.response["rows"] for result in results_in(run.requests[-1])[1:]]


async def test_eight_parallel_queries_are_answered_and_hold_nobody_up():
    """Eight queries of one user run one after the other; another user's and a host-name lookup are done before them."""
    loop, recorder = asyncio.get_running_loop(), Recorder()
    loop.set_default_executor(recorder)
    eight = asyncio.create_task(answered_in_parallel())
    while not (threads := query_threads()):  # noqa: ASYNC110 - no event tells that a thread has begun
        await asyncio.sleep(0.01)
    assert threads == 1
    query = ("query_rows", {"handle": lambda results: results[0]["_handle"], "sql": COUNT})
    results, _ = await own_run(
        [ContextPackPlugin()],
        [OddTool("work", {"rows": QUERIED_ROWS}), QueryRows()],
        ("work", {}),
        query,
        user_id="bob",
    )
    await loop.getaddrinfo("localhost", 80)
    assert not eight.done()
    assert results[1]["rows"] == [[len(QUERIED_ROWS)]]
    # Seven queries wait at this moment, and none of them in a thread.
    assert query_threads() == 1
    assert await eight == [[[number, STEPS]] for number in range(8)]
    assert [work.__name__ for work in recorder.asked] == ["getaddrinfo"]


def query_threads():
    return [thread.name for thread in threading.enumerate()].count("context-pack-query")


@pytest.mark.parametrize("names", [("session_id", "s1", "s2"), ("user_id", "ann", "bob"), ("app_name", "one", "two")])
async def test_loaded_rows_are_kept_by_session(monkeypatch, names):
    """Where two sessions, users or apps have a result of the same handle, each gets its own rows."""
    handle = new_handle(10**9)
    monkeypatch.setattr(payload_store, "new_handle", lambda _: handle)
    setting, *values = names
    for number, value in enumerate(values):
        (reply,) = await ask([{"id": number}] * 9, "SELECT id, count(*) FROM rows", **{setting: value})
        assert reply["rows"] == [[number, 9]]

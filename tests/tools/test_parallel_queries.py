"""Many queries at once on one handle: they queue without a thread, and nobody else waits for them."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from google.adk.agents import LlmAgent

from adk_context_pack import ContextPackPlugin, QueryRows
from adk_context_pack.stores import payload_store
from adk_context_pack.stores.handles import new_handle
from tests.attacks.hostile import OddTool, own_run
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in
from tests.tools.test_query_rows import ask

pytestmark = pytest.mark.slow

ROWS = [{"id": number, "note": f"row {number}"} for number in range(2000)]
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
    tools = [OddTool("work", {"rows": ROWS}), QueryRows(max_seconds=120)]
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
        [ContextPackPlugin()], [OddTool("work", {"rows": ROWS}), QueryRows()], ("work", {}), query, user_id="bob"
    )
    await loop.getaddrinfo("localhost", 80)
    assert not eight.done()
    assert results[1]["rows"] == [[len(ROWS)]]
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

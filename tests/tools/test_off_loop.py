"""Large results are reduced, stored and opened beside the event loop, which goes on with everybody else's work."""

import gc
import re
import time

import pytest
from google.adk.agents import LlmAgent
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from adk_context_pack import (
    CapRows,
    ContextPackPlugin,
    ContextPipeline,
    FitTokenBudget,
    HistorySummarizer,
    OffloadPayload,
    QueryRows,
    ReadPayload,
    RecallMemory,
)
from adk_context_pack.stores import payload_store
from adk_context_pack.stores.handles import new_handle
from adk_context_pack.tools.wrap import wrap_tool
from tests.attacks.hostile import OddTool, heart, own_run
from tests.support.histories import many_turns
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel
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


class Steps:
    """Awaits what a method returns, and keeps the longest processor time of a step and that of the process in all."""

    def __init__(self, awaited):
        self.awaited, self.longest, self.begun = awaited, 0.0, time.process_time()

    def __await__(self):
        steps, sent = self.awaited.__await__(), None
        while True:
            before = time.thread_time()
            try:
                waits = steps.send(sent)
            except StopIteration as end:
                return end.value
            finally:
                self.longest = max(self.longest, time.thread_time() - before)
                self.whole = time.process_time() - self.begun
            sent = yield waits


async def remembered(*_, **__):
    texts = [" ".join(f"thing{number * word % 997}" for word in range(100)) for number in range(2000)]
    return SearchMemoryResponse(memories=[MemoryEntry(content=types.UserContent(text)) for text in texts])


async def test_the_loop_does_a_small_share_of_the_work_over_a_long_history(monkeypatch):
    """Of the passes over 3,000 events, their summary and a recall, the loop does less than a fifth in one go."""
    monkeypatch.setattr(InMemoryMemoryService, "search_memory", remembered)
    taken = {}

    def watch(owner, name):
        method = getattr(owner, name)

        async def watched(*args, **kwargs):
            steps = taken[owner.__name__] = Steps(method(*args, **kwargs))
            return await steps

        monkeypatch.setattr(owner, name, watched)

    watch(ContextPackPlugin, "before_model_callback")
    watch(ContextPipeline, "__call__")
    watch(FitTokenBudget, "__call__")
    watch(RecallMemory, "prepare")
    watch(HistorySummarizer, "maybe_summarize_events")
    sessions, events, fit = InMemorySessionService(), many_turns(500), FitTokenBudget(max_tokens=10**7)
    callbacks = [fit, ContextPipeline([fit]), RecallMemory()]
    agent = LlmAgent(name="a", model=ScriptedModel(answer=lambda _: "ok"), before_model_callback=callbacks)
    session = await sessions.create_session(app_name="app", user_id="user", session_id="session")
    for event in events:
        await sessions.append_event(session, event)
    gc.freeze()
    await run_agent(agent, "Of thing1, thing2 and thing4?", plugins=[ContextPackPlugin()], session_service=sessions)
    await HistorySummarizer().maybe_summarize_events(events=events)
    gc.unfreeze()
    assert len(taken) == 5
    assert {name: each.longest for name, each in taken.items() if each.longest > 0.2 * each.whole} == {}


@pytest.mark.parametrize("names", [("session_id", "s1", "s2"), ("user_id", "ann", "bob"), ("app_name", "one", "two")])
async def test_loaded_rows_are_kept_by_session(monkeypatch, names):
    """Where two sessions, users or apps have a result of the same handle, each gets its own rows."""
    handle = new_handle(10**9)
    monkeypatch.setattr(payload_store.handles, "new_handle", lambda _: handle)
    setting, *values = names
    for number, value in enumerate(values):
        (reply,) = await ask([{"id": number}] * 9, "SELECT id, count(*) FROM rows", **{setting: value})
        assert reply["rows"] == [[number, 9]]

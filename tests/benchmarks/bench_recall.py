"""Measures what memory adds to a turn: `python -m tests.benchmarks.bench_recall`.

Ingestion: turns with a memory service that takes two seconds, with `IngestMemory` and without any plugin. Recall: turns
with `RecallMemory` over a service that answers at once with 50 memories, and without it.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from adk_context_pack import IngestMemory, RecallMemory
from tests.support.scripted_model import ScriptedModel

TURNS, ROUNDS, SECONDS = 30, 3, 2.0


class Slow(BaseMemoryService):
    """Takes its time to store, and finds 50 memories at once."""

    def __init__(self) -> None:
        self.stored = 0

    async def add_session_to_memory(self, session: Any) -> None:
        await asyncio.sleep(SECONDS)
        self.stored += len(session.events)

    async def add_events_to_memory(self, *, events: Sequence[Any], **_: Any) -> None:
        await asyncio.sleep(SECONDS)
        self.stored += len(events)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        texts = (f"Fact {n} about message {n}, and what else was said about it. " * 5 for n in range(50))
        return SearchMemoryResponse(memories=[MemoryEntry(content=types.UserContent(text)) for text in texts])


async def turns(plugins: Sequence[Any] = (), passes: Sequence[Any] = ()) -> list[float]:
    """Milliseconds of each turn of one session."""
    memory, sessions = Slow(), InMemorySessionService()
    session = await sessions.create_session(app_name="app", user_id="user")
    agent = LlmAgent(name="a", model=ScriptedModel(answer=lambda _: "Noted."), before_model_callback=list(passes))
    app = App(name="app", root_agent=agent, plugins=list(plugins))
    runner = Runner(app=app, session_service=sessions, memory_service=memory)
    spent = []
    for number in range(TURNS):
        start = time.perf_counter()
        message = types.UserContent(f"Message {number} asks for something new.")
        async for _ in runner.run_async(user_id="user", session_id=session.id, new_message=message):
            pass
        spent.append((time.perf_counter() - start) * 1000)
    for plugin in plugins:
        await plugin.close()
    return spent


async def main() -> None:
    """Prints the median turn of each kind, and what it adds."""
    bare, ingesting, recalling = [], [], []
    for _ in range(ROUNDS):
        bare += await turns()
        ingesting += await turns(plugins=[IngestMemory()])
        recalling += await turns(passes=[RecallMemory()])
    base = statistics.median(bare)
    print(f"without memory   {base:.2f} ms a turn")
    for name, spent in (("ingestion", ingesting), ("recall", recalling)):
        print(f"with {name:11} {statistics.median(spent):.2f} ms a turn: {statistics.median(spent) - base:+.2f} ms")


if __name__ == "__main__":
    asyncio.run(main())

"""IngestMemory: each event reaches the memory service once, and no run waits for it."""

import asyncio
import logging

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.apps.app import App
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.version import __version__
from google.genai import types

from adk_context_pack import IngestMemory
from tests.support.scripted_model import ScriptedModel


class Whole(BaseMemoryService):
    """A service that takes whole sessions, slowly or only after some failures."""

    def __init__(self, *, seconds=0.0, failures=0):
        self.seconds, self.failures, self.got = seconds, failures, []

    async def add_session_to_memory(self, session):
        await self._take(session.events)

    async def _take(self, events):
        await asyncio.sleep(self.seconds)
        if self.failures:
            self.failures -= 1
            raise ConnectionError("gone")
        self.got.append([event.id for event in events])

    async def search_memory(self, *, app_name, user_id, query):
        return SearchMemoryResponse()


class Single(Whole):
    """The same for single events."""

    async def add_events_to_memory(self, *, app_name, user_id, events, session_id=None, custom_metadata=None):
        await self._take(events)


async def run(memory, plugin, turns=1, *, between=None):
    """Runs turns of one session, and gives the ids of its events and the longest turn in seconds."""
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="app", user_id="user")
    agent = LlmAgent(name="a", model=ScriptedModel(answer=lambda _: "Noted."))
    # ADK 2.0 calls no plugin after a run whose root is a lone LlmAgent.
    root = SequentialAgent(name="root", sub_agents=[agent]) if __version__.startswith("2.0.") else agent
    runner = Runner(
        app=App(name="app", root_agent=root, plugins=[plugin]), session_service=sessions, memory_service=memory
    )
    for number in range(turns):
        content = types.UserContent(f"message {number}")
        async for _ in runner.run_async(user_id="user", session_id=session.id, new_message=content):
            pass
        if between is not None:
            await between()
    stored = await sessions.get_session(app_name="app", user_id="user", session_id=session.id)
    return [event.id for event in stored.events]


async def test_each_event_arrives_once():
    """A service for single events gets each event once, turn by turn."""
    memory, plugin = Single(), IngestMemory()
    ids = await run(memory, plugin, 3, between=lambda: asyncio.sleep(0.01))
    await plugin.close()
    assert [event for got in memory.got for event in got] == ids
    assert len(memory.got) == 3


async def test_another_service_gets_the_whole_session():
    """A service without single events gets the session as it is after the run."""
    memory, plugin = Whole(), IngestMemory()
    ids = await run(memory, plugin, 2, between=lambda: asyncio.sleep(0.01))
    await plugin.close()
    assert memory.got == [ids[:2], ids]


async def test_what_is_refused_in_the_end_comes_with_the_next_run(caplog):
    """The session keeps everything, the log says so without a payload, and the next run sends all of it."""
    memory, plugin = Single(failures=2), IngestMemory(max_attempts=2, pause_seconds=0.001)
    ids = await run(memory, plugin, 2, between=lambda: asyncio.sleep(0.05))
    await plugin.close()
    assert memory.got == [ids]
    assert "sent again after its next run" in caplog.text
    assert "message" not in caplog.text.replace("adk_context_pack", "")


async def test_what_waits_is_bounded(caplog):
    """Beyond the bound the session that has waited longest goes, and the log says so."""
    caplog.set_level(logging.WARNING)
    memory, plugin = Single(seconds=0.2), IngestMemory(max_waiting=1)
    for _ in range(4):
        await run(memory, plugin)
    await plugin.close()
    assert "too many sessions wait" in caplog.text
    assert len(memory.got) < 4


async def test_works_with_adks_in_memory_service():
    """What a run said is found by ADK's own service afterwards."""
    memory, plugin = InMemoryMemoryService(), IngestMemory()
    await run(memory, plugin)
    await plugin.close()
    found = await memory.search_memory(app_name="app", user_id="user", query="message")
    assert [entry.content.parts[0].text for entry in found.memories] == ["message 0"]

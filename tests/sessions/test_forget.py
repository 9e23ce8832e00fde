"""What the pack keeps of a session is gone on request: from memory, workers, database and artifacts."""

import asyncio
import gc
import sqlite3
from contextlib import closing
from pathlib import Path
from types import CodeType, FrameType, SimpleNamespace

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.runners import Runner
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.genai import types

from adk_context_pack import (
    ContextPackPlugin,
    IngestMemory,
    RecallMemory,
    default_passes,
    load_payload,
    query_rows,
    read_payload,
    search_history,
)
from adk_context_pack.errors import SettingError, StoreError
from adk_context_pack.sql.worker_pool import shared_pool
from adk_context_pack.stores.handles import stored_results
from adk_context_pack.testing import ScriptedModel, call, results_in
from tests.support.kept import Shelf

SECRET, BESIDE = "Zanzibarova", "Quokkaberger"


class Away(BaseMemoryService):
    """A memory service that recalls something and takes nothing."""

    async def add_session_to_memory(self, session):
        raise ConnectionError

    async def search_memory(self, *, app_name, user_id, query):
        told = f"{user_id} lives in {SECRET if user_id == 'ann' else BESIDE} street."
        return SearchMemoryResponse(memories=[MemoryEntry(content=types.UserContent(told))])


def list_people(who: str) -> dict:
    """Lists people."""
    return {"rows": [{"id": n, "name": f"{who}{n}", who: n} for n in range(3000)]}


def read_letter(who: str) -> dict:
    """Reads a letter."""
    return {"letter": f"Dear {who}, " + "this is a long letter. " * 3000, "to": who}


def answer(request):
    asked = [part.text for content in request.contents for part in content.parts if part.text and "go " in part.text]
    who = asked[-1].rpartition("go ")[2].split()[0]
    rows, letters = results_in(request, "list_people"), results_in(request, "read_letter")
    if not letters:
        return [call("list_people", who=who), call("read_letter", who=who)]
    done = [len(results_in(request, name)) for name in ("query_rows", "read_payload", "search_history")]
    if not any(done):
        return [
            call("query_rows", handle=rows[0]["_handle"], sql=f"SELECT name FROM rows WHERE name = '{who}7'"),
            call("read_payload", handle=letters[0]["letter"].split("'")[1], search=who),
            call("search_history", query=f"who is {who}"),
        ]
    return f"Noted, {who}."


async def app(tmp_path: Path, store: object = "auto", users: tuple[str, ...] = ("ann", "bob")):
    """An app that two users have used, one of whom has a secret."""
    model = ScriptedModel(answer=answer)
    agent = LlmAgent(name="a", model=model, tools=[list_people, read_letter, query_rows, read_payload, search_history])
    passes = [*default_passes(max_tokens=50_000), RecallMemory()]
    plugins = [
        ContextPackPlugin(passes=passes, store=store, keep_requests=True),
        IngestMemory(pause_seconds=600, close_seconds=0),
    ]
    services = {
        "session_service": DatabaseSessionService(f"sqlite+aiosqlite:///{tmp_path}/sessions.db"),
        "artifact_service": InMemoryArtifactService(),
        "memory_service": Away(),
    }
    runner = Runner(app=App(name="app", root_agent=agent, plugins=plugins), **services)
    for user in users:
        await runner.session_service.create_session(app_name="app", user_id=user, session_id="s")
        said = types.UserContent(f"go {SECRET if user == 'ann' else BESIDE}")
        async for _ in runner.run_async(user_id=user, session_id="s", new_message=said):
            pass
    return runner, plugins[0]


def holders(word: str) -> list[str]:
    """What in this process holds a word, in whatever case: the kinds of containers, but for frames and their names."""
    gc.collect()
    everything = gc.get_objects()
    seen, found, left = {id(everything)}, [], list(everything)
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, FrameType | CodeType):
            continue
        seen.add(id(one))
        for each in gc.get_referents(one):
            if isinstance(each, str | bytes):
                if len(each) < len(word):
                    continue
                text = each if isinstance(each, str) else each.decode(errors="replace")
                found += [str(type(one))] * (word.casefold() in text.casefold())
            elif not gc.is_tracked(each):
                left.append(each)
    return found


def workers_that_hold(word: str) -> list[int]:
    """The worker processes of the pack with a word anywhere in their memory."""
    found = []
    for process in shared_pool()._all:
        if (child := process._process) is not None and child.poll() is None:
            with Path(f"/proc/{child.pid}/maps").open() as maps, Path(f"/proc/{child.pid}/mem").open("rb") as memory:
                for line in maps:
                    area, access, *_ = line.split()
                    if access.startswith("rw"):
                        start, end = (int(part, 16) for part in area.split("-"))
                        memory.seek(start)
                        found += [child.pid] * (word.encode() in memory.read(end - start))
    return found


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="reads the memory of processes as Linux shows it")
@pytest.mark.parametrize(("place", "way"), [
    ("auto", "user"), ("auto", "delete_session"), ("state", "session"), ("own", "delete_session"), ("own", "user"),
])  # fmt: skip
async def test_what_was_forgotten_is_nowhere(tmp_path, place, way):
    """A secret that is in every place is in none afterwards, and the other user's results are all still there."""
    store = Shelf() if place == "own" else place
    runner, plugin = await app(tmp_path, store)
    sessions, artifacts = runner.session_service, runner.artifact_service
    assert len(holders(SECRET)) > 20
    if way == "delete_session":
        await sessions.delete_session(app_name="app", user_id="ann", session_id="s")
    else:
        await plugin.forget(app_name="app", user_id="ann", session_id="s" if way == "session" else None)
        left = await sessions.get_session(app_name="app", user_id="ann", session_id="s")
        assert not stored_results(left.state)
        await sessions.delete_session(app_name="app", user_id="ann", session_id="s")
        del left
    await asyncio.sleep(0.01)
    runner.agent.model.requests.clear()
    # The one holder is this module, whose constant it is.
    assert len(holders(SECRET)) == 1
    assert not workers_that_hold(SECRET)
    with closing(sqlite3.connect(tmp_path / "sessions.db")) as database:
        assert SECRET not in "".join(database.iterdump())
    kept = {**artifacts.artifacts, **({} if place != "own" else store.kept)}
    assert not any("ann" in str(key) or SECRET in str(value) for key, value in kept.items())
    other = await sessions.get_session(app_name="app", user_id="bob", session_id="s")
    context = SimpleNamespace(session=other, artifact_service=artifacts)
    opened = [str(await load_payload(context, result.handle)) for result in stored_results(other.state)]
    assert [BESIDE in text for text in opened] == [True, True]
    assert [report.user_id for report in plugin.reports] == ["bob"] * 3
    await runner.close()


async def test_a_store_that_fails_is_named_and_the_rest_is_gone(tmp_path):
    """What cannot be removed is said, with the store, and a second call removes it."""
    store = Shelf()
    _, plugin = await app(tmp_path, store, users=("ann",))
    store.delete, delete = None, store.delete
    with pytest.raises(StoreError, match=r"shelf failed \(StoreError\).*Call forget again"):
        await plugin.forget(app_name="app", user_id="ann")
    assert len(plugin.reports) == 0
    assert store.kept
    store.delete = delete
    await plugin.forget(app_name="app", user_id="ann")
    assert not store.kept


async def test_without_services_it_says_what_it_needs():
    """A plugin that has seen no run asks for the runner."""
    with pytest.raises(SettingError, match="runner"):
        await ContextPackPlugin().forget(app_name="app", user_id="ann")

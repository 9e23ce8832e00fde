"""Keeping full results: where, how long, for whom, and what happens when it cannot be done."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from contextlib import closing
from functools import partial

import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts.file_artifact_service import FileArtifactService
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.runners import Runner
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack import DataSummarizer, HandleError, PayloadStore, StoreError, cap_rows, load_payload
from adk_context_pack.stores import handles, payload_store
from adk_context_pack.stores.handles import find_result, is_handle, new_handle, state_key, stored_results
from adk_context_pack.stores.payload_store import resolve
from tests.support.in_tool import in_tool
from tests.support.kept import Shelf, kept_artifacts
from tests.support.run import APP, SERVICES, SESSION, USER, run_agent, session_service
from tests.support.scripted_model import ScriptedModel, call, results_in

ROWS = [{"id": i, "name": f"row {i}"} for i in range(50)]
PLACES = ("auto", "state", "artifacts")


@pytest.mark.parametrize("place", PLACES)
async def test_what_is_kept_comes_back(place):
    """JSON values come back as they were from every place, lookalikes of pointers among them."""

    async def act(context):
        lookalikes = {"stored": "expired"}, {"stored": "text", "text": "1"}, {"stored": "key", "key": "x"}
        for kept in (None, "", [], {"": [1.5, {"é": [True]}]}, *lookalikes):
            handle = await PayloadStore(place=place).put(context, kept, tool_name="t")
            assert await load_payload(context, handle) == kept

    await in_tool(act)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in SERVICES if kind != "memory"])
@pytest.mark.parametrize("place", PLACES)
async def test_a_handle_survives_a_restart_and_works_in_a_second_process(kind, place, tmp_path):
    """With services over the same data, another session service and another artifact service open the handle."""
    artifacts = partial(FileArtifactService, root_dir=str(tmp_path / "artifacts"))
    value = [ROWS, {"a": math.inf, "b": "x\0\u2028\ud800", "c": 2**70, "d": "é" * 40_000}]
    put = partial(PayloadStore(place=place).put, value=value, tool_name="t")
    async with session_service(kind, tmp_path) as sessions:
        handle = await in_tool(put, session_service=sessions, artifact_service=artifacts())
    async with session_service(kind, tmp_path) as sessions:
        load = partial(load_payload, handle=handle)
        assert await in_tool(load, session_service=sessions, artifact_service=artifacts()) == value


@pytest.mark.parametrize(
    "name", ["user:rows-t.json", "../../x/rows-t.json", "rows-../x.json", "/etc/passwd", "a", "", 7, "rows-t.json\n"]
)
async def test_a_forged_pointer_opens_no_file(name):
    """A pointer in state that names a file of the user's, of another session or outside is refused unread."""
    artifacts = InMemoryArtifactService()
    part = types.Part(inline_data=types.Blob(mime_type="application/json", data=b'"secret"'))
    if isinstance(name, str) and name:
        await artifacts.save_artifact(
            app_name="app", user_id="user", session_id="session", filename=name.replace("..", "x"), artifact=part
        )
    pointer = {"stored": "artifact", "artifact": name, "bytes": 8, "sha256": "0" * 64}
    state = {"rows:t:2pw92fpz5qx": pointer}
    with pytest.raises(HandleError, match="no stored result"):
        await in_tool(lambda c: load_payload(c, "2pw92fpz5qx"), state=state, artifact_service=artifacts)


@pytest.mark.parametrize("place", PLACES)
async def test_a_key_of_ones_own_holds_the_newest_result(place):
    """A chosen key holds the result or its pointer; the handle of the one it replaced says that it has expired."""

    async def act(context):
        store = PayloadStore(place=place)
        first = await store.put(context, ROWS, tool_name="t", key="results:a")
        second = await store.put(context, [1], tool_name="t", key="results:a")
        third = await store.put(context, [2], tool_name="t", key="results:b")
        with pytest.raises(HandleError, match="has expired"):
            await load_payload(context, first)
        assert await resolve(context.session.state["results:a"], context) == [1]
        return [await load_payload(context, handle) for handle in (second, third)], len(await kept_artifacts(context))

    loaded, artifacts = await in_tool(act)
    assert loaded == [[1], [2]]
    assert artifacts == (2 if place == "artifacts" else 0)


@pytest.mark.parametrize("place", [*PLACES, Shelf()])
async def test_the_oldest_expire_and_say_so(place, monkeypatch):
    """Above max_results the oldest goes, with its artifact or object; its handle says that it has expired."""
    now = [1_800_000_000]
    monkeypatch.setattr(payload_store.time, "time", lambda: now[0])

    async def act(context):
        found = []
        for number in range(5):
            now[0] += 1
            found.append(await PayloadStore(place=place, max_results=3).put(context, [number], tool_name="t"))
        for handle in found[:2]:
            with pytest.raises(HandleError, match="has expired"):
                await load_payload(context, handle)
        assert [result.handle for result in stored_results(context.session.state)] == found[2:]
        kept = [*await kept_artifacts(context), *getattr(place, "kept", ())]
        return [await load_payload(context, handle) for handle in found[2:]], len(kept)

    loaded, kept = await in_tool(act)
    assert loaded == [[2], [3], [4]]
    assert kept == (0 if place in ("auto", "state") else 3)


async def test_old_results_expire_without_another_one(monkeypatch):
    """Past max_age_s a handle has expired, although nothing was stored since; a store without a limit keeps its own."""
    now = [1_800_000_000]
    monkeypatch.setattr(handles.time, "time", lambda: now[0])

    async def act(context):
        aged = await PayloadStore(max_age_s=60).put(context, [1], tool_name="t")
        ageless = await PayloadStore().put(context, [2], tool_name="t")
        now[0] += 60
        assert await load_payload(context, aged) == [1]
        now[0] += 1
        with pytest.raises(HandleError, match="has expired"):
            await load_payload(context, aged)
        await PayloadStore(max_age_s=60).put(context, [3], tool_name="t")
        assert [1] not in context.session.state.values()
        return await load_payload(context, ageless)

    assert await in_tool(act) == [2]


async def test_a_handle_is_never_given_twice(monkeypatch):
    """Two results whose random handles are the same by chance get two."""
    made = iter(["27000000000", "27000000000", "27000000000", "27000000001"])
    monkeypatch.setattr(payload_store.handles, "new_handle", lambda _: next(made))

    async def act(context):
        found = [await PayloadStore().put(context, [number], tool_name="t") for number in range(2)]
        return found, [await load_payload(context, handle) for handle in found]

    assert await in_tool(act) == (["27000000000", "27000000001"], [[0], [1]])


NOW = 1_800_000_000


@given(st.integers(1_704_067_200, 1_704_067_200 + 2**30 - 1))
def test_a_handle_holds_its_second(now):
    """Later handles sort after earlier ones, and each has five digits or six."""
    handle = new_handle(now)
    assert is_handle(handle)
    assert sum(map(str.isdigit, handle)) == max(5, sum(map(str.isdigit, handle[:6])))
    assert handle[:6] <= new_handle(now + 1)[:6] or now == 1_704_067_200 + 2**30 - 1


@given(st.text(), st.sampled_from(("rows", "payload")))
def test_a_result_is_found_by_its_handle_whatever_its_tool_is_called(tool_name, kind):
    """Colons, control characters and anything else in a tool's name do not hide or fake a result."""
    handle = new_handle(NOW)
    state = {state_key(kind, tool_name, handle): [1], "other": 2, f"rows:x:{handle}y": 3, f"user:rows:t:{handle}": 4}
    found = find_result(state, handle)
    assert (found.tool_name, found.kind, state[found.key]) == (tool_name, kind, [1])
    assert stored_results(state, tool_name=tool_name) == [found]
    assert stored_results(state, tool_name=tool_name + "x") == []


def noise(size: int) -> str:
    """Returns text that zlib cannot make smaller than its bytes."""
    return os.urandom(size // 2).hex()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["state", "artifacts"])
async def test_the_state_of_a_session_fits_into_a_document(place, tmp_path):
    """With a limit, what the session service really stores as state is below it, marks of expired results included."""
    limit, sizes = 15_000, []
    store = PayloadStore(place=place, max_session_bytes=limit, max_age_s=3_600)

    def list_rows(number: int) -> dict:
        """Lists rows."""
        rows = [{"id": n, "text": noise(40), "é": n / 7} for n in range(40 + number % 30)]
        return {"rows": rows if number % 3 else [noise(20)] * 11}

    def answer(request):
        found = len(results_in(request))
        return [call("list_rows", number=found + n) for n in range(2)] if found < 80 else "done"

    def look(request):
        with closing(sqlite3.connect(tmp_path / "sessions.sqlite")) as connection:
            sizes.append(len(connection.execute("SELECT state FROM sessions").fetchone()[0].encode()))
        return answer(request)

    agent = LlmAgent(
        name="a", model=ScriptedModel(answer=look), tools=[cap_rows(list_rows, max_rows=5, store=store, facts=False)]
    )
    async with session_service("sqlite", tmp_path) as sessions:
        run = await run_agent(agent, "go", session_service=sessions)
        live = {result.handle for result in stored_results(run.session.state)}
        stubs = [result.response["_handle"] for result in results_in(run.requests[-1])]
    assert limit / 3 < max(sizes) < limit
    assert {*stubs[-2:]} <= live < {*stubs}
    assert 1 < len(live) < len(stubs) == 80


async def test_where_marks_fill_a_session_nothing_more_is_kept():
    """Marks of expired results count as well, and where nothing fits beside them the tool's result is not kept."""

    async def act(context):
        store = PayloadStore(place="state", max_session_bytes=1_000)
        refused = ""
        for _ in range(40):
            try:
                await store.put(context, [1] * 50, tool_name="t")
            except StoreError as error:
                refused = str(error)
        assert "larger than what the session may hold (1,000 bytes, of which marks of expired results take" in refused
        return len(json.dumps(dict(context.session.state)))

    assert 800 < await in_tool(act) < 1_000


@pytest.mark.parametrize("service", ["sqlite", "database"])
async def test_an_expired_result_stays_expired_after_a_restart(service, tmp_path):
    """A service that merges the mark of an expired result into its entry does not make it a result again."""

    async def keep(context):
        found.append(await store.put(context, [len(found)] * 500, tool_name="t"))

    async def look(context):
        assert await load_payload(context, found[-1]) == [1] * 500
        with pytest.raises(HandleError, match="has expired"):
            await load_payload(context, found[0])
        return [result.handle for result in stored_results(context.session.state)]

    found, store = [], PayloadStore(place="state", max_results=1)
    for action in (keep, keep, look):
        async with session_service(service, tmp_path) as sessions:
            last = await in_tool(action, session_service=sessions)
    assert last == found[1:]


@pytest.mark.parametrize("entry", [[{"id": 1}], {"stored": "text", "text": '[{"id":1}]'}], ids=["objects", "text"])
async def test_what_version_0_1_0_stored_is_read(entry):
    """Results that stand in state as they are, or as plain text, open by their handle, and expire like others."""
    state = {"rows:t:0123456789a": entry}

    async def act(context):
        found = await load_payload(context, "0123456789a")
        await PayloadStore(place="state", max_results=1).put(context, [2], tool_name="t")
        with pytest.raises(HandleError, match="has expired"):
            await load_payload(context, "0123456789a")
        return found

    assert await in_tool(act, state=state) == [{"id": 1}]


async def test_what_a_rewind_took_back_is_gone():
    """ADK leaves None in place of annulled state: a handle and a summary say so, as they do of an unknown form."""

    def list_rows() -> dict:
        """Lists rows."""
        return {"rows": [{"id": n, "amount": n} for n in range(300)]}

    model = ScriptedModel(answer=lambda request: "done" if results_in(request) else call("list_rows"))
    agent = LlmAgent(name="a", model=model, tools=[cap_rows(list_rows)])
    async with session_service("memory", None) as sessions:
        run = await run_agent(agent, "go", session_service=sessions)
        (kept,) = stored_results(run.session.state)
        rewind = Runner(app_name=APP, agent=agent, session_service=sessions).rewind_async
        await rewind(user_id=USER, session_id=SESSION, rewind_before_invocation_id=run.events[0].invocation_id)
        after = (await run_agent(DataSummarizer(name="sum"), "go", session_service=sessions)).session.state
    assert after[kept.key] is None
    assert "rewound" in after["summarized_results"]["missing"]["error"]
    for value, why in ((None, "rewound"), ({"stored": "zlib2", "z": ""}, "another version")):
        with pytest.raises(HandleError, match=why):
            await in_tool(partial(load_payload, handle=kept.handle), state={kept.key: value})

"""How many bytes of results a session keeps, and the forms of older versions."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing

import pytest
from google.adk.agents.llm_agent import LlmAgent

from adk_context_pack import HandleError, PayloadStore, StoreError, cap_rows, load_payload
from adk_context_pack.stores.handles import stored_results
from tests.support.in_tool import in_tool
from tests.support.run import run_agent, session_service
from tests.support.scripted_model import ScriptedModel, call, results_in


def noise(size: int) -> str:
    """Returns text that zlib cannot make smaller than its bytes."""
    return os.urandom(size // 2).hex()


async def test_a_session_stays_under_its_bytes(caplog):
    """The oldest results expire until the state fits, and the newest is always there."""
    limit = 20_000
    caplog.set_level("INFO", "adk_context_pack")

    async def act(context):
        store, found, sizes = PayloadStore(place="state", max_session_bytes=limit), [], []
        for _ in range(12):
            found.append(await store.put(context, [noise(4_000)], tool_name="t"))
            sizes.append(len(json.dumps(dict(context.session.state))))
        live = [result.handle for result in stored_results(context.session.state)]
        assert live == found[-len(live) :]
        for handle in live:
            assert len((await load_payload(context, handle))[0]) == 4_000
        with pytest.raises(HandleError, match="has expired"):
            await load_payload(context, found[0])
        return sizes, len(live)

    sizes, live = await in_tool(act)
    assert max(sizes) < limit
    assert live >= 4
    assert "older results of the session that expired" in caplog.text


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


async def test_the_report_says_what_expired():
    """The report of the result that pushed older ones out of the session says how many."""

    def list_rows(number: int) -> dict:
        """Lists rows."""
        return {"rows": [{"text": noise(200)} for _ in range(40)], "number": number}

    def answer(request):
        found = len(results_in(request))
        return call("list_rows", number=found) if found < 4 else "done"

    reports: list = []
    store = PayloadStore(place="state", max_session_bytes=22_000)
    tool = cap_rows(list_rows, max_rows=5, store=store, on_report=reports.append)
    await run_agent(LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[tool]), "go")
    assert [report.notes for report in reports][:2] == [(), ()]
    assert reports[-1].notes == ("older results of the session that expired: 1",)


@pytest.mark.parametrize("service", ["sqlite", "database"])
async def test_an_expired_result_stays_expired_after_a_restart(service, tmp_path):
    """A service that merges the mark of an expired result into its entry does not make it a result again."""

    async def keep(context):
        number = len(found)
        store = PayloadStore(place="state", max_results=1)
        found.append(await store.put(context, [number] * 500, tool_name="t"))

    async def look(context):
        assert await load_payload(context, found[-1]) == [1] * 500
        with pytest.raises(HandleError, match="has expired"):
            await load_payload(context, found[0])
        return [result.handle for result in stored_results(context.session.state)]

    found: list[str] = []
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

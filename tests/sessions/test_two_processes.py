"""Two processes share a session database and an artifact folder: one stores, the other reads."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import pytest

from adk_context_pack import get_summarized_results, load_payload
from tests.sessions import shared_session
from tests.sessions.worker_process import started
from tests.support.databases import kept_results
from tests.support.in_tool import in_tool

pytest.importorskip("google.adk.artifacts.file_artifact_service", reason="this ADK keeps no artifacts in files")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

SESSIONS = [["one", "state"], ["two", "artifacts"]]


async def in_second_process(database, folder, sessions):
    """What a new process, whose caches are empty, reads from each session."""
    process = await started("shared_session", database, folder, sessions=sessions)
    out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()[-3000:]
    return json.loads(out.splitlines()[-1])


async def test_what_one_process_stores_another_reads(lasting, tmp_path):
    """Rows, a log and a summary are whole in a process that never saw them made, and open in their session alone."""
    folder = str(tmp_path / "artifacts")
    async with lasting.open() as service:
        for session_id, place in SESSIONS:
            run = await shared_session.turn(service, folder, session_id, place)
            assert len(json.dumps(shared_session.read_by(run))) < 40_000
        stored = await _summary(service)
        await _copy_history(service, run.session, "stranger")
        *found, refused = await in_second_process(lasting, folder, [*SESSIONS, ["stranger", "artifacts"]])
    rows = shared_session.ROWS
    for queried, matched, last, summary in found:
        assert queried["rows"] == [
            [len(rows), sum(row["clicks"] for row in rows), sum(row["cost_micros"] for row in rows), "東京"]
        ]
        assert "needle 4711 é東" in matched["matches"][0]["text"]
        assert last["text"] == shared_session.LOG[-50:]
        # By handle, and each session has its own.
        assert list(summary.values()) == list(stored.values())
    (entry,) = stored.values()
    assert entry["row_count"] == len(rows)
    assert entry["totals"]["cost"] == pytest.approx(sum(row["cost_micros"] for row in rows) / 1e6)
    assert all("no stored result" in reply["error"] for reply in refused[:3])


async def _copy_history(service, session, stranger):
    # Its history shows the stubs with their handles, and its state has none of the results.
    other = await service.create_session(app_name="app", user_id="user", session_id=stranger)
    for event in session.events:
        await service.append_event(other, event.model_copy(deep=True, update={"actions": type(event.actions)()}))


async def _summary(service):
    async def act(context):
        return get_summarized_results(context)

    return await in_tool(act, session_service=service, session_id="two")


artifacts = pytest.importorskip("google.adk.artifacts.file_artifact_service", reason="no artifacts in files")

TURNS = 5


async def turn_worker(database, folder, worker):
    """Starts a process that takes turns in the shared session."""
    turns = list(range(TURNS))
    return await started("turn_worker", database, folder, stderr=asyncio.subprocess.DEVNULL, worker=worker, turns=turns)


async def lines_of(process, *, kill_after=None):
    """Returns what a process said; kills it while it is at work after so many lines."""
    said = []
    while line := (await asyncio.wait_for(process.stdout.readline(), 300)).decode().strip():
        said.append(line)
        if len(said) == kill_after:
            # Within the next turn, wherever that is by then.
            await asyncio.sleep(0.03)
            process.kill()
    await process.wait()
    return said


async def test_two_processes_and_a_kill(lasting, tmp_path):
    """Every turn that ended has its rows behind one handle, and every handle that a model saw opens its own rows."""
    folder = tmp_path / "artifacts"
    async with lasting.open() as service:
        await service.create_session(app_name="app", user_id="user", session_id="shared")
        one, two = [await turn_worker(lasting, folder, name) for name in ("one", "two")]
        said_one, said_two = await asyncio.gather(lines_of(one, kill_after=2), lines_of(two))
        again = await turn_worker(lasting, folder, "again")
        said_again = await lines_of(again)
        session = await service.get_session(app_name="app", user_id="user", session_id="shared")
        done = {
            f"{name}-{line.split()[1]}"
            for name, said in (("one", said_one), ("two", said_two), ("again", said_again))
            for line in said
            if line.startswith("done")
        }
        assert {f"again-{number}" for number in range(TURNS)} <= done
        results = [part for event in session.events for part in event.get_function_responses()]
        handles = {result.response["_handle"]: result.response["rows"][0]["tag"] for result in results}
        assert len(handles) == len(results)
        # Nothing twice: an event, a call, a result, a key.
        for ids in ([event.id for event in session.events], [result.id for result in results], handles.values()):
            assert max(Counter(ids).values()) == 1
        assert sorted(key[-11:] for key in kept_results(session.state)) == sorted(handles)
        # Nothing lost.
        assert done <= set(handles.values())

        async def read(context):
            return {tag: await load_payload(context, handle) for handle, tag in handles.items()}

        from tests.sessions.turn_worker import rows_of  # noqa: PLC0415 - needs the artifact service of newer releases

        found = await in_tool(
            read,
            session_service=service,
            session_id="shared",
            artifact_service=artifacts.FileArtifactService(root_dir=str(folder)),
        )
    assert found == {tag: {"rows": rows_of(tag)} for tag in handles.values()}

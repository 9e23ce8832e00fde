"""Two processes share a session database and an artifact folder: one stores, the other reads."""

from __future__ import annotations

import json

import pytest

from adk_context_pack import get_summarized_results
from tests.sessions import shared_session
from tests.sessions.worker_process import started
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

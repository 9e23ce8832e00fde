"""Two processes take turns in one session, over one database and one artifact folder, and one of them is killed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from adk_context_pack import load_payload
from tests.support.databases import kept_results
from tests.support.in_tool import in_tool

artifacts = pytest.importorskip("google.adk.artifacts.file_artifact_service", reason="no artifacts in files")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TURNS = 5
ROOT = Path(__file__).parents[2]


async def turn_worker(database, folder, worker):
    """Starts a process that takes turns in the shared session."""
    told = {"kind": database.kind, "place": database.place, "folder": str(folder), "worker": worker}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.sessions.turn_worker", json.dumps(told | {"turns": list(range(TURNS))})),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )


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

"""Two processes take turns in one session, over one database and one artifact folder, and one of them is killed."""

import asyncio
import json
import os
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.support.databases import kept_results

artifacts = pytest.importorskip("google.adk.artifacts.file_artifact_service", reason="no artifacts in files")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
TURNS = list(range(5))
ROOT = Path(__file__).parents[2]


@pytest.fixture(params=[None, "852c600"])  # of version 0.2.0
def other(request, tmp_path):
    """Returns the folder of another version of the package, or of this one."""
    if request.param is None:
        return ROOT
    if os.system(f"cd {ROOT} && git archive -o {tmp_path}/other.tar {request.param} adk_context_pack tests"):  # noqa: S605
        pytest.skip(f"the history of this clone lacks {request.param}")
    shutil.unpack_archive(tmp_path / "other.tar", tmp_path)
    return tmp_path


async def turn_worker(database, folder, *, package=ROOT, **told):
    """Starts a process that takes turns in the shared session, and then reads results."""
    told |= {"kind": database.kind, "place": database.place, "folder": str(folder)}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, Path(__file__).with_name("turn_worker.py"), json.dumps(told)),
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(package)},
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


async def test_two_processes_and_a_kill(lasting, tmp_path, other):
    """Every turn that ended has its rows behind one handle, which each of two versions of the package opens."""
    folder = tmp_path / "artifacts"
    async with lasting.open() as service:
        await service.create_session(app_name="app", user_id="user", session_id="shared")
        # Version 0.2.0 knows artifacts of the session itself alone.
        told = {"turns": TURNS, "keeps": "auto" if other is ROOT else "state"}
        one = await turn_worker(lasting, folder, worker="one", **told)
        two = await turn_worker(lasting, folder, worker="two", **told, package=other)
        said_one, said_two = await asyncio.gather(lines_of(one, kill_after=2), lines_of(two))
        again = await turn_worker(lasting, folder, worker="again", **told)
        said_again = await lines_of(again)
        session = await service.get_session(app_name="app", user_id="user", session_id="shared")
        done = {
            f"{name}-{line.split()[1]}"
            for name, said in (("one", said_one), ("two", said_two), ("again", said_again))
            for line in said
            if line.startswith("done")
        }
        assert {f"again-{number}" for number in TURNS} <= done
        results = [part for event in session.events for part in event.get_function_responses()]
        tags = {made.id: made.args["tag"] for event in session.events for made in event.get_function_calls()}
        handles = {tags[result.id]: result.response["_handle"] for result in results}
        assert len(handles) == len(results)
        # Nothing twice: an event, a call, a result, a key.
        for ids in ([event.id for event in session.events], [result.id for result in results], handles.values()):
            assert max(Counter(ids).values()) == 1
        assert sorted(key[-11:] for key in kept_results(session.state)) == sorted(handles.values())
        # Nothing lost.
        assert done <= set(handles)
    for package in {ROOT, other}:
        reader = await turn_worker(lasting, folder, handles=handles, package=package)
        assert await lines_of(reader) == [f"read {len(handles)}"]

"""WorkerProcess: a child that answers, is killed, and starts again."""

import json
import subprocess
import sys

import pytest

from adk_context_pack.errors import QueryError
from adk_context_pack.sql import worker_pool
from adk_context_pack.sql.worker_pool import JobEndedError, WorkerProcess

SEARCH = {"do": "search", "start": 0, "most": 3}


@pytest.fixture
def process():
    made = WorkerProcess()
    yield made
    made.kill()


def search(process, pattern, text="aaa", *, kill_seconds=30.0, seconds=60.0):
    limits = {"max_seconds": 60, "kill_seconds": kill_seconds, "max_bytes": 2**27, "at_rest": 2**30}
    process.ask({"do": "open_text"}, [text.encode("utf-8", "surrogatepass")], seconds=60)
    return process.ask(SEARCH | {"search": pattern, "limits": limits}, seconds=seconds)


def test_one_process_answers_job_after_job(process):
    """The child that answered the first job answers the next one."""
    assert search(process, "a")["spans"] == [[0, 1], [1, 2], [2, 3]]
    first = process._process.pid
    assert search(process, "b")["spans"] == []
    assert process._process.pid == first


@pytest.mark.parametrize("ended_by", ["kernel", "parent"])
def test_a_job_that_does_not_end_is_ended_with_its_process(process, ended_by):
    """A call into C without end is ended by the kernel, or by the parent's timer, and the next job is answered."""
    search(process, "a")
    limits = {"kill_seconds": 0.5} if ended_by == "kernel" else {"seconds": 0.5}
    with pytest.raises(JobEndedError) as caught:
        search(process, "(?:a{1,30}){1,30}b", "a" * 300_000, **limits)
    assert caught.value.by_time
    assert search(process, "a")["spans"]


def test_a_process_that_dies_says_so(process):
    """A child that ends by itself is told from one that was ended by its time."""
    process.start()
    process._process.kill()
    process._process.wait()
    child = process._process
    process.start()
    assert process._process is not child
    process._process.stdin.write(b"\xff\xff\xff\xff")
    process._process.stdin.close()
    with pytest.raises(JobEndedError) as caught:
        process.ask({"do": "x"}, seconds=60)
    assert not caught.value.by_time


def test_what_it_held_is_forgotten_with_the_process(process):
    """After a kill nothing counts as loaded."""
    process.start()
    process.holds.add(1)
    process.kill()
    assert not process.holds


def test_the_child_imports_nothing_of_adk():
    """The child has the modules of `sql` and `tables` and what they need: ADK and pydantic would cost seconds."""
    boot = worker_pool._BOOT.replace("serve(sys.stdin.buffer, sys.stdout.buffer)", "print(*sys.modules)")
    paths = json.dumps(sys.path).encode()
    command = [sys.executable, "-I", "-c", boot]
    done = subprocess.run(command, input=paths, capture_output=True, timeout=120, check=True)  # noqa: S603 - fixed text
    loaded = set(done.stdout.decode().split())
    assert "adk_context_pack.sql.database" in loaded
    assert not loaded & {"google.adk", "google.genai", "pydantic", "regex"}


@pytest.mark.parametrize("how", ["frozen", "no executable", "does not start"])
def test_where_no_process_starts_the_model_is_told(monkeypatch, how):
    """A frozen application, an embedded Python and a system that forbids processes give an error in words."""
    if how == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    else:
        executable = "" if how == "no executable" else "/nowhere/python"
        monkeypatch.setattr(worker_pool.spawn, "get_executable", lambda: executable)
    with pytest.raises(QueryError, match="cannot run here"):
        WorkerProcess().ask({}, seconds=5)

"""WorkerProcess: a child that answers, is killed, and starts again, and what is said of each ending of a query."""

import json
import subprocess
import sys
from collections import deque
from contextlib import nullcontext

import pytest

from adk_context_pack.errors import QueryError
from adk_context_pack.sql import worker, worker_pool
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.sql.worker import Jobs
from adk_context_pack.sql.worker_pool import WorkerProcess, query_images, search_text
from adk_context_pack.tables.columns import iter_columns

SEARCH = {"do": "search", "start": 0, "most": 3}


@pytest.fixture
def process():
    made = WorkerProcess()
    yield made
    made.kill()


def search(process, pattern, text="aaa", *, kill_seconds=30.0, seconds=60.0):
    limits = {"max_seconds": 60, "kill_seconds": kill_seconds, "max_bytes": 2**27, "at_rest": 2**30}
    return process.ask(SEARCH | {"search": pattern, "limits": limits}, [text.encode()], seconds=seconds, late="late")


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
    with pytest.raises(QueryError, match="late"):
        search(process, "(?:a{1,30}){1,30}b", "a" * 300_000, **limits)
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
    with pytest.raises(QueryError, match="large"):
        process.ask({"do": "x"}, seconds=60, late="late", large="large")


def test_what_it_held_is_forgotten_with_the_process(process):
    """After a kill nothing counts as loaded."""
    process.start()
    process.holds.append(1)
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


LIMITS = {"max_rows": 5, "max_seconds": 30, "max_bytes": 2**27}


def image(*values):
    return image_of({"rows": iter_columns([{"x": value} for value in values])})


class HereProcess:
    """Answers in this process, as a child would, and counts what it was sent."""

    def __init__(self, at_rest=2**60):
        self.holds, self.jobs, self.asked, self.at_rest = deque(), Jobs(), [], at_rest

    def ask(self, header, blobs=(), **_):
        self.asked.append(header["do"])
        header.get("limits", {}).update(at_rest=self.at_rest)
        answer = self.jobs.answer(header, list(blobs))
        answer.pop("held", None)
        return answer


def test_images_are_sent_once():
    """The first query sends its tables, the next ones only their number."""
    here, rows = HereProcess(), image(1, 2)
    for _ in range(3):
        assert query_images(here, {"h": rows}, "SELECT sum(x) FROM rows", **LIMITS).rows == [[3]]
    assert here.asked == ["query", "open", "query", "query", "query"]


def test_images_that_were_dropped_are_sent_again():
    """Where a process had no room for the tables any more, they are sent again and the query is answered."""
    here, one, two = HereProcess(at_rest=1), image(1), image(2)
    for rows, value in ((one, 1), (two, 2), (one, 1)):
        assert query_images(here, {"h": rows}, "SELECT x FROM rows", **LIMITS).rows == [[value]]
    assert here.asked == ["query", "open", "query"] * 3
    assert not here.jobs._databases


def test_bounds_of_the_process_are_those_of_the_query(monkeypatch):
    """The time and the memory after which a process ends come with each query, also over the same tables."""
    seen, here, rows = [], HereProcess(), image(1)
    monkeypatch.setattr(worker, "_bounded", lambda limits: seen.append(limits) or nullcontext())
    for seconds, size in ((2, 2**25), (4, 2**27)):
        query_images(here, {"h": rows}, "SELECT x FROM rows", **LIMITS | {"max_seconds": seconds, "max_bytes": size})
    found = [(each["kill_seconds"], each["max_bytes"]) for each in seen]
    assert found == [(pytest.approx(3.1), 2**25), (pytest.approx(6.1), 2**27)]


def test_floats_and_large_numbers_cross_unchanged(process):
    """What the child answers arrives as it was: 64-bit integers, floats to the last digit, text of any kind."""
    values = [2**63 - 1, 1 - 2**63, 0.1 + 0.2, 5e-324, "\U0001f600\u2028\u2400", None]
    sql = "SELECT * FROM rows"
    found = [query_images(process, {"h": image(value)}, sql, **LIMITS).rows[0][0] for value in values]
    assert found == values


@pytest.mark.parametrize(("ended_by", "says"), [(14, "took longer than 30 s"), (9, "needed too much memory")])
def test_a_process_that_ends_is_told_in_words(process, monkeypatch, ended_by, says):
    """A query and a search that end with their process say whether time or memory ended them."""
    start = process.start
    monkeypatch.setattr(process, "start", lambda: start().send_signal(ended_by) or process._process)
    with pytest.raises(QueryError, match=says):
        query_images(process, {"h": image(1)}, "SELECT 1", **LIMITS)
    with pytest.raises(QueryError, match="took too long" if ended_by > 9 else "too much memory"):
        search_text(process, "text", "x", start=0, most=1, max_seconds=30)


def test_any_text_is_searched():
    """A search finds places in a text with lone surrogates."""
    found = search_text(HereProcess(), "a\ud800b\U0001f600b", "b", start=0, most=9, max_seconds=9)
    assert found["spans"] == [(2, 3), (4, 5)]


def test_no_memory_is_an_answer(monkeypatch):
    """A child that runs out of memory outside of SQLite answers in words and goes on."""
    here = HereProcess()
    query_images(here, {"h": image(1)}, "SELECT 1", **LIMITS)
    monkeypatch.setattr(worker.RowDatabase, "query", lambda *_, **__: [0] * 10**15)
    with pytest.raises(QueryError, match="too much memory"):
        query_images(here, {"h": image(2)}, "SELECT 1", **LIMITS)


def test_memory_is_not_bounded_where_it_cannot_be_read(monkeypatch, tmp_path):
    """Where the system does not say how much memory a process has, queries run without that limit."""
    monkeypatch.setattr(worker, "_STATM", tmp_path / "missing")
    assert query_images(HereProcess(), {"h": image(1)}, "SELECT x FROM rows", **LIMITS | {"max_bytes": 1}).rows == [[1]]

"""WorkerPool: a queue that is fair between owners, and threads only for what runs."""

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.worker_pool import WorkerPool

LONG = 60


class Gate:
    """A job that says when it runs, and runs until it is let go."""

    def __init__(self):
        self.running, self.let_go = threading.Event(), threading.Event()

    def __call__(self, process):
        self.running.set()
        assert self.let_go.wait(LONG)
        return process


@pytest.fixture
def pool():
    made = WorkerPool(size=2)
    yield made
    made.close()


def test_an_owner_waits_for_itself_and_others_do_not(pool):
    """While one owner's slow job runs, the owner's next ones and other slow ones wait, and another's is done."""
    slow = Gate()
    first = [pool.submit(owner, slow, patience=LONG, is_slow=True) for owner in "ac"]
    rest = [pool.submit("a", lambda _: 7, patience=LONG) for _ in range(7)]
    assert slow.running.wait(LONG)
    assert pool.submit("b", lambda _: "answered", patience=LONG).result(LONG) == "answered"
    assert not any(future.done() for future in [*first, *rest])
    slow.let_go.set()
    assert [future.result(LONG) for future in rest] == [7] * 7


def test_waiting_jobs_take_no_thread(pool):
    """Fifty jobs of one owner take one thread, that of the job that runs."""
    slow, before = Gate(), set(threading.enumerate())
    pool.submit("a", slow, patience=LONG)
    assert slow.running.wait(LONG)
    futures = [pool.submit("a", lambda _: None, patience=LONG) for _ in range(50)]
    assert [thread.name for thread in set(threading.enumerate()) - before].count("context-pack-query") == 1
    slow.let_go.set()
    for future in futures:
        future.result(LONG)


def test_a_job_that_waited_too_long_says_so(pool):
    """A job whose patience is over when its turn comes is not run, and its owner is told."""
    slow, ran = Gate(), []
    pool.submit("a", slow, patience=LONG)
    late = pool.submit("a", ran.append, patience=-1)
    slow.let_go.set()
    with pytest.raises(QueryError, match="Earlier queries took all the time"):
        late.result(LONG)
    assert not ran


def test_a_cancelled_job_never_runs(pool):
    """A job that is cancelled while it waits leaves its turn to the next one."""
    slow, ran = Gate(), []
    pool.submit("a", slow, patience=LONG)
    cancelled = pool.submit("a", ran.append, patience=LONG)
    last = pool.submit("a", lambda _: "last", patience=LONG)
    assert cancelled.cancel()
    slow.let_go.set()
    assert last.result(LONG) == "last"
    assert not ran
    with pytest.raises(CancelledError):
        cancelled.result(0)


def test_a_failing_job_frees_its_process(pool):
    """What a job raises reaches whoever waits for it, and the pool goes on."""
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            pool.submit("a", lambda _: 1 / 0, patience=LONG).result(LONG)
    assert pool.submit("a", lambda _: 1, patience=LONG).result(LONG) == 1


def test_a_process_inherits_no_secret_and_ends_when_it_is_idle(monkeypatch):
    """A worker has no variable of its parent's but paths, goes on from job to job, and ends without work."""
    monkeypatch.setenv("API_KEY", "a secret")
    monkeypatch.setattr("adk_context_pack.sql.worker_pool._IDLE_S", 0.2)
    pool = WorkerPool(size=1)

    def start(process):
        process.start()
        return process._process

    child = pool.submit("a", start, patience=LONG).result(LONG)
    assert pool.submit("a", start, patience=LONG).result(LONG) is child
    assert b"API_KEY" not in Path(f"/proc/{child.pid}/environ").read_bytes()
    assert child.wait(LONG) is not None
    assert pool.submit("a", start, patience=LONG).result(LONG) is not child
    pool.close()


def test_a_process_that_holds_the_tables_is_preferred(pool):
    """A job gets the process that already has what it names, if that one is free."""
    chosen = pool.submit("a", lambda process: process, patience=LONG).result(LONG)
    other = next(process for process in pool._all if process is not chosen)
    other.holds.append("tables")
    assert pool.submit("a", lambda process: process, key="tables", patience=LONG).result(LONG) is other


async def test_jobs_are_awaited_from_any_loop(pool):
    """Loops in several threads, as ADK's synchronous runner makes them, share one pool."""

    async def wait():
        return await asyncio.wrap_future(pool.submit("a", lambda _: 1, patience=LONG))

    assert await asyncio.gather(*(asyncio.to_thread(asyncio.run, wait()) for _ in range(4))) == [1] * 4


@pytest.mark.slow
def test_the_process_exits_in_the_middle_of_a_query():
    """An interpreter that ends while a query runs ends at once, and its child process with it."""
    code = """
import os, threading
from adk_context_pack.sql.worker_pool import shared_pool
asked = threading.Event()
def job(process):
    process.start()
    print(process._process.pid, flush=True)
    asked.set()
    process.ask({"do": "nothing that answers"}, [b"x"], seconds=600)
shared_pool().submit(1, lambda process: job(process), patience=9)
asked.wait()
"""
    done = subprocess.run(  # noqa: S603 - the text above
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    child = int(done.stdout)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)

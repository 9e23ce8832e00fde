"""Shares a few child processes between all users of this process."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.worker_process import WorkerProcess
from adk_context_pack.stores.byte_cache import CACHE, KEEPERS

Job = Callable[[WorkerProcess], Any]
_MAX_OWNERS = 1_000
_IDLE_S = 60.0
"""Seconds without work after which a process ends."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    owner: Hashable
    job: Job
    key: object
    until: float
    is_slow: bool
    future: Future[Any]


class WorkerPool:
    """Runs jobs in at most `size` child processes, fairly between owners, without asyncio's default executor.

    A job waits in a queue and takes a thread only while it runs. One owner has at most `share` running jobs, so the
    others never wait for an owner whose queries are slow.

    Args:
        size: processes at the same time; each is started when it is first needed and kept.
        share: jobs that one owner may run at the same time.
    """

    def __init__(self, *, size: int, share: int = 1) -> None:
        self._share = share
        self._slow, self._most_slow = 0, max(1, size - 1)
        self._lock = threading.Lock()
        self._free = [WorkerProcess() for _ in range(size)]
        self._all = tuple(self._free)
        self._waiting: deque[_Waiting] = deque()
        self._running: Counter[Hashable] = Counter()
        self._owners: dict[WorkerProcess, set[Hashable]] = {process: set() for process in self._all}
        self._stale: set[WorkerProcess] = set()
        self._idle: dict[WorkerProcess, threading.Timer] = {}

    def submit(
        self, owner: Hashable, job: Job, *, key: object = None, patience: float, is_slow: bool = False
    ) -> Future[Any]:
        """Queues a job and returns its future, which may be cancelled while the job waits.

        Args:
            owner: the user on whose behalf it runs.
            job: gets the process; runs in a thread that nothing else uses.
            key: what the job would like its process to hold already.
            patience: seconds that it may wait for its turn, after which its future raises `QueryError`.
            is_slow: whether it is known to take long. One process is kept free of such jobs.
        """
        future: Future[Any] = Future()
        with self._lock:
            self._waiting.append(_Waiting(owner, job, key, time.monotonic() + patience, is_slow, future))
            self._start_ready()
        return future

    def drop(self, theirs: Sequence[Any]) -> None:
        """Ends the processes that have worked for the user whom `theirs` begins with, at once or with their job."""
        with self._lock:
            self._stale |= {process for process, owners in self._owners.items() if theirs[:2] in owners}
            self._end_stale()

    def _end_idle(self, process: WorkerProcess) -> None:
        with self._lock:
            # Its next job may have begun while this waited for the lock.
            if self._idle.get(process) is threading.current_thread():
                self._stale.add(process)
                self._end_stale()

    def _end_stale(self) -> None:
        for process in self._stale.intersection(self._free):
            self._stale.discard(process)
            self._owners[process].clear()
            process.kill()
        CACHE.leave_room(sum(process.held for process in self._all))

    def close(self) -> None:
        """Ends all processes at once; a job that runs ends with an error."""
        for process in self._all:
            process.kill()

    def _start_ready(self) -> None:
        while self._free and (ready := self._next()):
            self._running[ready.owner] += 1
            self._slow += ready.is_slow
            process = next((each for each in self._free if ready.key in each.holds), self._free[-1])
            if (idle := self._idle.pop(process, None)) is not None:
                idle.cancel()
            self._owners[process].add(ready.owner)
            if len(self._owners[process]) > _MAX_OWNERS:
                self._stale.add(process)
            self._free.remove(process)
            threading.Thread(target=self._run, args=(ready, process), name="context-pack-query", daemon=True).start()

    def _next(self) -> _Waiting | None:
        now = time.monotonic()
        for waiting in tuple(self._waiting):
            if now > waiting.until:
                self._waiting.remove(waiting)
                if waiting.future.set_running_or_notify_cancel():
                    waiting.future.set_exception(QueryError("Earlier queries took all the time; try again."))
            elif self._running[waiting.owner] < self._share and not (waiting.is_slow and self._slow >= self._most_slow):
                self._waiting.remove(waiting)
                if waiting.future.set_running_or_notify_cancel():
                    return waiting
        return None

    def _run(self, waiting: _Waiting, process: WorkerProcess) -> None:
        try:
            result, error = waiting.job(process), None
        except BaseException as raised:
            result, error = None, raised
        # Whoever waits may ask again at once, and finds a free process then.
        with self._lock:
            self._free.append(process)
            self._idle[process] = threading.Timer(_IDLE_S, self._end_idle, [process])
            self._idle[process].daemon = True
            self._idle[process].start()
            self._end_stale()
            self._running[waiting.owner] -= 1
            self._slow -= waiting.is_slow
            if not self._running[waiting.owner]:
                del self._running[waiting.owner]
            self._start_ready()
        if error is None:
            waiting.future.set_result(result)
        else:
            waiting.future.set_exception(error)


_pools: list[WorkerPool] = []
_lock = threading.Lock()


def shared_pool() -> WorkerPool:
    """Returns the pool of this process, which is made when it is first needed."""
    with _lock:
        if not _pools:
            _pools.append(WorkerPool(size=1 + min(4, max(2, os.cpu_count() or 2))))
            KEEPERS.add(_pools[0])
        return _pools[0]


def _after_fork() -> None:
    # A forked server must not share pipes with its parent: each would read the other's answers.
    global _lock  # noqa: PLW0603 - the parent's may be held for ever in the child
    _lock = threading.Lock()
    _pools.clear()


def _at_exit() -> None:
    for pool in _pools:
        pool.close()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

"""Asks child processes for queries and searches, and shares a few of them between all users of this process."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from multiprocessing import spawn
from pathlib import Path
from typing import Any, NamedTuple

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.database import QueryAnswer
from adk_context_pack.sql.guard import SEARCH_TOO_LARGE, SEARCH_TOO_LONG, TOO_MUCH_MEMORY, too_long
from adk_context_pack.sql.sql_names import TableImage
from adk_context_pack.sql.worker import read_frame, write_frame
from adk_context_pack.stores.byte_cache import CACHE, KEEPERS

# What a query needs loads without ADK, which takes seconds and a hundred megabytes.
_BOOT = """import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline())
from adk_context_pack.sql.worker import serve; serve(sys.stdin.buffer, sys.stdout.buffer)"""

_INHERITED = frozenset(("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP"))


class WorkerProcess:
    """A child process that runs one job at a time and can be killed in the middle of it.

    The process starts with the first job and is started again after a kill. It begins as a new Python, never as a fork
    of this one, so that a server's threads and locks do not matter. Its callers note in `holds` the handles that it has
    in memory. After its last job it `held` so many bytes.
    """

    def __init__(self) -> None:
        self.holds = deque[object](maxlen=10_000)
        self.held = 0
        self._process: Any = None

    def start(self) -> Any:
        """Returns the process, started if need be without waiting for it, or raises a `QueryError` if that fails."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.kill()
        # A frozen application is its own executable: it would start itself again.
        python = "" if getattr(sys, "frozen", False) else os.fsdecode(spawn.get_executable() or "")
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        # Statements of a model run there: the keys and passwords of this process are none of its business.
        env = {name: value for name, value in os.environ.items() if name in _INHERITED}
        # On Windows a service would otherwise see a console window.
        flags = getattr(subprocess, "CREATE_NO_WINDOW", 0)
        try:
            process: Any = subprocess.Popen([python, "-I", "-c", _BOOT], env=env, creationflags=flags, **pipes)  # noqa: S603
            self._process = process
            paths = [*(path for path in sys.path if isinstance(path, str)), str(Path(__file__).resolve().parents[2])]
            process.stdin.write(json.dumps(paths).encode() + b"\n")
            process.stdin.flush()
        except (OSError, ValueError) as error:
            raise QueryError("Queries and searches cannot run here: their process does not start.") from error
        return process

    def ask(self, header: dict[str, Any], blobs: Sequence[bytes] = (), *, seconds: float, **said: str) -> Any:
        """Sends one job (see `Jobs`) and returns its answer. The process is killed after some seconds.

        Raises:
            QueryError: the process ended before it answered, by its time or without memory, as `said` has it.
        """
        process, late = self.start(), threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            write_frame(process.stdin, header, blobs)
            answer, _ = read_frame(process.stdout)
        except (OSError, ValueError):
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)
            # Windows does not name SIGALRM, which is 14.
            by_time = late.is_set() or process.returncode == -14  # noqa: PLR2004
            raise QueryError(said["late" if by_time else "large"]) from None
        finally:
            timer.cancel()
            timer.join()
            if late.is_set() or process.poll() is not None:
                self.kill()
        self.held = answer.pop("held", self.held)
        if "limits" in header and self.held > header["limits"]["at_rest"]:
            self.kill()
        return answer

    def kill(self) -> None:
        """Ends the process at once. What it was doing ends with it."""
        self.holds.clear()
        self.held = 0
        process, self._process = self._process, None
        if process is None:
            return
        # Nobody is left to read unwritten output.
        with suppress(OSError), process:
            process.kill()


Job = Callable[[WorkerProcess], Any]
_IDLE_S = 60.0
"""Seconds without work after which a process ends."""


class _Waiting(NamedTuple):
    owner: Hashable
    job: Job
    key: object
    until: float
    is_slow: bool
    future: Future[Any]


class WorkerPool:
    """Runs jobs in at most `size` child processes, fairly between owners, without asyncio's default executor.

    A job waits in a queue and takes a thread only while it runs. One owner has at most one running job, so that the
    others never wait for an owner whose queries are slow.
    """

    def __init__(self, *, size: int) -> None:
        self._slow, self._most_slow = 0, max(1, size - 1)
        self._lock = threading.Lock()
        self._free = [WorkerProcess() for _ in range(size)]
        self._all = tuple(self._free)
        self._waiting: deque[_Waiting] = deque()
        self._running = set[Hashable]()
        self._owners: dict[WorkerProcess, set[Hashable]] = {process: set() for process in self._all}
        self._stale: set[WorkerProcess] = set()
        self._idle: dict[WorkerProcess, threading.Timer] = {}

    def submit(
        self, owner: Hashable, job: Job, *, key: object = None, patience: float, is_slow: bool = False
    ) -> Future[Any]:
        """Queues a job of a user's and returns its future, which may be cancelled while the job waits.

        The job runs in a thread of its own, by preference with a process that holds `key`. After `patience` seconds
        without its turn, its future raises `QueryError`. One process is kept free of jobs that are known to be slow.
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
        """Ends all processes at once. A job that runs ends with an error."""
        for process in self._all:
            process.kill()

    def _start_ready(self) -> None:
        while self._free and (ready := self._next()):
            self._running.add(ready.owner)
            self._slow += ready.is_slow
            process = next((each for each in self._free if ready.key in each.holds), self._free[-1])
            if (idle := self._idle.pop(process, None)) is not None:
                idle.cancel()
            self._owners[process].add(ready.owner)
            if len(self._owners[process]) > 1_000:  # noqa: PLR2004 - users of one process
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
            elif waiting.owner not in self._running and not (waiting.is_slow and self._slow >= self._most_slow):
                self._waiting.remove(waiting)
                if waiting.future.set_running_or_notify_cancel():
                    return waiting
        return None

    def _run(self, waiting: _Waiting, process: WorkerProcess) -> None:
        try:
            settle = partial(waiting.future.set_result, waiting.job(process))
        except BaseException as error:
            settle = partial(waiting.future.set_exception, error)
        # Whoever waits may ask again at once, and finds a free process then.
        with self._lock:
            self._free.append(process)
            timer = self._idle[process] = threading.Timer(_IDLE_S, self._end_idle, [process])
            timer.daemon = True
            timer.start()
            self._end_stale()
            self._running.discard(waiting.owner)
            self._slow -= waiting.is_slow
            self._start_ready()
        settle()


_pools: list[WorkerPool] = []


def _begin() -> None:
    # A forked server must not share pipes with its parent: each would read the other's answers.
    _pools[:] = [WorkerPool(size=1 + min(4, max(2, os.cpu_count() or 2)))]
    KEEPERS.add(_pools[0])


_begin()
atexit.register(lambda: [*map(WorkerPool.close, _pools)])
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin)


def shared_pool() -> WorkerPool:
    """Returns the pool of this process."""
    return _pools[0]


def query_images(
    process: WorkerProcess, images: Mapping[str, TableImage], sql: str, *, max_seconds: float, **limits: int
) -> QueryAnswer:
    """Runs one SELECT over images in a worker process, as `RowDatabase.query` does.

    The process keeps the images for the next query. It is killed at one and a half times `max_seconds`, returns at most
    `max_rows`, and may grow by `max_bytes` during the query (Linux only).
    """
    numbers = [image.number for image in images.values()]
    header = {"do": "query", "numbers": numbers, "sql": sql, "limits": _limits(max_seconds) | limits}
    ask = partial(_ask, process, late=too_long(max_seconds), large=TOO_MUCH_MEMORY)
    answer = ask(header)
    if "missing" in answer:
        named = images.items()
        every = [{"handle": handle, "number": each.number, "names": asdict(each.names)} for handle, each in named]
        ask({"do": "open", "numbers": numbers, "images": every}, *(image.data for image in images.values()))
        process.holds.extend(images)
        answer = ask(header)
    return QueryAnswer(**answer)


def search_text(  # noqa: PLR0913 - a limit each
    process: WorkerProcess, text: str, search: str, *, start: int, most: int, max_seconds: float
) -> dict[str, Any]:
    """Returns the fields of `Places`, as `find_places` finds them, from a worker process, which keeps nothing of it."""
    # Beside the text. Without a limit `regex` takes a gigabyte.
    limits = _limits(max_seconds) | {"max_bytes": 128 * 2**20}
    header = {"do": "search", "search": search, "start": start, "most": most, "limits": limits}
    return _ask(process, header, text.encode("utf-8", "surrogatepass"), late=SEARCH_TOO_LONG, large=SEARCH_TOO_LARGE)


def _limits(seconds: float) -> dict[str, Any]:
    # SQLite and `regex` end most jobs by themselves, with their process alive for the next one.
    return {"max_seconds": seconds, "kill_seconds": 1.5 * seconds + 0.1, "at_rest": CACHE.max_bytes // 4}


def _ask(process: WorkerProcess, header: dict[str, Any], *blobs: bytes, **said: str) -> dict[str, Any]:
    """Returns the answer to a job. One that ended by its time is told `late`, and else `large`."""
    # Ten megabytes a second are sent even when a machine is busy.
    seconds = header["limits"]["kill_seconds"] + 0.2 if "limits" in header else 60
    answer: dict[str, Any] = process.ask(header, blobs, seconds=seconds + sum(map(len, blobs)) / 10**7, **said)
    if "error" in answer:
        raise QueryError(answer["error"])
    return answer

"""Starts, asks and ends one child process for queries and searches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import spawn
from pathlib import Path
from typing import Any, BinaryIO, cast

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.worker import read_frame, write_frame

_PACKAGE_FOLDER = str(Path(__file__).resolve().parents[2])
# What a query needs loads without ADK, which takes seconds and a hundred megabytes.
_BOOT = """import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline())
from adk_context_pack.sql.worker import serve; serve(sys.stdin.buffer, sys.stdout.buffer)"""


_INHERITED = frozenset(("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP"))


class JobEndedError(Exception):
    """A job ended with its process: by its time, or because the process had no more memory."""

    def __init__(self, *, by_time: bool) -> None:
        super().__init__("time" if by_time else "memory")
        self.by_time = by_time


class WorkerProcess:
    """A child process that runs one job at a time and can be killed in the middle of it.

    The process starts with the first job and is started again after a kill. It begins as a new Python, never as a fork
    of this one, so that a server's threads and locks do not matter.

    Attributes:
        holds: keys of what the running process has in memory; the caller keeps this up to date.
        held: the bytes of memory that it had after its last job.
    """

    def __init__(self) -> None:
        self.holds: set[object] = set()
        self.held = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the process if none is running, and does not wait for it.

        Raises:
            QueryError: the system does not let it start.
        """
        if self._process is not None and self._process.poll() is None:
            return
        self.kill()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this Python with a fixed text
                [_python(), "-I", "-c", _BOOT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Statements of a model run there: the keys and passwords of this process are none of its business.
                env={name: value for name, value in os.environ.items() if name in _INHERITED},
                # On Windows a service would otherwise see a console window.
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
            paths = [*(path for path in sys.path if isinstance(path, str)), _PACKAGE_FOLDER]
            self._stdin.write(json.dumps(paths).encode() + b"\n")
            self._stdin.flush()
        except (OSError, ValueError) as error:
            raise QueryError("Queries and searches cannot run here: their process does not start.") from error

    def ask(self, header: dict[str, Any], blobs: Sequence[bytes] = (), *, seconds: float) -> dict[str, Any]:
        """Sends one job and returns its answer.

        Args:
            header: the job, see `Jobs`.
            blobs: what goes with it.
            seconds: the time after which the process is killed.

        Raises:
            JobEndedError: the process ended before it answered.
            QueryError: the process does not start.
        """
        self.start()
        process, late = cast("subprocess.Popen[bytes]", self._process), threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            write_frame(self._stdin, header, blobs)
            answer, _ = read_frame(cast("BinaryIO", process.stdout))
        except (OSError, EOFError, ValueError):
            by_time = late.is_set() or _died_of_alarm(process)
            raise JobEndedError(by_time=by_time) from None
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
        """Ends the process at once; what it was doing ends with it."""
        self.holds.clear()
        self.held = 0
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            # Nobody is left to read unwritten output.
            with suppress(OSError):
                cast("BinaryIO", stream).close()
        process.wait()

    @property
    def _stdin(self) -> BinaryIO:
        return cast("BinaryIO", cast("subprocess.Popen[bytes]", self._process).stdin)


def _died_of_alarm(process: subprocess.Popen[bytes]) -> bool:
    try:
        return process.wait(timeout=5) == -14  # noqa: PLR2004 - SIGALRM, which Windows does not name
    except subprocess.TimeoutExpired:
        return False


def _python() -> str:
    executable = spawn.get_executable()
    # A frozen application is its own executable: it would start itself again.
    if getattr(sys, "frozen", False) or not executable:
        raise OSError("no Python to start")
    return executable if isinstance(executable, str) else executable.decode()

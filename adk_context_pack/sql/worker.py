"""Runs queries and searches in a process of their own: this is what the child process does.

A model writes SQL and patterns, and SQLite and `regex` run them in C, where Python can stop nothing. Each job therefore
runs where it can be ended, under bounds that reach into C:

* Time: the kernel ends the process (`setitimer`) when a job runs on past its time. The parent does the same with a
  timer of its own, for systems without `setitimer`. This answers rows that call `LIKE`, `instr`, `replace`, `trim`,
  `printf` or `GLOB` many times over long texts, patterns that backtrack, and patterns that take minutes to compile.
* Memory: `RLIMIT_AS` is the process's size before the job plus the job's limit. This answers doubling CTEs, which need
  gigabytes before the first row, `||` and `group_concat` over one long cell, sorts that pile up, and patterns that
  compile to gigabytes. Linux holds it. macOS and Windows do not, and there only time and SQLite's own limits apply.
* Memory at rest: after each job a process closes tables until it is within the job's `at_rest`, those used longest ago
  first. One that is not within it even then is ended by its parent.
* SQLite's own limits (`guard.py`) come before both, for a better message.

The parent and the child talk in frames over the child's standard input and output: a header as a line of JSON, and as
many blobs as its `sizes` name.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.sql.guard import TOO_MUCH_MEMORY
from adk_context_pack.sql.sql_names import TableImage, TableNames

try:
    import resource
except ImportError:  # pragma: no cover - Windows
    resource = None  # type: ignore[assignment]

_STATM = Path("/proc/self/statm")


def write_frame(stream: BinaryIO, header: dict[str, Any], blobs: Sequence[bytes] = ()) -> None:
    """Writes a header and its blobs to the other process."""
    stream.write(json.dumps(header | {"sizes": [len(blob) for blob in blobs]}).encode() + b"\n")
    stream.writelines(blobs)
    stream.flush()


def read_frame(stream: BinaryIO) -> tuple[dict[str, Any], list[bytes]]:
    """Reads a header and its blobs from the other process, or raises a ValueError if that has ended."""
    header: dict[str, Any] = json.loads(stream.readline())
    return header, [stream.read(size) for size in header.pop("sizes")]


class Jobs:
    """Answers the jobs of one process, one at a time."""

    def __init__(self) -> None:
        self._databases: OrderedDict[tuple[int, ...], tuple[RowDatabase, int]] = OrderedDict()

    def answer(self, header: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        """Returns what a job gives, or `error` in words for a model."""
        try:
            answer: dict[str, Any] = getattr(self, f"_{header['do']}")(header, blobs)
        except (QueryError, MemoryError) as error:
            answer = {"error": str(error) if isinstance(error, QueryError) else TOO_MUCH_MEMORY}
        if limits := header.get("limits"):
            # Not every system says how much memory a process has.
            most = limits["at_rest"]
            while (held := _pages(1) or sum(size for _, size in self._databases.values())) > most and self._databases:
                self._databases.popitem(last=False)[1][0].close()
            answer["held"] = held
        return answer

    def _open(self, header: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        named = zip(header["images"], blobs, strict=True)
        opened = {each["handle"]: TableImage(each["number"], blob, TableNames(**each["names"])) for each, blob in named}
        self._databases[tuple(header["numbers"])] = RowDatabase(opened), sum(map(len, blobs))
        return {}

    def _query(self, header: dict[str, Any], _blobs: list[bytes]) -> dict[str, Any]:
        if (key := tuple(header["numbers"])) not in self._databases:
            return {"missing": True}
        self._databases.move_to_end(key)
        with _bounded(limits := header["limits"]):
            query = self._databases[key][0].query
            return asdict(query(header["sql"], max_rows=limits["max_rows"], max_seconds=limits["max_seconds"]))

    def _search(self, header: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        # Imported by the first search only: most processes never need the module.
        from adk_context_pack.sql.pattern_search import find_places  # noqa: PLC0415

        text, limits = blobs.pop().decode("utf-8", "surrogatepass"), header["limits"]
        with _bounded(limits):
            most, seconds = header["most"], limits["max_seconds"]
            return asdict(find_places(text, header["search"], start=header["start"], most=most, max_seconds=seconds))


@contextlib.contextmanager
def _bounded(limits: dict[str, Any]) -> Iterator[None]:
    """Bounds a job: the kernel ends this process after some time, and refuses it memory beyond what it has now.

    It does so within one call into C as well, and also if the parent has ended.
    """
    has_timer, size = hasattr(signal, "setitimer"), _pages(0)
    former = resource.getrlimit(resource.RLIMIT_AS) if resource and size is not None else None
    if has_timer:
        signal.setitimer(signal.ITIMER_REAL, limits["kill_seconds"])
    if former and size is not None:
        resource.setrlimit(resource.RLIMIT_AS, (size + limits["max_bytes"], former[1]))
    try:
        yield
    finally:
        if former:
            resource.setrlimit(resource.RLIMIT_AS, former)
        if has_timer:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _pages(field: int) -> int | None:
    """Returns the bytes of this process's address space (0), or of what of it is in memory (1)."""
    try:
        return int(_STATM.read_bytes().split()[field]) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError, IndexError):
        return None


def serve(reader: BinaryIO, writer: BinaryIO) -> None:
    """Answers frames until the parent closes its end, or ends."""
    # The terminal's interrupt is the parent's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGALRM"):
        # The parent may ignore or block it, which a child inherits.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    jobs = Jobs()
    with contextlib.suppress(ValueError):
        while True:
            write_frame(writer, jobs.answer(*read_frame(reader)))

"""Soak: processes that share one session database run mixed turns for an hour, and some are replaced on the way.

    python -m tests.benchmarks.bench_soak [--minutes 60] [--sessions 1000] [--processes 2] [--state] [--sqlite]

The database is a PostgreSQL of its own, or ADK's SQLite service where PostgreSQL is not installed. Full results are
in a folder of artifacts that the processes share, with `--state` in session state. Tools return tables, reports, logs,
errors, references to files and small tables. The model answers from its requests alone, and each answer is checked.
Three turns in ten, and one in ten in a session that ended before, read what is behind a handle of an earlier turn.

After each interval the processes swap their sessions. All but the first process are replaced after every third. The
first lives on, so that its memory shows what a process keeps. In brackets is what its caches of results that were read
back and its memos of sessions hold, which fill up to bounds of their own and are left out of the comparison. The
processor time of a turn is that of all processes. At the end the last quarter is compared with the second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import Any

from tests.support import postgres
from tests.support.databases import Database

ROOT = Path(__file__).parents[2]
INTERVALS, RESTART_EVERY, TURNS, OLD = 16, 3, 10, 200
_HEAD = "minute   turns  turns/s  ms/turn  read back  of earlier turns  lost  twice  sessions  resident MB (in caches)"


class Process:
    """One worker process.

    Args:
        told: the arguments of `soak_worker.serve`.
    """

    def __init__(self, **told: Any) -> None:
        self._told = told
        self._process: Any = None

    async def interval(self, **told: Any) -> dict[str, Any]:
        """Runs an interval and returns its figures."""
        if self._process is None:
            await self._start()
        self._process.stdin.write(json.dumps(told).encode() + b"\n")
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError("a worker has ended by itself")
        return dict(json.loads(line))

    async def close(self) -> None:
        """Lets the process end."""
        if self._process is not None:
            self._process.stdin.close()
            await self._process.wait()

    async def _start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.benchmarks.soak_worker", json.dumps(self._told)),
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=2**26,
        )


class Soak:
    """All processes, and what is known of their sessions: `{id: [[tag, kind], …]}`.

    Args:
        place: the arguments of a worker that say where everything is stored.
        processes: how many run at once.
        sessions: how many sessions there are at most. The oldest are deleted.
    """

    def __init__(self, place: dict[str, Any], processes: int, sessions: int) -> None:
        self._place, self._sessions, self._made = place, sessions, 0
        self.workers = [self._worker() for _ in range(processes)]
        self.active: list[dict[str, Any]] = [{} for _ in range(processes)]
        self.ended: dict[str, Any] = {}
        self.opened = 0

    async def interval(self, number: int, seconds: float) -> dict[str, Any]:
        """Runs an interval in all processes and returns their figures together."""
        if number and number % RESTART_EVERY == 0:
            for at in range(1, len(self.workers)):
                await self.workers[at].close()
                self.workers[at] = self._worker()
        # Each process goes on with the sessions of another one.
        self.active = [*self.active[1:], self.active[0]]
        gone = list(self.ended)[: max(0, len(self.ended) - self._sessions)]
        for session_id in gone:
            del self.ended[session_id]
        old = random.Random(number).sample(sorted(self.ended), min(OLD, len(self.ended)))
        tasks = []
        for at, worker in enumerate(self.workers):
            back = {name: self.ended[name] for name in old[at :: len(self.workers)]}
            tasks.append(worker.interval(seconds=seconds, active=self.active[at], old=back, gone=[] if at else gone))
        found = await asyncio.gather(*tasks)
        self.active = [each.pop("active") for each in found]
        before = len(self.ended)
        for each in found:
            self.ended |= each.pop("ended")
        self.opened += len(self.ended) - before
        memory = {name: [each.pop(name) for each in found] for name in ("resident", "cached")}
        names = ("turns", "seconds", "read", "again", "lost", "twice")
        return memory | {name: sum(each.get(name, 0) for each in found) for name in names}

    async def close(self) -> None:
        """Ends all processes."""
        for worker in self.workers:
            await worker.close()

    def _worker(self) -> Process:
        self._made += 1
        return Process(**self._place, name=f"w{self._made}", turns=TURNS)


async def soak(asked: argparse.Namespace, place: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs all intervals, prints a line for each, and returns their figures."""
    run, found, seconds = Soak(place, asked.processes, asked.sessions), [], asked.minutes * 60 / asked.intervals
    async with Database(kind=place["kind"], place=place["place"]).open() as sessions:
        # ADK's service fails where two processes make its tables at once.
        await sessions.list_sessions(app_name="soak", user_id="user")
    print(_HEAD, flush=True)
    try:
        for number in range(asked.intervals):
            each = await run.interval(number, seconds)
            found.append(each)
            resident = " ".join(f"{a:.0f} ({b:.0f})" for a, b in zip(each["resident"], each["cached"], strict=True))
            print(
                f"{(number + 1) * seconds / 60:6.1f} {each['turns']:7,} {each['turns'] / seconds:8.1f}"
                f" {1e3 * each['seconds'] / max(1, each['turns']):8.1f} {each['read']:10,} {each['again']:17,}"
                f" {each['lost']:5} {each['twice']:6} {run.opened:9,}  {resident}",
                flush=True,
            )
    finally:
        await run.close()
    return found


def verdict(found: list[dict[str, Any]]) -> str:
    """Returns the line that compares the last quarter with the second."""
    quarter = max(1, len(found) // 4)
    second, last = found[quarter : 2 * quarter] or found, found[-quarter:]
    memory = [mean(each["resident"][0] - each["cached"][0] for each in part) for part in (second, last)]
    times = [sum(each["seconds"] for each in part) / sum(each["turns"] for each in part) for part in (second, last)]
    totals = {name: sum(each[name] for each in found) for name in ("turns", "read", "lost", "twice")}
    return (
        f"{totals['turns']:,} turns, {totals['read']:,} results read back, {totals['lost']} lost, {totals['twice']}"
        " stored twice. Last quarter against the second: memory of the first process without caches"
        f" {memory[1] / memory[0]:.2f},"
        f" processor time of a turn {times[1] / times[0]:.2f}"
    )


@contextmanager
def storage(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yields the arguments of a worker that say where everything is stored, and removes it all at the end."""
    with tempfile.TemporaryDirectory() as folder:
        artifacts = None if asked.state else str(Path(folder) / "artifacts")
        if asked.sqlite or (reason := postgres.missing()):
            print("ADK's SQLite service" + ("" if asked.sqlite else f", since {reason}"))
            yield {"kind": "sqlite", "place": str(Path(folder) / "sessions.db"), "folder": artifacts}
            return
        with postgres.cluster() as server:
            yield {"kind": "postgres", "place": postgres.new_database(server), "folder": artifacts}


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    """Prints the figures of each interval and a last line, and returns the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--sessions", type=int, default=1_000, help="how many stay, the oldest go")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--intervals", type=int, default=INTERVALS)
    parser.add_argument("--state", action="store_true", help="no artifact service, full results in session state")
    parser.add_argument("--sqlite", action="store_true", help="ADK's SQLite service instead of PostgreSQL")
    asked = parser.parse_args(arguments)
    with storage(asked) as place:
        found = asyncio.run(soak(asked, place))
    print(verdict(found), flush=True)
    return found


if __name__ == "__main__":
    main()

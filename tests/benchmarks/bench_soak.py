"""Soak: processes that share one session database run mixed turns for an hour, and some are replaced on the way.

    python -m tests.benchmarks.bench_soak [--minutes 60] [--sessions 1000] [--plain] [--caches MB] [--state] [--sqlite]

The database is a PostgreSQL of its own, or ADK's SQLite service where PostgreSQL is not installed. Full results are
in a folder of artifacts that the processes share, with `--state` in session state. Tools return tables, reports, logs,
errors, references to files and small tables. The model answers from its requests alone, and each answer is checked.
Three turns in ten, and one in ten in a session that ended before, read what is behind a handle of an earlier turn.

After each interval the processes swap their sessions. All but the first process are replaced after every third. The
first lives on, so that its memory shows what a process keeps. With `--plain`, one more process lives on and runs the
same app without the pack, in sessions of its own.

Python's allocator and glibc's tell what the memory of a process is spent on: what is in use outside of the pack, what
the pack holds (memos of sessions, results that were read back, weights of results, hashes of requests and reports),
and memory that was freed and that the allocators keep. The rest of what is resident is the code of libraries. What the
pack holds fills up to its bounds, for which an hour is too short. `--caches 3` makes them so small that it takes
minutes. At the end the last quarter is compared with the second, and glibc gives back what it can of the freed memory.
The processor time of a turn is that of all processes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import Any

from tests.support import postgres
from tests.support.databases import Database

ROOT = Path(__file__).parents[2]
INTERVALS, RESTART_EVERY, TURNS, OLD = 16, 3, 10, 200
_HEAD = (
    "minute   turns  turns/s  ms/turn  read back  of earlier turns  lost  twice  sessions"
    "  resident MB (app + pack + freed) of each process"
)
_CAUSES = {
    "app": "in use outside of the pack",
    "pack": "held by the pack, up to its bounds",
    "unused": "freed, kept by the allocators",
    "resident": "resident, with libraries",
}


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
        pack: whether the app has the plugin.
    """

    def __init__(self, place: dict[str, Any], processes: int, sessions: int, *, pack: bool = True) -> None:
        self._place, self._sessions, self._pack, self._made = place, sessions, pack, 0
        self.workers = [self._worker() for _ in range(processes)]
        self.active: list[dict[str, Any]] = [{} for _ in range(processes)]
        self.ended: dict[str, Any] = {}
        self.opened = 0

    async def interval(self, number: int, *, last: bool, **length: float) -> dict[str, Any]:
        """Runs an interval of so many `seconds`, or `turns` of each lane, and returns the figures of all processes."""
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
            told = {"active": self.active[at], "old": back, "gone": [] if at else gone}
            tasks.append(worker.interval(last=last, **length, **told))
        found = await asyncio.gather(*tasks)
        self.active = [each.pop("active") for each in found]
        before = len(self.ended)
        for each in found:
            self.ended |= each.pop("ended")
        self.opened += len(self.ended) - before
        memory = {name: [each.pop(name) for each in found] for name in ("memory", "trimmed")}
        names = ("turns", "seconds", "read", "again", "lost", "twice")
        return memory | {name: sum(each.get(name, 0) for each in found) for name in names}

    async def close(self) -> None:
        """Ends all processes."""
        for worker in self.workers:
            await worker.close()

    def _worker(self) -> Process:
        self._made += 1
        name = f"{'pack' if self._pack else 'plain'}{self._made}"
        return Process(**self._place, name=name, turns=TURNS, pack=self._pack)


async def soak(asked: argparse.Namespace, place: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Runs all intervals, prints them, and returns the figures with the pack, and those without where asked."""
    told = {**place, "caches": asked.caches}
    soaks = [Soak(told, asked.processes, asked.sessions)]
    soaks += [Soak(told, 1, asked.sessions, pack=False)] if asked.plain else []
    found: list[list[dict[str, Any]]] = [[] for _ in soaks]
    length = {"turns": asked.turns} if asked.turns else {"seconds": asked.minutes * 60 / asked.intervals}
    began = time.monotonic()
    async with Database(kind=place["kind"], place=place["place"]).open() as sessions:
        # ADK's service fails where two processes make its tables at once.
        await sessions.list_sessions(app_name="soak", user_id="user")
    print(_HEAD, flush=True)
    try:
        for number in range(asked.intervals):
            last, start = number + 1 == asked.intervals, time.monotonic()
            every = await asyncio.gather(*(each.interval(number, last=last, **length) for each in soaks))
            now = time.monotonic()
            for kept, one, run, name in zip(found, every, soaks, ("", " without"), strict=False):
                kept.append(one)
                print(f"{(now - began) / 60:6.1f} {line(one, now - start, run.opened)}{name}", flush=True)
    finally:
        for each in soaks:
            await each.close()
    return found


def line(one: dict[str, Any], seconds: float, opened: int) -> str:
    """Returns the figures of one interval."""
    memory = "  ".join(
        f"{each['resident']:.0f} ({each['app']:.0f} + {each['pack']:.0f} + {each['unused']:.0f})" if each else "-"
        for each in one["memory"]
    )
    return (
        f"{one['turns']:7,} {one['turns'] / seconds:8.1f} {1e3 * one['seconds'] / max(1, one['turns']):8.1f}"
        f" {one['read']:10,} {one['again']:17,} {one['lost']:5} {one['twice']:6} {opened:9,}  {memory}"
    )


def quarters(found: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns the intervals of the second quarter and those of the last."""
    quarter = max(1, len(found) // 4)
    return found[quarter : 2 * quarter] or found, found[-quarter:]


def verdict(found: list[dict[str, Any]]) -> str:
    """Returns the line that adds up all turns, and compares their time in the last quarter with the second."""
    times = [sum(each["seconds"] for each in part) / sum(each["turns"] for each in part) for part in quarters(found)]
    totals = {name: sum(each[name] for each in found) for name in ("turns", "read", "lost", "twice")}
    return (
        f"{totals['turns']:,} turns, {totals['read']:,} results read back, {totals['lost']} lost, {totals['twice']}"
        f" stored twice. Processor time of a turn in the last quarter against the second: {times[1] / times[0]:.2f}"
    )


def growth(found: list[dict[str, Any]]) -> str:
    """Returns a table of the first process's memory, by cause, in the second quarter and the last."""
    if found[0]["memory"][0] is None:
        return "memory is not known: the C library is not glibc 2.33 or newer"
    lines = [f"{'MB of the process that lives on':40}  second quarter  last quarter  growth"]
    for name, words in _CAUSES.items():
        second, last = (mean(each["memory"][0][name] for each in part) for part in quarters(found))
        lines.append(f"{words:40} {second:15.1f} {last:13.1f} {last - second:+7.1f}")
    last = found[-1]["memory"][0]
    owners = ", ".join(f"{name} {size:.1f}" for name, size in last["by_owner"].items())
    lines.append(f"resident at the end {last['resident']:.1f}, after malloc_trim {found[-1]['trimmed'][0]:.1f}")
    return "\n".join([*lines, f"held by the pack at the end: {owners}"])


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


def main(arguments: list[str] | None = None) -> list[list[dict[str, Any]]]:
    """Prints the figures of each interval and what they add up to, and returns those of each interval."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--turns", type=int, help="of each lane of a process in an interval, in place of --minutes")
    parser.add_argument("--sessions", type=int, default=1_000, help="how many stay, the oldest go")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--intervals", type=int, default=INTERVALS)
    parser.add_argument("--plain", action="store_true", help="one more process, which runs the app without the pack")
    parser.add_argument("--caches", type=float, metavar="MB", help="a smaller bound for each cache of the pack")
    parser.add_argument("--state", action="store_true", help="no artifact service, full results in session state")
    parser.add_argument("--sqlite", action="store_true", help="ADK's SQLite service instead of PostgreSQL")
    asked = parser.parse_args(arguments)
    with storage(asked) as place:
        found = asyncio.run(soak(asked, place))
    for name, each in zip(("with the pack", "without the pack"), found, strict=False):
        print(f"\n{name}: {verdict(each)}\n{growth(each)}", flush=True)
    return found


if __name__ == "__main__":
    main()

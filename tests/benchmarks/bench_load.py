"""One app, one plugin, many sessions at once: throughput with the pack against without it, and memory.

    python -m tests.benchmarks.bench_load [--sessions 200] [--turns 20] [--rows 150 5] [--seconds 0.0]

Each turn is two model calls and two tools at once. One of them returns 150 rows, of which the pack keeps 50 back, or 5,
where it has nothing to do and only costs. The model answers at once unless `--seconds` says otherwise, so that all of
the time is ADK's and the pack's: with a real provider both wait most of the time, and the ratio is nearer to 1.

The app with the pack and the app without it are a process each, with all their sessions alive to the end. They take
turns: all sessions of one app do their first turn, then all of the other, and so on, the one that begins changing, so
that other work on the machine falls on both alike. The ratio is that of the processor time of all turns together.
Then all sessions are deleted and half as many new ones run, as often as `--waves` says: what a wave leaves beyond what
the wave before it left is what the process would grow by for ever. Nothing here asserts a time.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import logging
import multiprocessing
import sys
import warnings
from collections.abc import Coroutine
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from time import process_time
from typing import Any

from adk_context_pack import ContextPackPlugin
from tests.sessions.load_app import Load

GOAL = 0.9
WITHOUT, WITH = "without the pack", "with the pack"


class App:
    """One of the two apps, in a process of its own that does what it is told."""

    def __init__(self, asked: argparse.Namespace, rows: int, *, pack: bool) -> None:
        spawned = multiprocessing.get_context("spawn")
        self._pipe, other = spawned.Pipe()
        self._process = spawned.Process(target=serve, args=(other, asked, rows, pack), daemon=True)
        self._process.start()
        self.seconds = 0.0

    def turn(self, number: int) -> float:
        """All sessions do a turn; gives the processor time."""
        seconds = self._ask("turn", number)
        self.seconds += seconds
        return seconds

    def wave(self) -> tuple[int, float]:
        """All sessions go and new ones come and go; gives live objects and resident megabytes then."""
        return self._ask("wave", 0)

    def resident_mb(self) -> float:
        """Resident megabytes now."""
        return self._ask("resident", 0)

    def close(self) -> None:
        """Ends the process."""
        self._pipe.send(("end", 0))
        self._process.join()

    def _ask(self, what: str, number: int) -> Any:
        self._pipe.send((what, number))
        return self._pipe.recv()


def main() -> None:
    asked = _arguments()
    for rows in asked.rows:
        print(f"{asked.sessions} sessions of {asked.turns} turns at once, results of {rows} rows", flush=True)
        apps = {WITHOUT: App(asked, rows, pack=False), WITH: App(asked, rows, pack=True)}
        _print_turns(asked, apps)
        _print_waves(asked, apps)
        for app in apps.values():
            app.close()
        ratio = apps[WITHOUT].seconds / apps[WITH].seconds
        print(f"throughput with the pack: {ratio:.1%} of that without (goal: at least {GOAL:.0%})\n", flush=True)


def _print_turns(asked: argparse.Namespace, apps: dict[str, App]) -> None:
    print("turn  busy seconds without  with  throughput")
    for number in range(asked.turns):
        order = list(apps) if number % 2 else list(reversed(apps))
        seconds = {name: apps[name].turn(number) for name in order}
        print(
            f"{number + 1:4} {seconds[WITHOUT]:21.2f} {seconds[WITH]:5.2f} {seconds[WITHOUT] / seconds[WITH]:11.0%}",
            flush=True,
        )
    for name, app in apps.items():
        turns = asked.sessions * asked.turns
        print(f"{name}: {turns / app.seconds:.0f} turns a busy second, {app.resident_mb():.0f} MB resident")


def _print_waves(asked: argparse.Namespace, apps: dict[str, App]) -> None:
    if asked.waves:
        print("wave  objects without   MB  objects with   MB")
    for number in range(asked.waves):
        (few, few_mb), (more, more_mb) = (apps[name].wave() for name in (WITHOUT, WITH))
        print(f"{number + 1:4} {few:16,} {few_mb:4.0f} {more:13,} {more_mb:4.0f}", flush=True)


def serve(pipe: Connection, asked: argparse.Namespace, rows: int, pack: bool) -> None:  # noqa: FBT001
    """What an app's process does."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    # On some releases ADK tries to import what is not installed at each turn, and would compile it each time.
    sys.dont_write_bytecode = False
    settings = {"seconds": asked.seconds, "reads": False, "looks": False}
    load = Load(settings=settings, rows=rows, plugins=[ContextPackPlugin()] if pack else [])
    asyncio.run(_serve(pipe, load, asked))


async def _serve(pipe: Connection, load: Load, asked: argparse.Namespace) -> None:
    await _wave(load, ["warm"], 3)
    ids = [f"s{number}" for number in range(asked.sessions)]
    await load.open(ids)
    while (told := pipe.recv())[0] != "end":
        if told[0] == "turn":
            pipe.send(await _timed(load.go_on(ids, [told[1]])))
        elif told[0] == "wave":
            await load.forget(ids)
            await _wave(load, [f"w{number}" for number in range(asked.sessions // 2)], 2)
            pipe.send((len(gc.get_objects()), _resident_mb()))
        else:
            pipe.send(_resident_mb())


async def _timed(work: Coroutine[Any, Any, Any]) -> float:
    start = process_time()
    await work
    return process_time() - start


async def _wave(load: Load, ids: list[str], turns: int) -> None:
    await load.run(ids, turns)
    for session_id in ids:
        assert (await load.stored(session_id)).state["turns"] == turns
    await load.forget(ids)
    gc.collect()
    with suppress(OSError, AttributeError):
        # What is free goes back to the system, so that what is resident is what is held.
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _resident_mb() -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--rows", type=int, nargs="+", default=[150, 5], help="rows of a tool's result")
    parser.add_argument("--waves", type=int, default=4, help="new sessions that come and go after that")
    parser.add_argument("--seconds", type=float, default=0.0, help="what the model takes for each answer")
    return parser.parse_args()


if __name__ == "__main__":
    main()

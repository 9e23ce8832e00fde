"""One app, one plugin, many sessions at once: throughput with the pack against without it, and memory.

    python -m tests.benchmarks.bench_load [--sessions 200] [--turns 20] [--rows 150 5] [--rounds 3] [--seconds 0.0]

Each turn is two model calls and two tools at once. One of them returns 150 rows, of which the pack keeps 50 back, or 5,
where it has nothing to do and only costs. The model answers at once unless `--seconds` says otherwise, so that all of
the time is ADK's and the pack's: with a real provider both wait most of the time, and the ratio is nearer to 1. Rounds
take turns with and without the pack in one process; the ratio is that of the best rounds, by processor time, which
other work on the machine does not disturb. Nothing here asserts a time.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import warnings
from pathlib import Path
from time import perf_counter, process_time

from adk_context_pack import ContextPackPlugin
from tests.support.load_app import Load

GOAL = 0.9


async def main() -> None:
    asked = _arguments()
    for rows in asked.rows:
        print(f"{asked.sessions} sessions of {asked.turns} turns at once, results of {rows} rows")
        ratio = await _ratio(asked, rows)
        print(f"throughput with the pack: {ratio:.0%} of that without (goal: at least {GOAL:.0%})\n", flush=True)


async def _ratio(asked: argparse.Namespace, rows: int) -> float:
    settings = {"seconds": asked.seconds, "reads": False, "looks": False}
    loads = {
        "without": Load(settings=settings, rows=rows),
        "with": Load(settings=settings, rows=rows, plugins=[ContextPackPlugin()]),
    }
    best = dict.fromkeys(loads, float("inf"))
    for name, load in loads.items():
        await _round(load, f"warm-{name}", min(asked.sessions, 20), 2)
    print("round  pack      seconds  busy seconds  turns a busy second  resident MB")
    for number in range(asked.rounds):
        for name, load in loads.items():
            start = perf_counter()
            busy = await _round(load, f"{number}-{name}", asked.sessions, asked.turns)
            best[name] = min(best[name], busy)
            print(
                f"{number:5}  {name:8} {perf_counter() - start:8.2f} {busy:13.2f}"
                f" {asked.sessions * asked.turns / busy:20.0f} {_resident_mb():12.0f}",
                flush=True,
            )
    return best["without"] / best["with"]


async def _round(load: Load, name: str, sessions: int, turns: int) -> float:
    ids = [f"{name}-{number}" for number in range(sessions)]
    gc.collect()
    start = process_time()
    await load.run(ids, turns)
    seconds = process_time() - start
    for session_id in ids:
        assert (await load.stored(session_id)).state["turns"] == turns
    await load.forget(ids)
    gc.collect()
    return seconds


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
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.0, help="what the model takes for each answer")
    return parser.parse_args()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    asyncio.run(main())

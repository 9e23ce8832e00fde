"""How long large results hold up the event loop in one go, with the pack and without.

    python -m tests.benchmarks.bench_stalls

A real Runner with a tool that returns a large result, and, with the pack, a second call that opens it again. For each
app there are two figures: the longest processor time that the loop's thread took between two beats of a heart, which a
busy machine does not stretch, and the longest time on the clock, which other processes and waiting for the
interpreter's lock stretch.

"ADK alone" sends the whole result to the model. "Thrown away" is a plugin that replaces the result with one word where
the pack would: what is left there is what ADK itself does with a result before any plugin sees it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable
from typing import Any

from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin

from adk_context_pack import ContextPackPlugin, QueryRows, ReadPayload
from tests.attacks.hostile import OddTool, own_run

_BEAT = 0.001


def log() -> str:
    """A log of 50 MB."""
    lines = (f"2026-11-22T10:00:00 INFO worker {number % 50}: item {number} was done" for number in range(900_000))
    return "\n".join(lines)


def tree() -> dict[str, Any]:
    """JSON of 52 MB that has no table."""
    return {f"key {number}": {"n": number, "deep": {"text": "lorem ipsum " * 40}} for number in range(100_000)}


def rows() -> dict[str, Any]:
    """A table of 100,000 rows."""
    return {"rows": [{"id": number, "name": f"row {number}", "v": number * 1.5} for number in range(100_000)]}


def broken() -> dict[str, Any]:
    """A failed result of 20 MB."""
    return {"error": "it failed " * 2_000_000}


CASES: dict[str, tuple[Callable[[], Any], str, dict[str, Any]]] = {
    "log of 50 MB, searched": (log, "read_payload", {"search": "item 899999"}),
    "JSON of 52 MB, searched": (tree, "read_payload", {"search": "key 99999"}),
    "100,000 rows, queried": (rows, "query_rows", {"sql": "SELECT count(*) FROM rows"}),
    "error of 20 MB, searched": (broken, "read_payload", {"search": "failed it"}),
}


class Discard(BasePlugin):
    """Replaces each result with one word, as early as a plugin can."""

    async def on_event_callback(self, *, invocation_context: Any, event: Event) -> None:
        for response in event.get_function_responses():
            response.response = {"result": "done"}


async def longest_stall(value: Any, *calls: tuple[str, dict[str, Any]], plugins: Any = ()) -> tuple[float, float]:
    """The longest time in milliseconds that the loop's thread worked in one go, and the same by the clock."""
    worked: list[float] = []
    passed: list[float] = []

    async def heart() -> None:
        while True:
            work, clock = time.thread_time(), time.perf_counter()
            await asyncio.sleep(_BEAT)
            worked.append(time.thread_time() - work)
            passed.append(time.perf_counter() - clock - _BEAT)

    beating = asyncio.create_task(heart())
    tools = [OddTool("work", value), QueryRows(max_seconds=60), ReadPayload(max_seconds=60)]
    results, _ = await own_run(plugins, tools, ("work", {}), *calls)
    await asyncio.sleep(2 * _BEAT)
    beating.cancel()
    if calls and "error" in results[1]:
        raise RuntimeError(results[1])
    return 1000 * max(worked), 1000 * max(passed)


def handle_of(results: list[Any]) -> str:
    """The handle in a stub."""
    found = re.search(r"handle(?:=\\?'|': ')(\w{11})", str(results[0]))
    return found[1] if found else ""


def main() -> None:
    """Prints the table."""
    logging.disable(logging.ERROR)
    # The first run of an app imports a good part of ADK.
    asyncio.run(longest_stall(["x"], plugins=[ContextPackPlugin()]))
    print("longest stall in ms: work / clock")
    print(f"{'':26}{'ADK alone':>16}{'thrown away':>16}{'with the pack':>16}")
    for name, (make, tool, args) in CASES.items():
        value, opened = make(), (tool, {"handle": handle_of, **args})
        alone = asyncio.run(longest_stall(value))
        floor = asyncio.run(longest_stall(value, plugins=[Discard(name="discard")]))
        packed = asyncio.run(longest_stall(value, opened, plugins=[ContextPackPlugin()]))
        print(
            f"{name:26}" + "".join(f"{work:8.0f} /{clock:6.0f}" for work, clock in (alone, floor, packed)), flush=True
        )


if __name__ == "__main__":
    main()

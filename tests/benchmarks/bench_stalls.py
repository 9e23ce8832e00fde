"""How long large results hold up the event loop in one go, with the pack and without.

    python -m tests.benchmarks.bench_stalls [--baseline none]

A real Runner with a tool that returns a large result, and, with the pack, a second call that opens it again. For each
app the figure is the longest processor time in ms that the loop's thread took between two beats of a heart, which a
busy machine does not stretch. With the pack there is the longest time on the clock as well, which other processes and
waiting for the interpreter's lock stretch.

"ADK alone" sends the whole result to the model. "Thrown away" is a plugin that replaces the result with one word where
the pack would: what is left there is what ADK itself does with a result before any plugin sees it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin

from adk_context_pack import ContextPackPlugin, QueryRows, ReadPayload
from tests.attacks.hostile import OddTool, heart, own_run
from tests.benchmarks.baseline import Row, parser_of, print_rows

GOALS = {"with the pack, work": 50, "with the pack, clock": 50}


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


def csv() -> str:
    """Returns CSV text of 100,000 rows."""
    lines = (f"{number},row {number},{number * 1.5},2026-11-{number % 28 + 1:02}" for number in range(100_000))
    return "id,name,value,day\n" + "\n".join(lines)


def texts() -> dict[str, Any]:
    """Returns 50,000 rows of eight numbers that are written as texts."""
    return {"rows": [{f"n{column}": str(number * column * 1.25) for column in range(8)} for number in range(50_000)]}


def broken() -> dict[str, Any]:
    """A failed result of 20 MB."""
    return {"error": "it failed " * 2_000_000}


CASES: dict[str, tuple[Callable[[], Any], str, dict[str, Any]]] = {
    "log of 50 MB, searched": (log, "read_payload", {"search": "item 899999"}),
    "JSON of 52 MB, searched": (tree, "read_payload", {"search": "key 99999"}),
    "100,000 rows, queried": (rows, "query_rows", {"sql": "SELECT count(*) FROM rows"}),
    "CSV text of 100,000 rows, queried": (csv, "query_rows", {"sql": "SELECT count(*) FROM rows"}),
    "50,000 rows of 8 numbers as texts, queried": (texts, "query_rows", {"sql": "SELECT count(*) FROM rows"}),
    "error of 20 MB, searched": (broken, "read_payload", {"search": "failed it"}),
}


class Discard(BasePlugin):
    """Replaces each result with one word, as early as a plugin can."""

    async def on_event_callback(self, *, invocation_context: Any, event: Event) -> None:
        for response in event.get_function_responses():
            response.response = {"result": "done"}


async def longest_stall(value: Any, *calls: tuple[str, dict[str, Any]], plugins: Any = ()) -> tuple[float, float]:
    """The longest time in milliseconds that the loop's thread worked in one go, and the same by the clock."""
    tools = [OddTool("work", value), QueryRows(max_seconds=60), ReadPayload(max_seconds=60)]
    async with heart() as beats:
        results, _ = await own_run(plugins, tools, ("work", {}), *calls)
    if calls and "error" in results[1]:
        raise RuntimeError(results[1])
    return 1000 * max(beat.worked for beat in beats), 1000 * max(beat.late for beat in beats)


def handle_of(results: list[Any]) -> str:
    """The handle in a stub."""
    found = re.search(r"handle(?:=\\?'|': ')(\w{11})", str(results[0]))
    return found[1] if found else ""


async def stalls(case: str) -> dict[str, float]:
    """Returns the longest stalls of a case in milliseconds, with the pack and without."""
    make, tool, args = CASES[case]
    value, opened = make(), (tool, {"handle": handle_of, **args})
    # The first run of an app imports a good part of ADK.
    await longest_stall(["x"], plugins=[ContextPackPlugin()])
    alone, _ = await longest_stall(value)
    floor, _ = await longest_stall(value, plugins=[Discard(name="discard")])
    work, clock = await longest_stall(value, opened, plugins=[ContextPackPlugin()])
    figures = {"ADK alone": alone, "thrown away": floor, "with the pack, work": work, "with the pack, clock": clock}
    return {name: round(stall) for name, stall in figures.items()}


def main() -> None:
    """Prints the table."""
    asked = parser_of(__doc__).parse_args()
    print_rows((Row(f"ms, {case}", stalls, (case,), GOALS) for case in CASES), asked.baseline)


if __name__ == "__main__":
    main()

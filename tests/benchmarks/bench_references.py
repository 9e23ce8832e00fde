"""Measures results by reference, what a model writes to pass a value on: `python -m tests.benchmarks.bench_references`.

A model lists rows or reads a text and gives it to the next tool, once by writing it again and once by reference. Output
tokens are those of the call's arguments as JSON. The hint is what the shortened result has more, for agents whose tools
take references. The received value is compared with the stored one. Tokens are o200k.
"""

from __future__ import annotations

import asyncio
import csv
import json
from typing import Any

from adk_context_pack import cap_rows, offload_payload, resolve_results
from tests.support.o200k import o200k
from tests.support.references import LETTER, Taker, agent_of, handle_in
from tests.support.run import run_agent
from tests.support.scripted_model import call
from tests.support.shared_data import shared_file


def sources() -> dict[str, tuple[Any, str]]:
    """Returns the values by what they are, and the path by which each is referred to."""
    flights = json.loads(shared_file("flights/flights-20k.json").read_text(encoding="utf-8"))
    with shared_file("google_ads/campaign_stats.csv").open(encoding="utf-8", newline="") as file:
        campaigns = list(csv.DictReader(file))
    return {
        "20 flights": ({"rows": flights[:20]}, ".rows"),
        "200 flights": ({"rows": flights[:200]}, ".rows"),
        "the dates of 200 flights": ({"rows": flights[:200]}, ".rows[*].date"),
        "50 campaign rows": ({"rows": campaigns[:50]}, ".rows"),
        "one cell": ({"rows": campaigns[:50]}, ".rows[3].id"),
        "a letter": (LETTER, ""),
    }


async def passed_on(source: Any, path: str, *, by_reference: bool) -> tuple[Any, int, int]:
    """Returns the value that the tool got, the output tokens of the call, and the tokens of the shortened result."""

    def fetch() -> Any:
        """Fetches it."""
        return source

    taker = Taker()
    is_text = isinstance(source, str)
    fetching = offload_payload(fetch, max_tokens=200, preview_tokens=50) if is_text else cap_rows(fetch, max_rows=3)
    taking = resolve_results(taker.take) if by_reference else taker.take
    value = source if is_text else _value(source["rows"], path)

    def step(request: Any) -> Any:
        return call("take", value=f"{{{{result:{handle_in(request, 'fetch')}{path}}}}}" if by_reference else value)

    run = await run_agent(agent_of(call("fetch"), step, taker=taker, tools=[fetching, taking]), "Pass it on.")
    calls = [one for event in run.session.events for one in event.get_function_calls() if one.name == "take"]
    results = [one for event in run.session.events for one in event.get_function_responses() if one.name == "fetch"]
    if taker.got != [value]:
        raise RuntimeError("the tool got another value")
    return value, _tokens(calls[0].args), _tokens(results[0].response)


def _value(rows: list[dict[str, Any]], path: str) -> Any:
    name = path.rpartition(".")[2]
    return rows if name == "rows" else [row[name] for row in rows] if "*" in path else rows[3][name]


def _tokens(value: Any) -> int:
    return o200k(json.dumps(value, ensure_ascii=False))


async def main() -> None:
    """Prints one line for each value."""
    print(f"{'value':<24}{'retyped':>10}{'by reference':>14}{'share':>8}{'hint':>6}")
    for name, (source, path) in sources().items():
        _, retyped, plain = await passed_on(source, path, by_reference=False)
        _, referred, told = await passed_on(source, path, by_reference=True)
        print(f"{name:<24}{retyped:>10,}{referred:>14,}{referred / retyped:>8.1%}{told - plain:>6}")


if __name__ == "__main__":
    asyncio.run(main())

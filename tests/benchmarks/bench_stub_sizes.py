"""How large the results of six tools are for the model, whole and capped, in o200k tokens.

Run it with `python -m tests.benchmarks.bench_stub_sizes`; `--json` gives the same to a machine. The results are those
on which other libraries were measured: a table of 500 rows with one fraud in the middle, 50 rows, 100 nested objects,
600 lines of a log with one FATAL, 3,000 words of prose, and one of some 22 tokens, which has to come through untouched;
and two real tables, where `../shared/data` is there. For the two tables of transactions it also prints how many of 13
questions are answered by what is visible.
"""

from __future__ import annotations

import asyncio
import csv
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from adk_context_pack import cap_rows
from adk_context_pack._json import json_text
from tests.support.o200k import o200k
from tests.support.shared_data import FOLDER
from tests.support.tables import transactions

WAYS: dict[str, dict[str, Any]] = {
    "max_rows=100": {},
    "csv": {"encoding": "csv"},
    "stub_tokens=600": {"max_tokens": 600, "stub_tokens": 600},
    "5 rows, 600": {"max_rows": 5, "max_tokens": 600, "stub_tokens": 600},
    "stub_tokens=2000": {"max_tokens": 2000, "stub_tokens": 2000},
}
"""Column of the table, and the settings behind it."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """The size of one result whole and capped each way; `untouched` where every way gave back the same object.

    `answers` says by way how many of 13 questions are answered; empty for results that are not transactions.
    """

    name: str
    whole: int
    capped: dict[str, int]
    untouched: bool
    answers: dict[str, int]


def results() -> dict[str, Any]:
    """The results by name."""
    made = random.Random(11)
    words = ("the", "of", "and", "to", "in", "that", "it", "was", "with", "they", "have", "this", "from", "had", "by")
    log = [
        f"2026-05-01 10:{n // 60:02d}:{n % 60:02d} INFO worker-{n % 7} request {n} ok in {n % 90} ms"
        for n in range(600)
    ]
    log[400] = "2026-05-01 10:06:40 FATAL worker-3 out of memory"
    found: dict[str, Any] = {
        "500 rows, one fraud": {"rows": transactions(500)},
        "50 rows": {"rows": transactions(50)},
        "100 nested objects": {"items": [_nested(number, made) for number in range(100)]},
        "600 log lines, one FATAL": {"log": log},
        "3,000 words of prose": {"text": " ".join(made.choices(words, k=3000))},
        "22 tokens": {"status": "ok", "rows": [{"id": 7, "name": "Oslo"}]},
    }
    return found | {name: read() for name, read in REAL.items() if (FOLDER / name).exists()}


def _nested(number: int, made: random.Random) -> dict[str, Any]:
    return {
        "id": number,
        "owner": {
            "name": f"user {number}",
            "address": {"city": made.choice(("Oslo", "Bergen")), "zip": f"{number:04d}"},
        },
        "metrics": {"clicks": made.randint(0, 900), "cost": round(made.uniform(0, 90), 2)},
        "tags": made.sample(("a", "b", "c", "d"), 2),
    }


def _meridian() -> Any:
    with (FOLDER / "meridian/geo_media.csv").open(encoding="utf-8", newline="") as file:
        return {"rows": list(csv.DictReader(file))}


REAL: dict[str, Callable[[], Any]] = {
    "flights/flights-20k.json": lambda: {"rows": json.loads((FOLDER / "flights/flights-20k.json").read_text("utf-8"))},
    "meridian/geo_media.csv": _meridian,
}


async def measure() -> list[Line]:
    """The sizes of all results."""
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="app", user_id="user")
    invocation = InvocationContext(
        session_service=sessions, session=session, invocation_id="i", agent=LlmAgent(name="analyst")
    )
    return [await _line(name, result, invocation) for name, result in results().items()]


async def _line(name: str, result: Any, invocation: InvocationContext) -> Line:
    def tool() -> Any:
        """Returns the result."""
        return result

    capped: dict[str, int] = {}
    same = []
    answers = {}
    asked = result.get("rows", []) if "50" in name and "rows" in name else []
    for way, settings in WAYS.items():
        context = ToolContext(invocation, function_call_id=f"{name} {way}")
        seen = await cap_rows(FunctionTool(tool), store="state", **settings).run_async(args={}, tool_context=context)
        capped[way] = o200k(seen)
        same.append(seen is result)
        if asked:
            answers[way] = len(answered(json_text(seen, layout="spaced"), asked))
    return Line(name=name, whole=o200k(result), capped=capped, untouched=all(same), answers=answers)


def main() -> None:
    """Prints the table, or JSON with `--json`."""
    lines = asyncio.run(measure())
    if "--json" in sys.argv:
        sys.stdout.write(json.dumps([vars(line) for line in lines], indent=1) + "\n")
        return
    out = [f"{'result':26} {'whole':>9} " + " ".join(f"{way:>16}" for way in WAYS)]
    for line in lines:
        sizes = " ".join(f"{size:>16,}" for size in line.capped.values())
        out.append(f"{line.name:26} {line.whole:>9,} {sizes}{'  untouched' if line.untouched else ''}")
        if line.answers:
            answers = " ".join(f"{f'{count}/13':>16}" for count in line.answers.values())
            out.append(f"{'  questions answered':26} {'':>9} {answers}")
    sys.stdout.write("\n".join(out) + "\n")


def questions(rows: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Returns, by question, patterns of which all have to be found in a stub."""
    amounts = [Decimal(str(row["amount"])) for row in rows]
    fuel = sum(Decimal(str(row["amount"])) for row in rows if row["category"] == "fuel")
    countries = Counter(row["country"] for row in rows)
    categories = Counter(row["category"] for row in rows)
    odd = max(rows, key=lambda row: row["amount"])
    return {
        "How many transactions are there?": [rf'"total": {len(rows)}\b'],
        "What is the total amount?": [_number(sum(amounts))],
        "What is the largest amount?": [_number(max(amounts))],
        "What is the smallest amount?": [_number(min(amounts))],
        "What is the mean amount?": [_number(round(sum(amounts) / len(amounts), 2))],
        "How many items were bought?": [_number(sum(row["quantity"] for row in rows))],
        "What did the fees add up to?": [_number(sum(Decimal(str(row["fee"])) for row in rows))],
        "From when to when?": [min(row["date"] for row in rows), max(row["date"] for row in rows)],
        "Which transaction is suspicious, and whose?": [odd["transaction_id"], odd["merchant"]],
        "Which countries are there, with how many transactions each?": [
            _counted(value, count) for value, count in countries.items()
        ],
        "How many transactions of each category?": [_counted(value, count) for value, count in categories.items()],
        "How much was spent on fuel?": [_counted("fuel", fuel)],
        "How much was spent on fuel in Norway in May?": [r"\bno stub says this\b"],
    }


def answered(text: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Returns the questions whose answers are visible in a text."""
    return [asked for asked, patterns in questions(rows).items() if all(re.search(one, text) for one in patterns)]


def _number(value: Any) -> str:
    return rf"(?<![\d.]){re.escape(str(value))}(?![\d])"


def _counted(value: str, count: Any) -> str:
    return rf"\b{re.escape(value)}(?: x|\W{{1,4}}){re.escape(str(count))}(?![\d.])"


if __name__ == "__main__":
    main()

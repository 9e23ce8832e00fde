"""How many real forms of tables are read, how many other texts are taken for one, and how long large texts take.

Run it with `python -m tests.benchmarks.bench_find_tables`. The forms are those of `tests/tables/golden`. A text is read
in a worker thread as well, while an event loop counts how long it had to wait: that is the stall that users notice.
"""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.tables.columns import iter_columns
from adk_context_pack.tables.find_tables import find_tables
from adk_context_pack.tools.open_results import load_tables

GOLDEN = Path(__file__).parents[1] / "tables/golden"
ROWS = 100_000
_BEAT = 0.002


def cases() -> list[tuple[str, dict[str, Any]]]:
    """The golden cases, each with the name of its file."""
    files = sorted(GOLDEN.glob("*.toml"))
    return [(path.stem, case) for path in files for case in tomllib.loads(path.read_text("utf-8"))["case"]]


def is_read(case: dict[str, Any]) -> bool:
    """Returns whether the rows are counted, the columns named, and the table can be queried."""
    value = json.loads(case["json"], strict=False) if "json" in case else case["text"]
    found = [table for table in find_tables(value) if table.key == case.get("key", "result")]
    if len(found) != 1 or len(found[0].rows) != case["rows"]:
        return False
    names = [column.name for column in iter_columns(found[0].rows, found[0].columns)]
    database = RowDatabase({"h": load_tables(value)})
    try:
        answer = database.query(f"SELECT count(*) FROM {case.get('sql', 'rows')}", max_rows=1, max_seconds=5)
    finally:
        database.close()
    return names == case.get("labels", case["columns"]) and answer.rows[0][0] == case["rows"]


def score() -> tuple[int, int, int, int]:
    """Returns forms read, forms, other texts taken for tables, and other texts."""
    forms = [case for file, case in cases() if file != "others"]
    others = [case for file, case in cases() if file == "others"]
    return sum(map(is_read, forms)), len(forms), sum(bool(find_tables(case["text"])) for case in others), len(others)


def texts() -> dict[str, str]:
    """Large texts by name."""
    lines = [f"{n},{n * 3},name {n % 50},2026-01-{n % 28 + 1:02d},{n / 7:.2f},x,{n % 9},q" for n in range(ROWS)]
    names = "a,b,c,d,e,f,g,h"
    quoted = "\n".join([names, *(f'{line[:-1]}"q, {n}"' for n, line in enumerate(lines))])
    rows = [dict(zip(names.split(","), line.split(","), strict=True)) for line in lines]
    log = "\n".join(
        f"2026-05-01 10:00:{n % 60:02d},{n % 999:03d} INFO worker-{n % 7} request {n} ok" for n in range(ROWS)
    )
    return {
        "CSV": "\n".join([names, *lines]),
        "CSV, a quoted cell in each row": quoted,
        "CSV behind a title, before a remark": "\n".join(["Report", names, *lines, "", "100000 rows"]),
        "JSON": json.dumps({"data": {"rows": rows}}),
        "JSON lines": "\n".join(map(json.dumps, rows)),
        "Markdown": "\n".join(
            ["| a | b | c |", "|---|---|---|", *(f"| {n} | name {n % 50} | {n / 7:.2f} |" for n in range(ROWS))]
        ),
        "a log": log,
    }


async def longest_wait(work: Callable[[], Any]) -> float:
    """Returns how long the event loop had to wait at most while `work` ran in a thread."""
    worst = 0.0
    task = asyncio.ensure_future(asyncio.to_thread(work))
    while not task.done():
        start = perf_counter()
        await asyncio.sleep(_BEAT)
        worst = max(worst, perf_counter() - start - _BEAT)
    await task
    return worst


def main() -> None:
    """Prints the score and the times."""
    read, forms, taken, others = score()
    print(f"forms read {read} of {forms} ({read / forms:.1%}), other texts taken for tables {taken} of {others}")
    print(f"{'100,000 lines':38} {'MB':>5} {'rows':>8} {'seconds':>8} {'stall in a thread, ms':>22}")
    for name, text in texts().items():
        start = perf_counter()
        tables = find_tables({"out": text})
        took = perf_counter() - start
        stall = asyncio.run(longest_wait(lambda text=text: find_tables({"out": text})))
        rows = len(tables[0].rows) if tables else 0
        print(f"{name:38} {len(text) / 1e6:5.1f} {rows:8,} {took:8.2f} {1000 * stall:22.0f}")


if __name__ == "__main__":
    main()

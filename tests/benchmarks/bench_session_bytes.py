"""Bytes of a stored turn by what they are for.

    python -m tests.benchmarks.bench_session_bytes [--rows 150] [--turns 10] [--baseline none]

A turn is that of `bench_session_size`: a question, a call, its result of so many rows, and an answer, in ADK's SQLite
service. The first table gives what the pack adds to a stored event of the model, and the second one says what each byte
of a turn in the database is for. The database itself takes more, since SQLite fills pages.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import tempfile
import warnings
from collections import Counter
from contextlib import closing
from pathlib import Path
from statistics import mean
from typing import Any

from tests.benchmarks.baseline import Row, parser_of, print_rows
from tests.benchmarks.bench_session_size import APPS, Analyst, grown, size_of, sqlite

GOAL = dict.fromkeys(APPS[1:], 200)


def by_category(path: Path) -> Counter[str]:
    """Returns the bytes of a session database by what they are for."""
    found: Counter[str] = Counter()
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        for row in connection.execute("SELECT state FROM sessions"):
            found["results in the session's state"] += len(row["state"].encode())
        for row in connection.execute("SELECT * FROM events"):
            values = dict(row)
            _add_event(found, values.pop("event_data"))
            found["columns of events"] += sum(len(str(value)) for value in values.values() if value is not None)
    return found


def _add_event(found: Counter[str], data: str) -> None:
    event, left = json.loads(data), len(data.encode())
    parts: list[tuple[str, Any]] = [
        ("results in the events' state changes", event.get("actions", {}).get("state_delta")),
        ("reports of the pack", (event.get("custom_metadata") or {}).get("adk_context_pack")),
    ]
    for part in (event.get("content") or {}).get("parts") or ():
        for name, value in ((part.get("function_response") or {}).get("response") or {}).items():
            parts.append((f"the model sees: {name if name.startswith('_') else 'rows'}", value))
    for name, value in parts:
        size = len(json.dumps(value, separators=(",", ":"))) if value else 0
        found[name] += size
        left -= size
    found["the rest of events"] += left


async def added(rows: int, turns: int) -> dict[str, int]:
    """Returns how many bytes more than without the pack an event of the model takes where it is stored."""
    sizes = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, path in (await grown(Path(folder), turns, rows)).items():
            with closing(sqlite3.connect(path)) as connection:
                events = [data for (data,) in connection.execute("SELECT event_data FROM events")]
            sizes[name] = mean(len(data.encode()) for data in events if json.loads(data)["content"]["role"] == "model")
    return {name: round(sizes[name] - sizes[APPS[0]]) for name in APPS[1:]}


async def stored(name: str, rows: int, turns: int) -> tuple[Counter[str], int]:
    """Returns the bytes of a turn by category, and of the database."""
    with tempfile.TemporaryDirectory() as folder:
        service, path = sqlite(Path(folder), name)
        app = Analyst(name, service, rows)
        for _ in range(turns):
            await app.turn()
        found = by_category(path)
        return Counter({name: round(size / turns) for name, size in found.items()}), round(size_of(path) / turns)


async def main() -> None:
    """Prints the tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--turns", type=int, default=10)
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    what = "bytes that the pack adds to each stored event of the model"
    print_rows([Row(what, added, (asked.rows, asked.turns), GOAL)], asked.baseline)
    found = [await stored(name, asked.rows, asked.turns) for name in APPS]
    print(f"\nbytes of a turn with {asked.rows} rows\n\n| for | {' | '.join(APPS)} |\n| --- {'| --- ' * len(APPS)}|")
    for category in sorted(set().union(*(parts for parts, _ in found))):
        print(f"| {category} | {' | '.join(f'{parts[category]:,}' for parts, _ in found)} |")
    print(f"| in the database | {' | '.join(f'{size:,}' for _, size in found)} |")


if __name__ == "__main__":
    asyncio.run(main())

"""Time of `query_rows` on 100,000 rows against SQLite by hand; `python -m tests.benchmarks.bench_query_rows`.

Ratios within one run, medians of interleaved repeats. By hand: one list comprehension and one `executemany` into a
table with the same columns, then the same query. The goal for the first query is 1.5; the next ones reuse the table.
"""

from __future__ import annotations

import asyncio
import sqlite3
from statistics import median
from time import perf_counter

from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.tools.query_rows import load_tables

ROWS = 100_000
REPEATS = 7
SQL = "SELECT device, sum(clicks), avg(cost) FROM rows WHERE impressions > 500 GROUP BY device"


def rows() -> list[dict]:
    """Eight columns: identifier, date, text, integers, floats, a category, a flag."""
    return [
        {
            "id": number,
            "date": f"2026-01-{number % 28 + 1:02d}",
            "campaign": f"campaign {number % 500}",
            "device": ("MOBILE", "DESKTOP", "TABLET")[number % 3],
            "clicks": number % 977,
            "impressions": number * 7 % 10_007,
            "cost": number * 1.25,
            "active": number % 2 == 0,
        }
        for number in range(ROWS)
    ]


def by_hand(data: list[dict]) -> None:
    columns = list(data[0])
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE rows ({', '.join(columns)})")
    values = [[row[column] for column in columns] for row in data]
    connection.executemany(f"INSERT INTO rows VALUES ({','.join('?' * len(columns))})", values)
    connection.execute(SQL).fetchall()


def first_query(data: list[dict]) -> RowDatabase:
    database = load_tables({"rows": data}, max_seconds=5, max_bytes=2**28)
    database.query(SQL, max_rows=100)
    return database


def timed(action) -> float:
    start = perf_counter()
    action()
    return perf_counter() - start


async def in_a_thread(database: RowDatabase) -> None:
    await asyncio.to_thread(database.query, SQL, max_rows=100)


def main() -> None:
    data = rows()
    database = first_query(data)
    hand, first, later = [], [], []
    for _ in range(REPEATS):
        hand.append(timed(lambda: by_hand(data)))
        first.append(timed(lambda: first_query(data)))
        later.append(timed(lambda: asyncio.run(in_a_thread(database))))
    base = median(hand)
    print(f"{ROWS} rows by hand        {base * 1000:7.1f} ms")
    print(f"first query, ratio       {median(first) / base:7.2f}")
    print(f"later query, ratio       {median(later) / base:7.2f}")
    print(f"table in memory          {database.size_bytes / 2**20:7.1f} MB")


if __name__ == "__main__":
    main()

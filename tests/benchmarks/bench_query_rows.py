"""Time of `query_rows` on 100,000 rows against SQLite by hand; `python -m tests.benchmarks.bench_query_rows`.

Ratios within one run, medians of interleaved repeats. By hand: one list comprehension and one `executemany` into a
table with the same columns, then the same query. The goal for the first query is 1.4; the next ones reuse the table.
The first query of a process also starts a child process, which happens while the rows are loaded.
"""

from __future__ import annotations

import sqlite3
from statistics import median
from time import perf_counter

from adk_context_pack.sql.sql_names import TableImage
from adk_context_pack.sql.worker_pool import WorkerPool, query_images
from adk_context_pack.tools.open_results import load_tables

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


def ask(pool: WorkerPool, image: TableImage, sql: str = SQL) -> None:
    limits = {"max_rows": 100, "max_seconds": 5, "max_bytes": 2**28}
    pool.submit(1, lambda process: query_images(process, {"h": image}, sql, **limits), patience=60).result()


def first_query(pool: WorkerPool, data: list[dict]) -> TableImage:
    """Loads and asks as `query_rows` does: the process starts before the rows are loaded."""

    def job(process):
        process.start()
        image = load_tables({"rows": data})
        query_images(process, {"h": image}, SQL, max_rows=100, max_seconds=5, max_bytes=2**28)
        return image

    return pool.submit(1, job, patience=60).result()


def timed(action) -> float:
    start = perf_counter()
    action()
    return perf_counter() - start


def in_a_cold_pool(data: list[dict]) -> float:
    pool = WorkerPool(size=1)
    try:
        return timed(lambda: first_query(pool, data))
    finally:
        pool.close()


def main() -> None:
    data = rows()
    few = load_tables({"rows": data[:100]})
    pool = WorkerPool(size=1)
    image = first_query(pool, data)
    hand, first, cold, later, alone, tiny = [], [], [], [], [], []
    for _ in range(REPEATS):
        hand.append(timed(lambda: by_hand(data)))
        first.append(timed(lambda: first_query(pool, data)))
        cold.append(in_a_cold_pool(data))
        ask(pool, image)
        later.append(timed(lambda: ask(pool, image)))
        ask(pool, few)
        tiny.append(timed(lambda: ask(pool, few, "SELECT count(*) FROM rows")))
        pool.close()
        alone.append(timed(lambda: ask(pool, few)))
    pool.close()
    base = median(hand)
    print(f"{ROWS} rows by hand              {base * 1000:7.1f} ms")
    print(f"first query, process runs, ratio {median(first) / base:7.2f}")
    print(f"first query, process new, ratio  {median(cold) / base:7.2f}")
    print(f"later query, ratio               {median(later) / base:7.2f}")
    print(f"a new process and 100 rows       {median(alone) * 1000:7.1f} ms")
    print(f"the next query over 100 rows     {median(tiny) * 1000:7.1f} ms")
    print(f"table in memory                  {len(image.data) / 2**20:7.1f} MB")


if __name__ == "__main__":
    main()

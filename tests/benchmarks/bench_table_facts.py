"""Facts over 100,000 rows of eight columns held as dicts, against pandas and polars, as ratios in one run.

    python -m tests.benchmarks.bench_table_facts [--rows 100000] [--rounds 15] [--baseline none]

Each library builds its frame from the same list and computes the same facts: sum, minimum, maximum, mean, missing
count, rows of the extremes and outliers (beyond 3 times the distance of the quartiles) of four number columns;
distinct values, the commonest one and the missing count of four others; the range of the dates. The answers are
checked against one another before anything is timed. Rounds are interleaved, and the ratio is that of the fastest
rounds, since other work on the machine only ever adds time. Needs pandas and polars, and goes on with what is there.
"""

from __future__ import annotations

import json
import random
import time
import tracemalloc
from importlib import import_module
from importlib.util import find_spec

from adk_context_pack.tables.table_facts import table_facts
from tests.benchmarks.baseline import Row, parser_of, print_rows

GOALS = {"of polars": 1.0, "of pandas": 1.0}
NUMBERS = ("impressions", "clicks", "cost_micros", "conversions")
OTHERS = ("id", "date", "campaign", "device")


def make_rows(count):
    rng = random.Random(1)
    # From JSON, as a tool has them: equal texts are then different objects.
    return json.loads(json.dumps([make_row(rng, index) for index in range(count)]))


def make_row(rng, index):
    return {
        "id": 10_000_000 + index,
        "date": f"2024-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
        "campaign": f"Campaign {rng.randint(1, 200)}",
        "device": rng.choice(("MOBILE", "DESKTOP", "TABLET")),
        "impressions": rng.randint(0, 100_000),
        "clicks": rng.randint(0, 5_000),
        "cost_micros": rng.randint(0, 10**9),
        "conversions": rng.random() * 20,
    }


def with_ours(rows):
    columns = {column.name: column for column in table_facts(rows).columns}
    facts = {}
    for name in NUMBERS:
        c = columns[name]
        facts[name] = (c.total, c.minimum, c.maximum, c.mean, c.missing, c.min_row, c.max_row)
    for name in OTHERS:
        commonest = columns[name].commonest
        facts[name] = (columns[name].distinct, commonest[0][1] if commonest else 1, columns[name].missing)
    facts["range"] = (columns["date"].minimum, columns["date"].maximum)
    return facts


def with_pandas(rows):
    frame, facts = import_module("pandas").DataFrame(rows), {}
    for name in NUMBERS:
        column = frame[name]
        low, high = column.quantile([0.25, 0.75])
        width = 3 * (high - low)
        frame.index[(column < low - width) | (column > high + width)].tolist()
        total, missing = column.sum(), int(column.isna().sum())
        facts[name] = (total, column.min(), column.max(), column.mean(), missing, column.idxmin(), column.idxmax())
    for name in OTHERS:
        counts = frame[name].value_counts()
        facts[name] = (len(counts), int(counts.iloc[0]), int(frame[name].isna().sum()))
    facts["range"] = (frame["date"].min(), frame["date"].max())
    return facts


def with_polars(rows):
    frame, facts = import_module("polars").DataFrame(rows), {}
    for name in NUMBERS:
        column = frame[name]
        low, high = column.quantile(0.25), column.quantile(0.75)
        width = 3 * (high - low)
        ((column < low - width) | (column > high + width)).arg_true().to_list()
        total, missing = column.sum(), column.null_count()
        facts[name] = (total, column.min(), column.max(), column.mean(), missing, column.arg_min(), column.arg_max())
    for name in OTHERS:
        counts = frame[name].value_counts(sort=True)
        facts[name] = (len(counts), counts.row(0)[1], frame[name].null_count())
    facts["range"] = (frame["date"].min(), frame["date"].max())
    return facts


def agree(one, other):
    return all(
        abs(a - b) <= 1e-9 * abs(a) if isinstance(a, float) else a == b
        for name in one
        for a, b in zip(one[name], other[name], strict=True)
    )


def fastest(ways, rows, rounds):
    times = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            way(rows)
            times[name].append(time.perf_counter() - start)
    return {name: min(taken) for name, taken in times.items()}


def memory(count):
    tracemalloc.start()
    rows = make_rows(count)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    table_facts(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"against that of the rows": (peak - held) / held}


def ratios(count, rounds):
    rows = make_rows(count)
    ways = {"adk_context_pack": with_ours}
    ways |= {name: way for name, way in (("pandas", with_pandas), ("polars", with_polars)) if find_spec(name)}
    answers = {name: way(rows) for name, way in ways.items()}
    for name, answer in answers.items():
        if not agree(answers["adk_context_pack"], answer):
            raise RuntimeError(f"{name} computes other facts")
    times = fastest(ways, rows, rounds)
    ours = times.pop("adk_context_pack")
    return {"ms": round(1000 * ours, 1), **{f"of {name}": ours / taken for name, taken in times.items()}}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    what = f"facts over {asked.rows:,} rows"
    rows = [Row(what, ratios, (asked.rows, asked.rounds), GOALS, 3), Row(f"memory of {what}", memory, (asked.rows,))]
    print_rows(rows, asked.baseline)


if __name__ == "__main__":
    main()

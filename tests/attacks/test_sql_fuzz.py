"""SQL from a grammar, run in a child process as a model's would be; `FUZZ_SECONDS=3600` for an hour of it.

By default a few seconds; the command for a minute is `FUZZ_SECONDS=60 python -m pytest tests/attacks/test_sql_fuzz.py`.
"""

import random
import threading
from pathlib import Path

import pytest

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.guard import check_statement
from adk_context_pack.sql.worker_pool import WorkerProcess, query_images
from adk_context_pack.tools.open_results import load_tables
from tests.benchmarks.process_memory import resident_bytes
from tests.support.fuzz import SECONDS, seeds

LIMITS = {"max_rows": 5, "max_seconds": 0.25, "max_bytes": 32 * 2**20}
ROWS = [
    {"id": number, "x": number * 1.5, "t": "abc" * number, "tags": [number], "m": {"c": number}} for number in range(50)
]
COUNT = "SELECT count(*), sum(id), sum(length(t)) FROM rows"
WORDS = "r0.id r0.x r0.t r0.tags r0.m.c r0.id r0.t NULL 1 0 -7 2.5 9223372036854775807 1e308 'a' '%a%' '' x'00ff'"
PLAIN = {
    1: "abs length upper hex char quote typeof date julianday round trim json_array unicode sqrt sign",
    2: "instr substr printf json_extract trim like glob strftime coalesce ifnull nullif mod pow",
    3: "replace substr printf iif json_object min max",
}
AGGREGATES = "avg count sum total min max group_concat json_group_array"
WINDOWS = "row_number() rank() lag(r0.id) ntile(3) sum(r0.x) first_value(r0.t)"
FORBIDDEN = "zeroblob randomblob load_extension sqlite_version readfile unknown_one fts3_tokenizer"
BINARY = "+ - * / % || = <> < > AND OR LIKE GLOB IS & <<"
NOISE = "( ) ; ' \" -- /* , SELECT FROM DROP PRAGMA ATTACH \0 r0 WITH"


class Grammar:
    """Makes statements: most of them right, some broken, some that write, some that explode."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def statement(self):
        sql = self.with_parts() if self.random.random() < 0.3 else self.select(3)
        if self.random.random() < 0.15:
            words = sql.split(" ")
            words.insert(self.random.randrange(len(words) + 1), self.pick(NOISE))
            sql = " ".join(words)
        return sql

    def with_parts(self):
        count = self.random.choice([1, 2, 3, 12, 22])
        parts = ["c0 AS (" + self.select(1) + ")"]
        for number in range(1, count):
            names = ", ".join(f"c{number - 1} AS n{copy}" for copy in range(self.random.choice([1, 1, 2, 3])))
            parts.append(f"c{number} AS (SELECT {self.random.choice(['*', 'count(*)', 'n0.*'])} FROM {names})")
        recursive = "RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r), " if self.random.random() < 0.2 else ""
        table = "r" if recursive and self.random.random() < 0.5 else f"c{count - 1}"
        return f"WITH {recursive}{', '.join(parts)} SELECT count(*) FROM {table}"

    def select(self, depth):
        kind = self.random.random()
        if kind < 0.4:
            columns = ", ".join(self.aggregate(depth) for _ in range(self.random.randint(1, 3)))
        else:
            columns = ", ".join(self.value(depth) for _ in range(self.random.randint(1, 4)))
        if kind > 0.9:
            columns += f", {self.pick(WINDOWS)} OVER (ORDER BY {self.value(0)})"
        sql = f"SELECT {columns} FROM {self.tables(depth)}"
        if self.random.random() < 0.4:
            sql += f" WHERE {self.value(depth)}"
        if self.random.random() < 0.3:
            sql += f" GROUP BY r0.{self.pick('id x t tags')}"
        if self.random.random() < 0.2:
            sql += f" {self.random.choice(['UNION', 'UNION ALL', 'EXCEPT'])} {sql}"
        elif self.random.random() < 0.3:
            sql += f" ORDER BY r0.{self.pick('id x t tags')}"
        return sql + (f" LIMIT {self.random.randint(0, 9)}" if self.random.random() < 0.3 else "")

    def tables(self, depth):
        names = [f"rows AS r{number}" for number in range(self.random.choice([1, 1, 1, 2, 3, 5]))]
        if depth and self.random.random() < 0.3:
            names.append(f"({self.select(depth - 1)})")
        if self.random.random() < 0.05:
            names.append(self.pick("json_each(r0.tags) sqlite_master nothing pragma_table_info('rows') dbstat"))
        return self.random.choice([", ", " JOIN ", " LEFT JOIN "]).join(names)

    def aggregate(self, depth):
        return f"{self.pick(AGGREGATES)}({self.random.choice(['', '', 'DISTINCT '])}{self.value(depth - 1)})"

    def value(self, depth):
        pick = self.random.random()
        if depth <= 0 or pick < 0.3:
            return self.pick(WORDS)
        if pick < 0.6:
            count = self.random.randint(1, 3)
            name = self.pick(PLAIN[count]) if self.random.random() < 0.98 else self.pick(FORBIDDEN)
            return f"{name}({', '.join(self.value(depth - 1) for _ in range(count))})"
        if pick < 0.8:
            return f"({self.value(depth - 1)} {self.pick(BINARY)} {self.value(depth - 1)})"
        if pick < 0.86:
            return f"printf('%.*c', {10 ** self.random.randint(1, 9)}, 'a')"
        if pick < 0.93:
            return f"CASE WHEN {self.value(depth - 1)} THEN {self.value(depth - 1)} ELSE {self.value(depth - 1)} END"
        return f"(SELECT {self.value(depth - 1)} FROM rows AS r0 LIMIT 1)"

    def pick(self, words):
        return self.random.choice(words.split(" "))


class Watch:
    """Kills a process whose query goes on for a minute in place of a quarter of a second, and remembers that."""

    def __init__(self, process):
        self.late = False
        self._timer = threading.Timer(60, self._end, (process,))

    def _end(self, process):
        self.late = True
        process._process.kill()

    def __enter__(self):
        self._timer.start()
        return self

    def __exit__(self, *_):
        self._timer.cancel()


def outcome(process, image, sql):
    """The rows, or the error in words; anything else is raised."""
    try:
        check_statement(sql, ["h"])
        return query_images(process, {"h": image}, sql, **LIMITS).rows
    except QueryError as error:
        return str(error)


@pytest.mark.parametrize("worker", [0, 1])
def test_no_statement_of_a_grammar_gets_out(worker):
    """Every statement ends in time with rows or an error, the rows stay as they were, and the process does not grow."""
    process, image = WorkerProcess(), load_tables({"rows": ROWS})
    tried, right = 0, 0
    try:
        expected = outcome(process, image, COUNT)
        for seed in seeds(seconds=SECONDS or 4, shares=2, share=worker):
            sql = Grammar(seed).statement()
            with Watch(process) as watch:
                said = outcome(process, image, sql)
            assert not watch.late, (seed, sql)
            right += isinstance(said, list)
            assert isinstance(said, list) or (0 < len(said) < 500 and "\n" not in said), (seed, sql)
            if seed % 20 == 0:
                assert outcome(process, image, COUNT) == expected, (seed, sql)
            if Path("/proc/self/statm").exists() and process._process is not None:
                assert resident_bytes(process._process.pid) < 160 * 2**20, (seed, sql)
            tried += 1
    finally:
        process.kill()
    assert right > tried * 0.1
    print(f"{tried} statements, {right} answered with rows")  # noqa: T201 - read with -s

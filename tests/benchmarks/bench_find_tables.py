"""How many real forms of tables are read, and how many other texts are taken for one.

    python -m tests.benchmarks.bench_find_tables [FOLDER]

The forms are those of `tests/tables/golden`. Of a folder of CSV files instead, each sum of the facts, and the same one
in SQL, is compared with that of the cells as decimals. It ends with an error if one is wrong, or if a file of 100 is no
table. `.ci/nightly` does so with over 2,000 data sets of the packages of R.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from itertools import islice
from math import isclose
from pathlib import Path
from typing import Any

from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.tables.columns import iter_columns
from adk_context_pack.tables.find_tables import find_tables
from adk_context_pack.tables.table_facts import table_facts
from adk_context_pack.tools.open_results import load_tables

GOLDEN = Path(__file__).parents[1] / "tables/golden"


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


def sums_in(text: str) -> Iterator[list[Any]]:
    """Yields the name of each column of decimals with its sum by facts, in SQL and by hand, or one [] for no table."""
    names, *rows = csv.reader(text.splitlines(keepends=True))
    tables = find_tables(text)
    if [len(table.rows) for table in tables] != [len(rows)]:
        yield []
        return
    database = RowDatabase({"h": load_tables(text)})
    columns = (
        each for each in table_facts(tables[0].rows, columns=tables[0].columns).columns if each.total is not None
    )
    for name, total in ((each.name, each.total) for each in columns if names.count(each.name) == 1):
        cells = [row[names.index(name)] for row in rows]
        if all(map(re.compile(r"(-?\d+\.?\d*([eE][-+]?\d+)?)?").fullmatch, cells)):
            answer = database.query(f'SELECT sum("{name}") FROM rows', max_rows=1, max_seconds=9)
            yield [name, total, answer.rows[0][0], sum(Decimal(cell) for cell in cells if cell)]
    database.close()


def check(folder: Path, lines: int = 300) -> None:
    """Prints what is wrong in the first lines of each file, and counts."""
    found = {path.name: list(sums_in("".join(islice(path.open(), lines)))) for path in sorted(folder.glob("*.csv"))}
    others = [name for name, sums in found.items() if [] in sums]
    told = [(name, *each) for name, sums in found.items() for each in sums if each]
    same = partial(isclose, rel_tol=1e-9, abs_tol=1e-12)
    wrong = [each for each in told if not all(same(float(figure), each[-1]) for figure in each[2:])]
    print(*wrong, sep="\n")
    print(f"{len(found)} files, {len(others)} no tables: {others}; {len(told)} sums, {len(wrong)} wrong")
    sys.exit(bool(wrong) or len(others) * 100 > len(found))


def main() -> None:
    """Prints the score."""
    if sys.argv[1:]:
        check(Path(sys.argv[1]))
    read, forms, taken, others = score()
    print(f"forms read {read} of {forms} ({read / forms:.1%}), other texts taken for tables {taken} of {others}")


if __name__ == "__main__":
    main()

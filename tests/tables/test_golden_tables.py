"""Real forms of tables, and texts that are not tables."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.tables.columns import iter_columns
from adk_context_pack.tables.find_tables import find_tables
from adk_context_pack.tables.numbers import plain
from adk_context_pack.tables.table_facts import table_facts
from adk_context_pack.tools.open_results import load_tables

GOLDEN = Path(__file__).parent / "golden"


def cases(*names: str) -> dict[str, dict[str, Any]]:
    """The cases of some files, by name."""
    found = [case for name in names for case in tomllib.loads((GOLDEN / f"{name}.toml").read_text("utf-8"))["case"]]
    assert len({case["name"] for case in found}) == len(found)
    return {case["name"]: case for case in found}


TABLES = cases("csv", "drawn", "json_text", "services", "values")
OTHERS = cases("others")


def value_of(case):
    return json.loads(case["json"], strict=False) if "json" in case else case["text"]


def said(case):
    """The number of tables, and of the one that the case is about its key, rows, columns and first or last row."""
    tables = find_tables(value_of(case), min_rows=case.get("min_rows", 1))
    first = next((table for table in tables if table.key == case.get("key", "result")), None)
    columns = list(iter_columns(first.rows, first.columns)) if first else []
    ends = [[plain(column.values[at]) for column in columns] for at in (0, -1)]
    return {
        "tables": len(tables),
        "key": first.key if first else None,
        "rows": len(first.rows) if first else 0,
        "columns": [column.name for column in columns],
        "first": [[str("" if cell is None else cell) for cell in end] for end in ends[: 1 + ("last" in case)]],
    }


@pytest.mark.parametrize("case", TABLES.values(), ids=TABLES)
def test_a_table_is_read(case):
    """Each form gives one table with its rows, the names of its columns and the cells of its first row."""
    assert said(case) == {
        "tables": case.get("tables", 1),
        "key": case.get("key", "result"),
        "rows": case["rows"],
        "columns": case.get("labels", case["columns"]),
        "first": [case[end] for end in ("first", "last") if end in case],
    }


@pytest.mark.parametrize("case", TABLES.values(), ids=TABLES)
def test_a_table_can_be_queried(case):
    """SQL over the stored result counts the same rows, and has the limits of its columns that facts have."""
    database = RowDatabase({"h": load_tables(value_of(case))})
    answer = database.query(f"SELECT count(*) AS n FROM {case.get('sql', 'rows')}", max_rows=5, max_seconds=5)
    for name, limits in case.get("limits", {}).items():
        facts = table_facts(find_tables(value_of(case))[0].rows).column(name)
        found = database.query(f'SELECT min("{name}"), max("{name}") FROM rows', max_rows=5, max_seconds=5).rows[0]
        assert [float(facts.minimum), float(facts.maximum)] == found == limits
    database.close()
    assert answer.rows[0][0] == case["rows"]


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS)
def test_a_text_that_is_not_a_table_is_none(case):
    """Prose, code, logs, letters and settings hold no table, at the start of a result and within one."""
    assert find_tables(case["text"]) == []
    assert find_tables({"output": case["text"]}) == []

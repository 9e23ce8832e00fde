"""A CSV file of the user's own as an account: one resource, `data`, with the file's columns as fields."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .account import Account, Field, Resource, open_database

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_IDENTIFIER = re.compile(r"(^|_)(id|ids|criterion)$")
# Adding up a rate, a level or a price says nothing, so these are attributes of a row and no metrics.
_NOT_ADDITIVE = re.compile(
    r"_per_|_rate$|ratio|score|viewability|measurability$|population|average|(^|_)(ctr|cpc|cpm|roas)$"
)
_ENTRIES = Field(name="metrics.entries", kind="INT64", about="how many lines of the file", column="entries")
_SQL_TYPES = {"INT64": "INTEGER", "DOUBLE": "REAL"}


def csv_account(path: Path) -> Account:
    """The account that a CSV file with a header line holds.

    Columns of numbers that can be added up become `metrics.<column>`, all others `segments.<column>`, in lower case.

    Args:
        path: the file; UTF-8, comma-separated, the first line names the columns.

    Raises:
        ValueError: the file has no rows, or one that does not fit its header line.
        OSError: the file cannot be read.
    """
    header, rows = _read(path)
    columns = [tuple(row[place] for row in rows) for place in range(len(header))]
    fields = [_field(name, values) for name, values in zip(header, columns, strict=True)]
    if not any(entry.is_metric for entry in fields):
        # A list of things without figures: what can be added up is how many there are.
        fields, rows = [*fields, _ENTRIES], [[*row, "1"] for row in rows]
    connection = open_database([(entry.column, _SQL_TYPES.get(entry.kind, "TEXT")) for entry in fields])
    marks = ", ".join("?" for _ in fields)
    # SQLite's column types turn the text of numbers into numbers; an empty cell is no value, not a zero.
    connection.executemany(f"INSERT INTO facts VALUES ({marks})", [[cell or None for cell in row] for row in rows])  # noqa: S608
    days = sorted(
        {day for entry, cells in zip(fields, columns, strict=False) if entry.kind == "DATE" for day in cells if day}
    )
    return Account(
        connection=connection,
        fields={entry.name: entry for entry in fields},
        resources={"data": Resource(keys=(), families=())},
        first_day=days[0] if days else "",
        last_day=days[-1] if days else "",
    )


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        table = [row for row in csv.reader(file) if row]
    if len(table) < 2:  # noqa: PLR2004
        raise ValueError(f"{path.name}: no rows under a header line")
    header, rows = table[0], table[1:]
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise ValueError(f"{path.name}, row {number}: {len(row)} cells where the header names {len(header)}")
    return header, rows


def _field(header: str, values: Sequence[str]) -> Field:
    column = re.sub(r"\W+", "_", header.strip().lower()).strip("_")
    kind = _kind([value for value in values if value])
    family = "metrics" if kind in _SQL_TYPES and _adds_up(column) else "segments"
    return Field(name=f"{family}.{column}", kind=kind, about=_about(kind, values), column=column)


def _kind(values: Sequence[str]) -> str:
    if not values:
        return "STRING"
    if all(_DATE.fullmatch(value) for value in values):
        return "DATE"
    for kind, number in (("INT64", int), ("DOUBLE", float)):
        if all(_is(number, value) for value in values):
            return kind
    return "STRING"


def _is(number: type[int | float], value: str) -> bool:
    try:
        # int() and float() also take "1_000" and "nan", which no report means as a number.
        return value.lower() not in {"nan", "inf", "-inf"} and "_" not in value and number(value) is not None
    except ValueError:
        return False


def _adds_up(column: str) -> bool:
    return not _IDENTIFIER.search(column) and not _NOT_ADDITIVE.search(column)


def _about(kind: str, values: Sequence[Any]) -> str:
    distinct = len(set(values))
    if kind in _SQL_TYPES or kind == "DATE":
        return f"column of the file, {distinct} different values"
    examples = ", ".join(sorted(set(values))[:3])[:60]
    return f"column of the file, {distinct} different values, such as {examples}"

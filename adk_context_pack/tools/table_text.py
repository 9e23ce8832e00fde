"""Rows and facts as text, where JSON would repeat every column's name in every row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from adk_context_pack._json import json_text
from adk_context_pack.tables.column_facts import ColumnFacts
from adk_context_pack.tables.columns import iter_columns
from adk_context_pack.tables.numbers import as_float, plain, short_text, with_decimals
from adk_context_pack.tables.table_facts import TableFacts
from adk_context_pack.tools.group_facts import without_noise

_NUMBERS = ("column", "sum", "min", "max", "mean", "missing", "min_row", "max_row")
_MARKS = frozenset(',=\n"')

# A value that fewer rows have says nothing about a column.
_COMMON_SHARE = 0.05


def rows_as_csv(rows: Sequence[Any], columns: Sequence[str] | None = None) -> str:
    """Returns rows as RFC 4180 CSV with a header. Lines end in a line feed, nested columns are dotted.

    About half the tokens of the same rows as JSON. Missing cells are empty, lists within a row are Python's text.

    Args:
        rows: dicts (nested ones too), pydantic models, lists of values, or scalars.
        columns: names, where rows are lists of values.
    """
    found = list(iter_columns(rows, columns))
    cells = zip(*(column.values for column in found), strict=True)
    return _csv([[column.name for column in found], *(map(_cell, row) for row in cells)])


def facts_as_text(facts: TableFacts, *, others: bool = True, most: int | None = None) -> dict[str, Any]:
    """Returns facts in the fewest tokens: numbers as CSV, a line for each other column, and the names of the rest.

    Args:
        facts: the facts of a table.
        others: whether columns that are not numbers get their facts, or just their names.
        most: how many columns of numbers get theirs: those with outliers, then those of the largest sums. None for all.
    """
    numbers = [column for column in facts.columns if column.kind == "number"]
    if most is not None and len(numbers) > most:
        ranked = sorted(numbers, key=lambda column: (not column.outliers, -abs(as_float(column.total or 0) or 0)))
        numbers = [column for column in numbers if column in ranked[:most]]
    result: dict[str, Any] = {}
    # Amounts of several currencies have a line for each of them.
    if parts := [part for column in numbers for part in column.parts or (column,)]:
        # Each form of a figure, however short, states what limits it.
        remarks = [_remark(column) for column in parts]
        lines: list[list[Any]] = [list(_NUMBERS), *map(_number_line, parts)]
        if any(remarks):
            lines = [[*line, remark] for line, remark in zip(lines, ["remark", *remarks], strict=True)]
        result["numbers"] = _csv(lines)
    if facts.rows_apart:
        result["rows_apart"] = facts.rows_apart
    said = [
        (column.name, _said_of(column, facts.rows)) for column in facts.columns if others and column.kind != "number"
    ]
    if any(line for _, line in said):
        result["others"] = "\n".join(f"{name}: {line}" for name, line in said if line)
    told = {column.name for column in numbers} | {name for name, line in said if line}
    if names := ", ".join(column.name for column in facts.columns if column.name not in told):
        result["more_columns"] = names
    return result


def _number_line(column: ColumnFacts) -> list[Any]:
    low, high = plain(column.minimum), plain(column.maximum)
    total, mean = without_noise(plain(column.total)), without_noise(with_decimals(column.mean, column.decimals))
    return [column.name, total, low, high, mean, column.missing, column.min_row, column.max_row]


def _remark(column: ColumnFacts) -> str:
    parts = [f"in {column.unit}"] if column.unit else []
    if column.part_rows:
        parts.append(f"{column.part_rows} rows")
    if column.not_numbers:
        parts.append(f"without {column.not_numbers} cells that are not numbers, such as {short_text(column.example)}")
    return "; ".join([*parts, *filter(None, [column.note])])


def _said_of(column: ColumnFacts, rows: int) -> str:
    """Returns what the values of a column say, or nothing if nearly each row has another one."""
    said = column.as_dict()
    if column.parts:
        return ", ".join(f"{part.minimum} to {part.maximum} {part.unit}" for part in column.parts)
    parts = [f"{said['min']} to {said['max']}"] if "min" in said else []
    counts = list(said.get("commonest", {}).items())
    if counts and len(counts) == said["distinct"]:
        parts[:0] = [", ".join(f"{quoted(value)} x{count}" for value, count in counts)]
    elif parts or 2 * said["distinct"] <= rows:
        parts[:0] = [f"{said['distinct']} distinct"]
        if counts and counts[0][1] >= _COMMON_SHARE * rows:
            parts.append(f"mostly {quoted(counts[0][0])} x{counts[0][1]}")
    if column.missing:
        parts.append(f"{column.missing} missing")
    return ", ".join(filter(None, [*parts, _remark(column)]))


def quoted(value: str) -> str:
    """Returns a value as it is listed among others: in quotes if its end is not plain, or if it has figures."""
    is_plain = value.strip() == value != "" and not any(sign in _MARKS or sign.isdigit() for sign in value)
    return value if is_plain else json_text(value)


def _cell(value: Any) -> Any:
    return "" if value is None else plain(value)


def _csv(lines: Iterable[Iterable[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    return buffer.getvalue().rstrip("\n")

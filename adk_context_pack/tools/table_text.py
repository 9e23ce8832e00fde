"""Rows and facts as text, where JSON would repeat every column's name in every row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from adk_context_pack.tables.column_facts import ColumnFacts
from adk_context_pack.tables.columns import iter_columns
from adk_context_pack.tables.numbers import plain, short_text, with_decimals
from adk_context_pack.tables.table_facts import TableFacts
from adk_context_pack.tools.group_facts import without_noise

_NUMBERS = ("column", "sum", "min", "max", "mean", "missing", "min_row", "max_row")
_MARKS = frozenset(",=\n")

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
    """Returns facts in the fewest tokens: numbers as CSV, one line for each column, and a line for each other column.

    Args:
        facts: the facts of a table.
        others: whether columns that are not numbers get their facts, or just their names.
        most: how many columns something is said of, the most telling ones; None for all. The rest is named.
    """
    names = [column.name for column in facts.columns]
    facts = facts if most is None else facts.most_telling(most)
    # Amounts of several currencies have a line for each of them.
    numbers = [part for column in facts.columns if column.kind == "number" for part in column.parts or (column,)]
    result: dict[str, Any] = {}
    if numbers:
        # Each form of a figure, however short, states what limits it.
        remarks = [_remark(column) for column in numbers]
        lines: list[list[Any]] = [list(_NUMBERS), *map(_number_line, numbers)]
        if any(remarks):
            lines = [[*line, remark] for line, remark in zip(lines, ["remark", *remarks], strict=True)]
        result["numbers"] = _csv(lines)
    if facts.rows_apart:
        result["rows_apart"] = facts.rows_apart
    rest = [column for column in facts.columns if column.kind != "number"]
    if rest:
        result["others"] = (
            "\n".join(_other_line(c, facts.rows) for c in rest) if others else ", ".join(c.name for c in rest)
        )
    if facts.columns_left_out:
        told = {column.name for column in facts.columns}
        result["more_columns"] = ", ".join(name for name in names if name not in told)
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


def _other_line(column: ColumnFacts, rows: int) -> str:
    said = column.as_dict()
    if column.parts:
        ends = (f"{part.minimum} to {part.maximum} {part.unit}" for part in column.parts)
        return f"{column.name}: {', '.join(ends)}"
    parts = [f"{said['distinct']} distinct"]
    if "min" in said:
        parts.append(f"{said['min']} to {said['max']}")
    if said.get("commonest"):
        counts = list(said["commonest"].items())
        if len(counts) == said["distinct"]:
            parts[0] = ", ".join(f"{quoted(value)} x{count}" for value, count in counts)
        elif counts[0][1] >= _COMMON_SHARE * rows:
            parts.append(f"mostly {quoted(counts[0][0])} x{counts[0][1]}")
    if column.missing:
        parts.append(f"{column.missing} missing")
    if remark := _remark(column):
        parts.append(remark)
    return f"{column.name}: {', '.join(parts)}"


def quoted(value: str) -> str:
    """Returns a value as it is listed among others: in quotes if its end could not be told."""
    return f'"{value}"' if not value or value != value.strip() or not _MARKS.isdisjoint(value) else value


def _cell(value: Any) -> Any:
    return "" if value is None else plain(value)


def _csv(lines: Iterable[Iterable[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    return buffer.getvalue().rstrip("\n")

"""Answers the commonest questions about a table beside its columns: sums by category, and levels of a log."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adk_context_pack.tables.column_facts import ColumnFacts
from adk_context_pack.tables.numbers import plain
from adk_context_pack.tables.table_facts import TableFacts
from adk_context_pack.tables.trouble import level_of

_MAX_VALUES = 8
_MAX_LABEL = 40
# A category of which one value has nearly all rows divides nothing.
_MAX_SHARE = 0.95
_FIGURES = 15
_MAX_FIGURES = 12


def sums_by_value(
    rows: Sequence[Any], facts: TableFacts, *, measures: int = 2, categories: int = 3
) -> dict[str, dict[str, Any]]:
    """Returns the exact sums of measures for each value of columns with few values.

    Only of columns whose cells are all numbers, none of them rates, and only in rows that are dicts. Identifiers are
    never summed. Takes one look at each row for each pair of columns.

    Args:
        rows: all rows of the table.
        facts: what is known of its columns.
        measures: how many number columns are summed.
        categories: by how many columns.

    Returns:
        By `measure by category`, the sum for each value, the largest first.
    """
    if not rows or not all(type(row) is dict for row in (rows[0], rows[-1])):
        return {}
    found = {}
    for measure in _measures(facts, measures):
        for category in _categories(facts, len(rows), categories):
            sums = _sums(rows, measure, category.name)
            if sums:
                found[f"{measure} by {category.name}"] = sums
    return found


def level_counts(rows: Sequence[Any]) -> dict[str, int]:
    """Returns how many lines of a log have each level. Empty if fewer than half of the rows have one."""
    if not rows or not isinstance(rows[0], str):
        return {}
    levels = Counter(level for row in rows if isinstance(row, str) and (level := level_of(row)))
    return dict(levels.most_common()) if 2 * levels.total() >= len(rows) else {}


def without_noise(value: Any) -> Any:
    """Returns a sum of floats as one would write it: 145140.86 for 145140.86000000002.

    Cells with a few decimals each are floats beside them. Their exact sum differs from the sum of what is written
    behind the fifteenth figure, so it is rounded there where that leaves some figures fewer.
    """
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    near = f"{value:.{_FIGURES}g}"
    figures = near.partition("e")[0].replace(".", "").replace("-", "").strip("0")
    return float(near) if len(figures) <= _MAX_FIGURES else value


def _measures(facts: TableFacts, most: int) -> Iterator[str]:
    names = [column.name for column in facts.columns if _is_measure(column)]
    # The largest sums are those of money, which is asked for first.
    by_size = sorted(names, key=lambda name: -abs(float(getattr(facts.column(name), "total", 0) or 0)))
    yield from by_size[:most]


def _is_measure(column: ColumnFacts) -> bool:
    if column.role != "measure" or column.not_numbers or column.missing:
        return False
    return isinstance(column.total, (int, float)) and math.isfinite(column.total)


def _categories(facts: TableFacts, rows: int, most: int) -> Sequence[ColumnFacts]:
    found = [column for column in facts.columns if column.kind in {"text", "boolean"} and _divides(column, rows)]
    return sorted(found, key=lambda column: column.distinct or 0)[:most]


def _divides(column: ColumnFacts, rows: int) -> bool:
    if not 2 <= (column.distinct or 0) <= _MAX_VALUES or len(column.commonest) != column.distinct:  # noqa: PLR2004
        return False
    return column.commonest[0][1] <= _MAX_SHARE * rows and all(
        len(str(value)) <= _MAX_LABEL for value, _ in column.commonest
    )


def _sums(rows: Sequence[Mapping[str, Any]], measure: str, category: str) -> dict[str, Any]:
    groups: dict[Any, list[Any]] = {}
    try:
        inner, outer = _path(rows[0], measure), _path(rows[0], category)
        for row in rows:
            groups.setdefault(_at(row, outer), []).append(_at(row, inner))
    except (KeyError, TypeError, AttributeError):
        # A cell that is a list, a row without the column, or rows of two kinds.
        return {}
    if any(type(cell) not in {int, float} for cells in groups.values() for cell in cells):
        return {}
    sums = {_label(value): without_noise(_sum(cells)) for value, cells in groups.items()}
    return dict(sorted(sums.items(), key=lambda item: -abs(item[1]))) if len(sums) == len(groups) else {}


def _path(row: Mapping[str, Any], name: str) -> Sequence[str]:
    return (name,) if name in row else name.split(".")


def _at(row: Any, path: Sequence[str]) -> Any:
    for key in path:
        row = row[key]
    return row


def _sum(cells: Sequence[Any]) -> int | float:
    return sum(cells) if all(type(cell) is int for cell in cells) else math.fsum(cells)


def _label(value: Any) -> str:
    return "(missing)" if value is None or value == "" else str(plain(value))

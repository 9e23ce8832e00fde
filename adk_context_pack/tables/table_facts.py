"""Computes facts about a table: what all of its rows say together, small enough for a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from operator import itemgetter
from typing import Any

from adk_context_pack.errors import at_least, must
from adk_context_pack.tables.column_facts import ColumnFacts, facts_in_parts, facts_of_rows, hashable, moved_facts
from adk_context_pack.tables.columns import as_records, free_name, is_missing, iter_columns
from adk_context_pack.tables.numbers import as_float, exact_sum, is_twice, plain
from adk_context_pack.tables.outliers import Outlier
from adk_context_pack.tables.row_forms import read_rows
from adk_context_pack.tables.schema import ADDED, in_one_table, repeated_headers, said_of_rows_apart, total_rows

_MAX_VALUES, _MAX_LENGTH = 8, 40
_LOOKED_AT = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFacts:
    """Holds facts computed from all rows of a table.

    Attributes:
        rows: how many rows there are.
        columns: the facts of each column, in the order in which the rows have them.
        outliers: the cells that stand apart, the farthest first, at most one for each row.
        outlier_count: how many cells stand apart in all columns together.
        total_rows: the indexes of rows that sum up others, and take no part in any figure.
        repeated_headers: the indexes of rows that hold the names of the columns again, and take no part either.
    """

    rows: int
    columns: tuple[ColumnFacts, ...] = ()
    outliers: tuple[Outlier, ...] = ()
    outlier_count: int = 0
    total_rows: tuple[int, ...] = ()
    repeated_headers: tuple[int, ...] = ()

    def column(self, name: str) -> ColumnFacts | None:
        """Returns the facts of one column, or None if no column has that name."""
        return next((column for column in self.columns if column.name == name), None)

    def as_dict(self) -> dict[str, Any]:
        """Returns the facts as small JSON for a prompt.

        Returns:
            `rows`, `columns` (by name; `sum`, `min`, `max`, `mean`, `missing`, `min_row`, `max_row` for numbers,
            `distinct`, `commonest` and `min`, `max` of dates for the others) and, if there are any, `outliers`
            with the rule that found them. Row indexes count from 0.
        """
        result: dict[str, Any] = {
            "rows": self.rows,
            "columns": {column.name: column.as_dict() for column in self.columns},
        }
        if apart := self.rows_apart:
            result["rows_apart"] = apart
        if self.outliers:
            result["outliers"] = {
                "rule": "; or ".join(dict.fromkeys(each.outlier_rule for each in self.columns if each.outlier_rule)),
                "count": self.outlier_count,
                "rows": [{"row": cell.row, cell.column: plain(cell.value)} for cell in self.outliers],
            }
        return result

    @property
    def rows_apart(self) -> str:
        """Returns a sentence on the rows that take no part in the figures, or an empty text."""
        return said_of_rows_apart(self.total_rows, self.repeated_headers)


def table_facts(rows: Sequence[Any], *, columns: Sequence[str] | None = None, max_outliers: int = 5) -> TableFacts:
    """Returns facts about a table, exact over all of its rows, in one pass over them.

    It takes about as long as copying the cells once, and keeps the floats and the different texts meanwhile.

    Args:
        rows: dicts (nested ones too), pydantic models, lists of values, or scalars, also mixed. They are only read.
        columns: the names of the columns where rows are lists of values. Without them, a first list of names above
            numbers or dates is a header and not a row.
        max_outliers: how many outlier rows are listed, of each column and of the table.

    Raises:
        SettingError: `rows` is not a list of rows, `columns` a single text, or `max_outliers` negative.
    """
    at_least("table_facts", "max_outliers", max_outliers, 0)
    is_list = isinstance(rows, Sequence) and not isinstance(rows, str | bytes)
    must(is_list, "table_facts", "rows", rows, 'a list of rows such as [{"city": "Oslo", "total": 7.5}]')
    must(not isinstance(columns, str), "table_facts", "columns", columns, 'a list of names such as ["city", "total"]')
    if columns is None and rows and type(rows[0]) is list and (form := read_rows(rows, {})) is not None:
        rows, columns = form.rows, form.columns
    records = as_records(rows, columns)
    facts = _facts(records, max_outliers)
    apart = _rows_apart(records, facts)
    if not any(apart):
        return facts
    totals, headers = apart
    kept = sorted(set(range(len(records))).difference(totals, headers))
    facts = _facts([records[row] for row in kept], max_outliers)
    # The indexes are those among all rows.
    outliers = tuple(replace(cell, row=kept[cell.row]) for cell in facts.outliers)
    facts = replace(facts, columns=tuple(moved_facts(column, kept) for column in facts.columns), outliers=outliers)
    return replace(facts, rows=len(records), total_rows=totals, repeated_headers=headers)


def _facts(records: Sequence[Mapping[Any, Any]], max_outliers: int) -> TableFacts:
    found = _columns(records, max_outliers)
    cells = sorted((cell for column in found for cell in column.outliers), key=lambda cell: -cell.distance)
    by_row: dict[int, Outlier] = {}
    for cell in cells:
        by_row.setdefault(cell.row, cell)
    outliers, count = tuple(by_row.values())[:max_outliers], sum(column.outlier_count for column in found)
    return TableFacts(rows=len(records), columns=found, outliers=outliers, outlier_count=count)


def _rows_apart(records: Sequence[Mapping[Any, Any]], facts: TableFacts) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the rows of totals, and those that repeat the header, as `TableSchema` has them."""
    limits = [(each.total, each.minimum, each.maximum) for each in facts.columns if each.kind == "number"]
    may_sum_up = limits and all(total is None or any(is_twice(total, end) for end in ends) for total, *ends in limits)
    may_repeat = len(facts.columns) > 1 and all(
        column.kind in {"text", "empty", "identifier"} or column.not_numbers for column in facts.columns
    )
    known = {each.name: each.schema for each in facts.columns}
    if not may_sum_up and not may_repeat and len(records) > 2 * _LOOKED_AT:
        some = list(iter_columns([*records[:_LOOKED_AT], *records[-_LOOKED_AT:]]))
        if not total_rows(some, [known[each.name] for each in some]):
            return (), ()
    columns = list(iter_columns(records))
    return total_rows(columns, [*known.values()]), repeated_headers(columns)


def _columns(records: Sequence[Mapping[Any, Any]], max_outliers: int) -> tuple[ColumnFacts, ...]:
    """Returns the facts of all columns, with amounts of several currencies or units kept apart."""
    taken: dict[str, int] = {}
    found = facts_of_rows(records, max_outliers)
    schemas = in_one_table(replace(each.schema, name=free_name(each.name, taken)) for each in found)
    told = [
        replace(facts, name=schema.name, schema=schema, unit=schema.unit if schema.currency else facts.unit)
        for schema, facts in zip(schemas, found, strict=True)
    ]
    split = {
        each.name: each.schema.currency_column for each in told
        if each.is_outdated or (each.schema.role in ADDED and (each.schema.currency_column or each.schema.texts.units))
    }  # fmt: skip
    needed = {*split, *split.values()}
    values = {column.name: column.values for column in iter_columns(records) if column.name in needed} if split else {}
    return tuple(
        facts_in_parts(each, values[each.name], values.get(split[each.name]), max_outliers)
        if each.name in split else each
        for each in told
    )  # fmt: skip


def has_few(column: ColumnFacts) -> bool:
    """Returns whether a column has so few values that all of them can be listed."""
    is_told = 2 <= (column.distinct or 0) <= _MAX_VALUES and len(column.commonest) == column.distinct  # noqa: PLR2004
    return is_told and all(len(str(value)) <= _MAX_LENGTH for value, _ in column.commonest)


def sums_by_value(
    rows: Sequence[Any], facts: TableFacts, *, columns: Sequence[str] | None = None
) -> dict[str, dict[str, Any]]:
    """Returns the exact sums of measures for each value of columns with few values, by `measure by category`.

    Only of columns each of whose cells is a number in one unit. Rows that sum up others take no part. Takes one look
    at each row for each pair of columns.
    """
    found: dict[str, dict[str, Any]] = {}
    added = [
        ((each.schema.reading == "money", abs(as_float(each.total) or 0)), each.schema) for each in facts.columns
        if each.role == "measure" and not (each.total is None or each.not_numbers or each.missing)
    ]  # fmt: skip
    # Money is asked for first.
    added = sorted((pair for pair in added if isfinite(pair[0][1])), key=itemgetter(0), reverse=True)[:2]
    # A category of which one value has nearly all rows divides nothing.
    few = [
        each for each in facts.columns
        if each.kind in {"text", "boolean", "date"} and has_few(each) and each.commonest[0][1] <= 0.95 * len(rows)
    ]  # fmt: skip
    # Of two columns that divide alike, names say more than codes.
    few = sorted(few, key=lambda each: (each.distinct, any(map(str.isdigit, str(each.commonest[0][0])))))[:3]
    if not added or not few:
        return found
    needed = {each.name for each in few} | {schema.name for _, schema in added}
    apart = {*facts.total_rows, *facts.repeated_headers}
    cells = {
        each.name: [cell for row, cell in enumerate(each.values) if row not in apart] if apart else each.values
        for each in iter_columns(rows, columns) if each.name in needed
    }  # fmt: skip
    for _, measure in added:
        numbers = measure.numbers(cells.get(measure.name, ()))
        for category in few:
            groups: dict[Any, list[Any]] = {}
            for value, number in zip(map(hashable, cells.get(category.name, ())), numbers, strict=False):
                groups.setdefault(value, []).append(number)
            sums = {"(missing)" if is_missing(each) else str(plain(each)): exact_sum(groups[each]) for each in groups}
            sums = dict(sorted(sums.items(), key=lambda pair: -abs(as_float(pair[1]) or 0)))
            if len(sums) == len(groups) and list(sums.values()) not in (list(each.values()) for each in found.values()):
                found[f"{measure.name} by {category.name}"] = sums
    return found

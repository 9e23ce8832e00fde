"""Computes facts about a table and its columns: what all of its rows say together, small enough for a prompt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from math import isfinite
from operator import itemgetter
from typing import Any

from adk_context_pack.errors import at_least, must
from adk_context_pack.tables import numbers as exact
from adk_context_pack.tables import schema as schemas
from adk_context_pack.tables.columns import Column, ColumnKind, hashable, is_missing, iter_columns
from adk_context_pack.tables.numbers import Number, plain, short_text
from adk_context_pack.tables.outliers import Outlier, find_outliers, may_have_outliers, rare_values, sample_positions
from adk_context_pack.tables.row_forms import read_rows
from adk_context_pack.tables.schema import ADDED, NO_UNIT, ColumnSchema, Role

_MAX_COMMON, _DECIMALS_SAMPLE = 8, 24
_NONE = type(None)
_MAX_VALUES, _MAX_LENGTH, _LOOKED_AT = 8, 40, 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnFacts:
    """Holds what all values of a column say together.

    Attributes:
        name: the column, nested ones dotted.
        kind: number (added up), rate (of which the extremes are told), identifier, date, boolean, text or empty.
        role: what the column is for, see `ColumnSchema`.
        missing: rows without a value: no such key, None, NaN or an empty text. Among numbers and dates also a word for
            it, such as `N/A`.
        total: the exact sum of a measure, see `numbers.exact_sum`.
        minimum: the smallest number, or the earliest date as it was written.
        maximum: the largest number, or the latest date as it was written.
        mean: the sum divided by the count of numbers, as the nearest float.
        min_row: index of the first row that holds the minimum of a column of numbers.
        max_row: index of the first row that holds the maximum of a column of numbers.
        not_numbers: values of a column of numbers that are not numbers. They take no part in its figures.
        example: the first of the values that are not numbers.
        unit: what the numbers count, as written beside them: `$`, `EUR`, `%`, `km`. Percent are points: 12.5 is 12.5 %.
        note: what a reader has to know of how the column was read.
        parts: the facts of the amounts in each currency or unit, if there are several. They have no common figures.
        part_rows: how many rows a part has.
        decimals: how many decimals the numbers have at most, as far as some of them show.
        distinct: how many different values a column has that is not added up.
        commonest: its commonest values with their counts, the earlier of equal counts first, or none if each is alone.
        outliers: cells that stand apart, the farthest first.
        outlier_count: how many cells stand apart, also those beyond the listed ones.
        outlier_rule: the rule by which they do.
        schema: what the column is, by which its cells are read.
    """

    name: str
    kind: ColumnKind
    role: Role
    missing: int = 0
    total: Number | None = None
    minimum: Any = None
    maximum: Any = None
    mean: float | None = None
    min_row: int | None = None
    max_row: int | None = None
    not_numbers: int = 0
    example: Any = None
    unit: str = ""
    note: str = ""
    parts: tuple[ColumnFacts, ...] = ()
    part_rows: int = 0
    decimals: int = 0
    distinct: int | None = None
    commonest: tuple[tuple[Any, int], ...] = ()
    outliers: tuple[Outlier, ...] = ()
    outlier_count: int = 0
    outlier_rule: str = ""
    schema: ColumnSchema = field(repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Returns the facts as small JSON: figures as they are, long texts shortened, what does not apply left out."""
        is_number = self.kind in {"number", "rate"}
        result: dict[str, Any] = {}
        if self.parts:
            result["by_unit"] = {part.unit: {"rows": part.part_rows, **part.figures()} for part in self.parts}
        else:
            result |= self.figures()
        if self.commonest:
            shown = self.commonest if (self.distinct or 0) <= _MAX_COMMON else self.commonest[:1]
            # Long ones are shortened in the middle, where what is cut does not make two of them one.
            forms = (short_text, lambda cell: str(plain(cell)), repr)
            ways = ([form(value) for value, _ in shown] for form in forms)
            labels = next((each for each in ways if len(set(each)) == len(each)), [repr(value) for value, _ in shown])
            result["commonest"] = dict(zip(labels, (n for _, n in shown), strict=True))
        result |= {"missing": self.missing} if self.missing or is_number else {}
        result |= {"min_row": self.min_row, "max_row": self.max_row} if is_number and not self.parts else {}
        result |= {"not_numbers": self.not_numbers, "such_as": short_text(self.example)} if self.not_numbers else {}
        unit = "% (points)" if self.unit == "%" else self.unit
        return result | {key: said for key, said in (("unit", unit), ("note", self.note)) if said}

    def figures(self) -> dict[str, Any]:
        """Returns the figures over all values."""
        figures: dict[str, Any] = {"sum": plain(self.total)} if self.kind == "number" else {}
        if self.kind in {"number", "rate", "date"} or self.minimum is not None:
            figures |= {"min": plain(self.minimum), "max": plain(self.maximum)}
        if self.kind == "number":
            return figures | {"mean": exact.with_decimals(self.mean, self.decimals)}
        return figures | {"distinct": self.distinct}


def _in_parts(schema: ColumnSchema, column: Column, units: Sequence[Any] | None, most: int) -> ColumnFacts:
    """Returns facts whose figures are those of the amounts in each currency or unit, that of most rows first.

    `units` are the cells of the column that holds their currency, or None if the unit is written beside them.
    """
    rows_of: dict[Any, tuple[list[int], list[Number | None]]] = {}
    for row, number in enumerate(schema.numbers(column.values)):
        if number is not None:
            unit = schema.texts.unit_of.get(column.values[row], "") if units is None else units[row]
            rows, numbers = rows_of.setdefault(NO_UNIT if is_missing(unit) else str(unit), ([], []))
            rows.append(row)
            numbers.append(number)
    parts = []
    for unit, (rows, numbers) in sorted(rows_of.items(), key=lambda item: -len(item[1][0])):
        part = _moved(_facts_of_numbers(schema, numbers, most), rows)
        parts.append(replace(part, missing=0, not_numbers=0, example=None, note="", unit=unit, part_rows=len(rows)))
    outliers = sorted((cell for part in parts for cell in part.outliers), key=lambda cell: -cell.distance)
    told, rules = max((len(part.outliers) for part in parts), default=0), (part.outlier_rule for part in parts)
    return _told(
        schema, missing=schema.missing, note=schema.texts.note, not_numbers=schema.unread, example=schema.example,
        parts=tuple(parts), outliers=tuple(outliers[:told]), outlier_count=sum(part.outlier_count for part in parts),
        outlier_rule=next(filter(None, rules), ""),
    )  # fmt: skip


def _moved(column: ColumnFacts, rows: Sequence[int]) -> ColumnFacts:
    """Returns facts of some rows with the indexes that these rows have among all."""
    return replace(
        column,
        min_row=None if column.min_row is None else rows[column.min_row],
        max_row=None if column.max_row is None else rows[column.max_row],
        outliers=tuple(replace(cell, row=rows[cell.row]) for cell in column.outliers),
        parts=tuple(_moved(part, rows) for part in column.parts),
    )


def _facts_of_numbers(
    schema: ColumnSchema, numbers: Sequence[Any], most: int, types: Collection[type] = ()
) -> ColumnFacts:
    """Returns the facts of numbers of some types with None among them."""
    present = [number for number in numbers if number is not None] if schema.missing or schema.unread else numbers
    low, high = min(present), max(present)
    about: dict[str, Any] = {"distinct": None if schema.role == "measure" else len(set(present))}
    if schema.role == "measure":
        total = exact.exact_sum(present, types)
        about |= {"total": total, "mean": exact.exact_mean(total, len(present))}
    sample = map(numbers.__getitem__, sample_positions(len(numbers)))
    if may_have_outliers([number for number in sample if number is not None], low, high):
        found = find_outliers(schema.name, numbers, most)
        about |= zip(("outliers", "outlier_count", "outlier_rule"), found, strict=True)
    return _told(
        schema, missing=schema.missing, minimum=low, maximum=high, min_row=numbers.index(low),
        max_row=numbers.index(high), unit=schema.unit, note=schema.texts.note, not_numbers=schema.unread,
        example=schema.example, decimals=exact.decimals_of(present[:_DECIMALS_SAMPLE]), **about,
    )  # fmt: skip


def _told(schema: ColumnSchema, **about: Any) -> ColumnFacts:
    return ColumnFacts(name=schema.name, kind=schema.kind, role=schema.role, schema=schema, **about)


def _counted(schema: ColumnSchema, column: Column, max_outliers: int) -> ColumnFacts:
    """Returns the facts of a column that is not added up, from how often each value occurs."""
    counts, rows = column.counts, len(column.values)
    # Asking each of a hundred thousand identifiers would take longer than counting them.
    quick = {None, "", *(schema.texts.missing if schema.kind != "text" else ())}
    empty = quick & counts.keys() if column.types <= {str, int, bool, _NONE} else set(filter(schema.is_empty, counts))
    counts = counts.copy() if empty else counts
    missing = sum(map(counts.pop, empty))
    rare, rule = rare_values(counts, rows) if schema.kind in {"text", "boolean"} else ([], "")
    cells = enumerate(column.values if rare else ())
    hits = (Outlier(row, schema.name, value, 0.0) for row, value in cells if hashable(value) in rare)
    low, high = schema.earliest, schema.latest
    if schema.role == "identifier":
        low, high = number_limits(counts)
    # A value by itself is worth telling if the others have none.
    present = rows - missing
    is_told = len(counts) < present or 0 < present <= 2 <= rows // _MAX_COMMON  # noqa: PLR2004 - rows
    # The first of equals, as Counter keeps the order of appearance.
    commonest = counts.most_common(_MAX_COMMON if len(counts) <= _MAX_COMMON else 1) if is_told else ()
    note = schema.texts.note if schema.texts.names else ""
    strays = schema.unread if schema.reading == "date" else 0
    note = f"{strays} not dates, such as {short_text(schema.example)!r}" if strays else note
    return _told(
        schema, distinct=len(counts), missing=missing - strays, note=note, minimum=low, maximum=high,
        commonest=tuple(commonest), outliers=tuple(islice(hits, max_outliers)), outlier_rule=rule,
        outlier_count=sum(counts[value] for value in rare),
    )  # fmt: skip


def number_limits(values: Collection[Any]) -> tuple[Any, Any]:
    """Returns the smallest and the largest of numbers or texts of digits, or None twice for anything else."""
    kinds, key = set(map(type, values)), None
    if kinds == {str} and "".join(values).isdecimal() and max(map(len, values)) <= 4000:  # noqa: PLR2004 - digits
        key = int
    elif not kinds or bool in kinds or not all(issubclass(kind, (int, float, Decimal)) for kind in kinds):
        return None, None
    return min(values, key=key), max(values, key=key)


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
        cells: by the name of each column its cells in the rows that the figures are of.
    """

    rows: int
    columns: tuple[ColumnFacts, ...] = ()
    outliers: tuple[Outlier, ...] = ()
    outlier_count: int = 0
    total_rows: tuple[int, ...] = ()
    repeated_headers: tuple[int, ...] = ()
    cells: Mapping[str, Sequence[Any]] = field(default_factory=dict, repr=False, compare=False)

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
        columns = {column.name: column.as_dict() for column in self.columns}
        result: dict[str, Any] = {"rows": self.rows, "columns": columns}
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
        return schemas.said_of_rows_apart(self.total_rows, self.repeated_headers)


def table_facts(rows: Sequence[Any], *, columns: Sequence[str] | None = None, max_outliers: int = 5) -> TableFacts:
    """Returns facts about a table, exact over all of its rows.

    It keeps the columns and their different texts meanwhile.

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
    known = list(iter_columns(rows, columns))
    facts = _facts(len(rows), known, max_outliers)
    totals, headers = _rows_apart(known, facts)
    if not totals and not headers:
        return facts
    kept = sorted(set(range(len(rows))).difference(totals, headers))
    facts = _facts(len(kept), [column.of_rows(kept) for column in known], max_outliers)
    # The indexes are those among all rows.
    outliers = tuple(replace(cell, row=kept[cell.row]) for cell in facts.outliers)
    facts = replace(facts, columns=tuple(_moved(column, kept) for column in facts.columns), outliers=outliers)
    return replace(facts, rows=len(rows), total_rows=totals, repeated_headers=headers)


def _facts(rows: int, columns: Sequence[Column], most: int) -> TableFacts:
    """Returns the facts of columns, with amounts of several currencies or units kept apart."""
    known = schemas.in_one_table(map(schemas.column_schema, columns))
    found, cells_of = list[ColumnFacts](), {column.name: column.values for column in columns}
    for schema, column in zip(known, columns, strict=True):
        if schema.role not in ADDED:
            found.append(_counted(schema, column, most))
        elif schema.currency_column or schema.texts.units:
            found.append(_in_parts(schema, column, cells_of.get(schema.currency_column), most))
        else:
            types = column.types - {_NONE} if column.types <= {int, float, _NONE} else ()
            found.append(_facts_of_numbers(schema, schema.numbers(column.values, column.types), most, types))
    cells = sorted((cell for column in found for cell in column.outliers), key=lambda cell: -cell.distance)
    by_row: dict[int, Outlier] = {}
    for cell in cells:
        by_row.setdefault(cell.row, cell)
    outliers, count = tuple(by_row.values())[:most], sum(column.outlier_count for column in found)
    return TableFacts(rows=rows, columns=tuple(found), outliers=outliers, outlier_count=count, cells=cells_of)


def _rows_apart(columns: Sequence[Column], facts: TableFacts) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the rows of totals, and those that repeat the header."""
    limits = [(each.total, each.minimum, each.maximum) for each in facts.columns if each.kind == "number"]
    sums = ((total, ends) for total, *ends in limits if total is not None)
    may_sum_up = limits and all(any(exact.is_twice(total, end) for end in ends) for total, ends in sums)
    may_repeat = len(facts.columns) > 1 and all(
        column.kind in {"text", "empty", "identifier"} or column.not_numbers for column in facts.columns
    )
    known = [each.schema for each in facts.columns]
    if not may_sum_up and not may_repeat and facts.rows > 2 * _LOOKED_AT:
        rows = (*range(_LOOKED_AT), *range(facts.rows - _LOOKED_AT, facts.rows))
        if not schemas.total_rows([column.of_rows(rows) for column in columns], known):
            return (), ()
    return schemas.total_rows(columns, known), schemas.repeated_headers(columns)


def has_few(column: ColumnFacts) -> bool:
    """Returns whether a column has so few values that all of them can be listed."""
    is_told = 2 <= (column.distinct or 0) <= _MAX_VALUES and len(column.commonest) == column.distinct  # noqa: PLR2004
    return is_told and all(len(str(value)) <= _MAX_LENGTH for value, _ in column.commonest)


def sums_by_value(facts: TableFacts) -> dict[str, dict[str, Any]]:
    """Returns the exact sums of measures for each value of columns with few values, by `measure by category`.

    Only of columns each of whose cells is a number in one unit. Rows that sum up others take no part. Takes one look
    at each row for each pair of columns.
    """
    found: dict[str, dict[str, Any]] = {}
    added = [
        ((each.schema.reading == "money", abs(exact.as_float(each.total) or 0)), each.schema) for each in facts.columns
        if each.role == "measure" and not (each.total is None or each.not_numbers or each.missing)
    ]  # fmt: skip
    # Money is asked for first.
    added = sorted((pair for pair in added if isfinite(pair[0][1])), key=itemgetter(0), reverse=True)[:2]
    # A category of which one value has nearly all rows divides nothing.
    few = [
        each for each in facts.columns
        if each.kind in {"text", "boolean", "date"} and has_few(each) and each.commonest[0][1] <= 0.95 * facts.rows
    ]  # fmt: skip
    # Of two columns that divide alike, names say more than codes.
    few = sorted(few, key=lambda each: (each.distinct, any(map(str.isdigit, str(each.commonest[0][0])))))[:3]
    for _, measure in added if few else ():
        numbers = measure.numbers(facts.cells[measure.name])
        for category in few:
            groups = defaultdict[Any, list[Any]](list)
            for value, number in zip(map(hashable, facts.cells[category.name]), numbers, strict=True):
                groups[value].append(number)
            labels = ("(missing)" if is_missing(each) else str(plain(each)) for each in groups)
            sums = dict(zip(labels, map(exact.exact_sum, groups.values()), strict=True))
            sums = dict(sorted(sums.items(), key=lambda pair: -abs(exact.as_float(pair[1]) or 0)))
            if len(sums) == len(groups) and list(sums.values()) not in (list(each.values()) for each in found.values()):
                found[f"{measure.name} by {category.name}"] = sums
    return found

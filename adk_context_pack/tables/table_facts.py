"""Computes facts about a table and its columns: what all of its rows say together, small enough for a prompt.

A row's cells lie all over memory, and fetching them costs more than adding them up. So flat rows are taken in blocks
that fit in the processor's cache, and everything that is asked about a cell is asked while it is there. That takes two
thirds of the time of one column after the other (`bench_table_facts`), and holds no column in memory but those of
floats, whose exact sum needs all of them at once. Any other column is one block, read by the same rules.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import chain, islice
from math import isfinite
from operator import countOf, itemgetter
from typing import Any

from adk_context_pack.errors import at_least, must
from adk_context_pack.tables import numbers as exact
from adk_context_pack.tables import schema as schemas
from adk_context_pack.tables.columns import ColumnKind, as_records, expand, free_name, is_missing, iter_columns
from adk_context_pack.tables.numbers import Number, plain, short_text
from adk_context_pack.tables.outliers import Outlier, find_outliers, may_have_outliers, rare_values, sample_positions
from adk_context_pack.tables.row_forms import read_rows
from adk_context_pack.tables.schema import ADDED, NO_UNIT, ColumnSchema, Role

_MAX_COMMON, _DECIMALS_SAMPLE = 8, 24
_NONE = type(None)
_PLAIN = frozenset({int, float})
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
        commonest: its commonest values with their counts, the earlier one first if counts are equal, or none if each
            value stands alone.
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

    @property
    def is_outdated(self) -> bool:
        """Returns whether the columns beside it tell that its numbers are others, or have another role."""
        return self.schema.role in ADDED and (self.schema.role, self.schema.texts.note) != (self.role, self.note)

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


def facts_of_rows(rows: Sequence[Mapping[Any, Any]], max_outliers: int) -> list[ColumnFacts]:
    """Returns the facts of each column of flat or nested dicts, in their order, with so many outliers of each."""
    found: list[ColumnFacts] = []
    for key, reader in _read_blocks(rows).items():
        if reader is not None and (facts := reader.found(max_outliers)) is not None:
            found.append(facts)
        else:
            known = ((schemas.column_schema(column), column.values) for column in expand(rows, key))
            found += (facts_of_column(*each, max_outliers) for each in known)
    return found


def facts_of_column(schema: ColumnSchema, values: Sequence[Any], max_outliers: int) -> ColumnFacts:
    """Returns the facts of a column whose schema is known."""
    if schema.role in ADDED:
        return _Numbers.of_all(schema, schema.numbers(values)).facts(schema, max_outliers)
    try:
        counts = Counter(values)
    except TypeError:
        counts = Counter(map(hashable, values))
    return _counted(schema, counts, values, max_outliers)


def facts_in_parts(facts: ColumnFacts, values: Sequence[Any], units: Sequence[Any] | None, most: int) -> ColumnFacts:
    """Returns facts whose figures are those of the amounts in each currency or unit, that of most rows first.

    `units` are the cells of the column that holds their currency, or None if the unit is written beside them.
    """
    schema = facts.schema
    if facts.is_outdated:
        facts = facts_of_column(schema, values, most)
    if not schema.currency_column and not schema.texts.units:
        return facts
    rows_of: dict[Any, tuple[list[int], list[Number | None]]] = {}
    for row, number in enumerate(schema.numbers(values)):
        if number is not None:
            unit = schema.texts.unit_of.get(values[row], "") if units is None else units[row]
            rows, numbers = rows_of.setdefault(NO_UNIT if is_missing(unit) else str(unit), ([], []))
            rows.append(row)
            numbers.append(number)
    parts = []
    for unit, (rows, numbers) in sorted(rows_of.items(), key=lambda item: -len(item[1][0])):
        part = moved_facts(_Numbers.of_all(schema, numbers).facts(schema, most), rows)
        parts.append(replace(part, missing=0, not_numbers=0, example=None, note="", unit=unit, part_rows=len(rows)))
    blank: Any = dict.fromkeys(("total", "minimum", "maximum", "mean", "min_row", "max_row"))
    outliers = sorted((cell for part in parts for cell in part.outliers), key=lambda cell: -cell.distance)
    told, rules = max((len(part.outliers) for part in parts), default=0), (part.outlier_rule for part in parts)
    facts = replace(facts, parts=tuple(parts), unit="", outliers=tuple(outliers[:told]), **blank)
    return replace(facts, outlier_count=sum(p.outlier_count for p in parts), outlier_rule=next(filter(None, rules), ""))


def moved_facts(column: ColumnFacts, rows: Sequence[int]) -> ColumnFacts:
    """Returns facts of some rows with the indexes that these rows have among all."""
    return replace(
        column,
        min_row=None if column.min_row is None else rows[column.min_row],
        max_row=None if column.max_row is None else rows[column.max_row],
        outliers=tuple(replace(cell, row=rows[cell.row]) for cell in column.outliers),
        parts=tuple(moved_facts(part, rows) for part in column.parts),
    )


def _read_blocks(rows: Sequence[Mapping[Any, Any]]) -> dict[Any, _Reader | None]:
    """Returns what has read each column, or None for a column that is not all integers, floats, texts or booleans."""
    keys = list(rows[0]) if rows else []
    # Dicts of one length all of which have the first one's keys have the same keys.
    if not keys or countOf(map(len, rows), len(keys)) != len(rows):
        return dict.fromkeys(chain.from_iterable(rows))
    # Blocks of 512 rows of eight columns measured best of 64 to 4,096. More rows than that in a block make more tuples
    # than Python's collector lets live without a look at every object there is.
    block = min(512, max(32, 4096 // len(keys)))
    one = itemgetter(keys[0])
    cells_of = itemgetter(*keys) if len(keys) > 1 else lambda row: (one(row),)
    try:
        seen, sample = (
            dict(zip(keys, zip(*(cells_of(rows[row]) for row in picked), strict=True), strict=False))
            for picked in (schemas.sampled_rows(len(rows)), sample_positions(len(rows)))
        )
        # The text of a key such as 1 may be another key. The thorough way tells them apart.
        readers = {
            key: _reader_of(key, _Cells(rows, key, sample[key]), seen[key]) if isinstance(key, str) else None
            for key in keys
        }
        tuples = map(cells_of, rows)
        for _ in range(0, len(rows), block):
            for key, cells in zip(keys, zip(*islice(tuples, block), strict=True), strict=True):
                reader = readers[key]
                if reader is not None and not reader.add(cells):
                    readers[key] = None
    except KeyError:
        return dict.fromkeys(chain.from_iterable(rows))
    return readers


def _reader_of(name: str, cells: _Cells, seen: Sequence[Any]) -> _Reader | None:
    types = set(map(type, seen)) - {_NONE}
    if types == {str}:
        # Counters of different texts in each column would take more memory than the rows.
        are_alone = len(rows := cells.sample) < len(cells) and 2 * len(set(rows)) > len(rows)
        return None if are_alone else _Counts(name, cells, {str, _NONE})
    if types == {bool}:
        return _Counts(name, cells, {bool, _NONE}, ColumnSchema(name=name, role="flag", reading="boolean"))
    if not types or not types <= _PLAIN:
        return None
    schema = schemas.number_schema(name, seen, len(cells))
    first = seen[:_DECIMALS_SAMPLE]
    is_read_once = schema.role in ADDED or len(set(first)) == len(first)
    return _Numbers(schema, cells) if is_read_once else _Counts(name, cells, {*types, _NONE}, schema)


class _Cells(Sequence[Any]):
    """A column of the rows, read again if a few of its cells have to be found, and some of its cells."""

    def __init__(self, rows: Sequence[Any], key: Any, sample: Sequence[Any]) -> None:
        self._get = itemgetter(key)
        self.sample = sample
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: Any) -> Any:
        return self._get(self.rows[row])

    def __iter__(self) -> Iterator[Any]:
        return map(self._get, self.rows)


@dataclass(slots=True)
class _Numbers:
    """Adds up numbers, with None among them, block by block or all at once.

    The missing cells of the schema need not be counted yet. In `cells`, the column again, outliers are found. The
    smallest and the largest number, `low` and `high`, have their rows beside them.
    """

    schema: ColumnSchema
    cells: Sequence[Any]
    rows: int = 0
    missing: int = 0
    whole: int = 0
    others: list[Number] = field(default_factory=list)
    types: set[type] = field(default_factory=set)
    low: Any = None
    high: Any = None
    seen: set[Any] = field(default_factory=set)

    @classmethod
    def of_all(cls, schema: ColumnSchema, numbers: Sequence[Number | None]) -> _Numbers:
        """Returns what is known of a whole column, whose numbers may be of several types."""
        made = cls(schema, numbers)
        made.others = present = [number for number in numbers if number is not None]
        made._take(numbers, present, (min(present), max(present)))
        return made

    def add(self, cells: Sequence[Any]) -> bool:
        """Takes the cells of the next block, and returns False if they need the thorough way."""
        present = cells
        try:
            try:
                total = sum(cells)
            except TypeError:
                present = [cell for cell in cells if cell is not None]
                total = sum(present)
            limits = (min(present), max(present)) if present else None
        except (TypeError, ArithmeticError):
            return False
        if limits:
            # What is neither an integer nor a float shows in the type of the sum. True and False hide between 0 and 1.
            is_whole = type(total) is int and not (limits[0] <= 1 and limits[1] >= 0)
            types = {int} if is_whole else set(map(type, present))
            # NaN is a missing value, and makes nonsense of extremes.
            if not types <= _PLAIN or total - total != 0:
                return False
            self.types |= types
            if type(total) is int:
                self.whole += total
            else:
                self.others += present
        self._take(cells, present, limits)
        return True

    def _take(self, cells: Sequence[Any], present: Sequence[Any], limits: tuple[Any, Any] | None) -> None:
        if self.schema.role != "measure":
            self.seen.update(present)
        if limits:
            if self.low is None or limits[0] < self.low[0]:
                self.low = limits[0], self.rows + cells.index(limits[0])
            if self.high is None or limits[1] > self.high[0]:
                self.high = limits[1], self.rows + cells.index(limits[1])
        self.missing += len(cells) - len(present)
        self.rows += len(cells)

    def found(self, max_outliers: int) -> ColumnFacts | None:
        """Returns the facts after the last block, or None if the column needs the thorough way."""
        if self.low is None:
            return None
        schema = replace(self.schema, missing=self.missing)
        if schema.role not in ADDED and len(self.seen) != self.rows - self.missing:
            return facts_of_column(schema, self.cells, max_outliers)
        return self.facts(schema, max_outliers)

    def facts(self, schema: ColumnSchema, max_outliers: int) -> ColumnFacts:
        """Returns the facts after the last block."""
        (low, low_row), (high, high_row) = self.low, self.high
        about: dict[str, Any] = {"distinct": None if schema.role == "measure" else len(self.seen)}
        if schema.role == "measure":
            total = exact.exact_sum([*self.others, self.whole] if self.whole else self.others, self.types)
            about |= {"total": total, "mean": exact.exact_mean(total, self.rows - self.missing)}
        if schema.role in ADDED:
            cells = self.cells
            seen = cells.sample if isinstance(cells, _Cells) else map(cells.__getitem__, sample_positions(len(cells)))
            if may_have_outliers([cell for cell in seen if cell is not None], low, high):
                found = find_outliers(schema.name, list(cells), max_outliers)
                about |= zip(("outliers", "outlier_count", "outlier_rule"), found, strict=True)
            about |= {"min_row": low_row, "max_row": high_row, "unit": schema.unit, "note": schema.texts.note}
            about |= {"not_numbers": schema.unread, "example": schema.example}
            first = islice((cell for cell in cells if cell is not None), _DECIMALS_SAMPLE)
            about["decimals"] = exact.decimals_of(first)
        return _told(schema, missing=schema.missing, minimum=low, maximum=high, **about)


@dataclass(slots=True)
class _Counts:
    """Counts the values of a column of some types, with None among them, block by block.

    The schema is given if it can be known before the values are counted.
    """

    name: str
    cells: _Cells
    types: set[type]
    schema: ColumnSchema | None = None
    counts: Counter[Any] = field(default_factory=Counter)

    def add(self, cells: Sequence[Any]) -> bool:
        """Takes the cells of the next block, and returns False if they need the thorough way."""
        # True, 1 and 1.0 are one key, so that the keys cannot tell afterwards.
        if str not in self.types and not set(map(type, cells)) <= self.types:
            return False
        try:
            self.counts.update(cells)
        except TypeError:
            return False
        return True

    def found(self, max_outliers: int) -> ColumnFacts | None:
        """Returns the facts after the last block, or None if the column needs the thorough way."""
        types = set(map(type, self.counts))
        if not types - {_NONE} or not types <= self.types:
            return None
        schema = self.schema or schemas.text_schema(self.name, self.counts, self.cells)
        if schema.role in ADDED:
            return facts_of_column(schema, self.cells, max_outliers)
        facts = _counted(schema, self.counts, self.cells, max_outliers)
        return replace(facts, schema=replace(schema, missing=facts.missing))


_Reader = _Numbers | _Counts


def _told(schema: ColumnSchema, **about: Any) -> ColumnFacts:
    return ColumnFacts(name=schema.name, kind=schema.kind, role=schema.role, schema=schema, **about)


def _counted(schema: ColumnSchema, counts: Counter[Any], values: Iterable[Any], max_outliers: int) -> ColumnFacts:
    """Returns the facts of a column that is not added up, from how often each value occurs.

    Takes those that are missing out of `counts`. Looks at `values` only if a rare one has to be found.
    """
    rows = counts.total()
    # Asking each of a hundred thousand identifiers would take longer than counting them.
    quick = [None, "", *(schema.texts.missing if schema.kind != "text" else ())]
    empty = quick if {*map(type, counts)} <= {str, int, bool, _NONE} else list(filter(schema.is_empty, counts))
    missing = sum(counts.pop(value, 0) for value in dict.fromkeys(empty))
    rare, rule = rare_values(counts, rows) if schema.kind in {"text", "boolean"} else ([], "")
    cells = enumerate(values if rare else ())
    hits = (Outlier(row, schema.name, value, 0.0) for row, value in cells if hashable(value) in rare)
    low, high = schema.earliest, schema.latest
    if schema.role == "identifier" or (schema.role == "time" and low is None and schema.reading != "date"):
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


def hashable(value: Any) -> Any:
    """Returns a value that can be counted in the place of one that cannot."""
    try:
        hash(value)
    except TypeError:
        # Lists, and what else cannot be counted, by how it looks.
        return repr(value)
    return value


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
    """Returns the rows of totals, and those that repeat the header."""
    limits = [(each.total, each.minimum, each.maximum) for each in facts.columns if each.kind == "number"]
    known = ((total, ends) for total, *ends in limits if total is not None)
    may_sum_up = limits and all(any(exact.is_twice(total, end) for end in ends) for total, ends in known)
    may_repeat = len(facts.columns) > 1 and all(
        column.kind in {"text", "empty", "identifier"} or column.not_numbers for column in facts.columns
    )
    schema_of = {each.name: each.schema for each in facts.columns}
    if not may_sum_up and not may_repeat and len(records) > 2 * _LOOKED_AT:
        some = list(iter_columns([*records[:_LOOKED_AT], *records[-_LOOKED_AT:]]))
        if not schemas.total_rows(some, [schema_of[each.name] for each in some]):
            return (), ()
    columns = list(iter_columns(records))
    return schemas.total_rows(columns, [*schema_of.values()]), schemas.repeated_headers(columns)


def _columns(records: Sequence[Mapping[Any, Any]], max_outliers: int) -> tuple[ColumnFacts, ...]:
    """Returns the facts of all columns, with amounts of several currencies or units kept apart."""
    taken: dict[str, int] = {}
    found = facts_of_rows(records, max_outliers)
    together = schemas.in_one_table(replace(each.schema, name=free_name(each.name, taken)) for each in found)
    told = [
        replace(facts, name=schema.name, schema=schema, unit=schema.unit if schema.currency else facts.unit)
        for schema, facts in zip(together, found, strict=True)
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
        ((each.schema.reading == "money", abs(exact.as_float(each.total) or 0)), each.schema) for each in facts.columns
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
            groups = defaultdict[Any, list[Any]](list)
            for value, number in zip(map(hashable, cells.get(category.name, ())), numbers, strict=False):
                groups[value].append(number)
            labels = ("(missing)" if is_missing(each) else str(plain(each)) for each in groups)
            sums = dict(zip(labels, map(exact.exact_sum, groups.values()), strict=True))
            sums = dict(sorted(sums.items(), key=lambda pair: -abs(exact.as_float(pair[1]) or 0)))
            if len(sums) == len(groups) and list(sums.values()) not in (list(each.values()) for each in found.values()):
                found[f"{measure.name} by {category.name}"] = sums
    return found

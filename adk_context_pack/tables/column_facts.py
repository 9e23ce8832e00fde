"""Computes facts about columns from all of their values.

A row's cells lie all over memory, and fetching them costs more than adding them up. So flat rows are taken in blocks
that fit in the processor's cache, and everything that is asked about a cell is asked while it is there. That takes two
thirds of the time of one column after the other (`bench_table_facts`), and holds no column in memory but those of
floats, whose exact sum needs all of them at once. Any other column is one block, read by the same rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from operator import countOf, itemgetter
from typing import Any

from adk_context_pack.tables.columns import ColumnKind, expand, is_missing, iter_keys
from adk_context_pack.tables.numbers import Number, decimals_of, exact_mean, exact_sum, plain, short_text, with_decimals
from adk_context_pack.tables.outliers import (
    Outlier,
    find_outliers,
    may_have_outliers,
    rare_values,
    sample_positions,
)
from adk_context_pack.tables.schema import (
    ADDED,
    NO_UNIT,
    ColumnSchema,
    Role,
    column_schema,
    number_schema,
    sampled_rows,
    text_schema,
)

FoundFacts = tuple[ColumnSchema, "ColumnFacts"]

_MAX_COMMON = 8
_NONE = type(None)
_WITHOUT_NAN = frozenset({str, int, bool, _NONE})
_PLAIN = frozenset({int, float})
_DECIMALS_SAMPLE = 24


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
    schema: ColumnSchema | None = field(default=None, repr=False, compare=False)

    def differs_from(self, schema: ColumnSchema) -> bool:
        """Returns whether the columns beside it tell that its numbers are others, or have another role."""
        return schema.role in ADDED and (schema.role != self.role or schema.texts.note != self.note)

    def as_dict(self) -> dict[str, Any]:
        """Returns the facts as small JSON: figures as they are, long texts shortened, what does not apply left out."""
        is_number = self.kind in {"number", "rate"}
        result: dict[str, Any] = {}
        if self.parts:
            figures = ("sum", "min", "max", "mean", "distinct")
            result["by_unit"] = {
                part.unit: {"rows": part.part_rows} | {key: said[key] for key in figures if key in said}
                for part in self.parts
                for said in (part.as_dict(),)
            }
        else:
            if self.kind == "number":
                result["sum"] = plain(self.total)
            if is_number or self.kind == "date" or self.minimum is not None:
                result |= {"min": plain(self.minimum), "max": plain(self.maximum)}
            if self.kind == "number":
                result["mean"] = with_decimals(self.mean, self.decimals)
            else:
                result["distinct"] = self.distinct
        if self.commonest:
            shown = self.commonest if (self.distinct or 0) <= _MAX_COMMON else self.commonest[:1]
            # Long ones are shortened in the middle, where what is cut does not make two of them one.
            ways = (
                [as_key(value) for value, _ in shown] for as_key in (short_text, lambda cell: str(plain(cell)), repr)
            )
            labels = next((each for each in ways if len(set(each)) == len(each)), [repr(value) for value, _ in shown])
            result["commonest"] = dict(zip(labels, (n for _, n in shown), strict=True))
        if self.missing or is_number:
            result["missing"] = self.missing
        if is_number and not self.parts:
            result |= {"min_row": self.min_row, "max_row": self.max_row}
        if self.not_numbers:
            result |= {"not_numbers": self.not_numbers, "such_as": short_text(self.example)}
        if self.unit:
            result["unit"] = "% (points)" if self.unit == "%" else self.unit
        return result | ({"note": self.note} if self.note else {})


def facts_of_rows(rows: Sequence[Mapping[Any, Any]], *, max_outliers: int) -> list[FoundFacts]:
    """Returns the schema and the facts of each column, in the rows' order.

    Args:
        rows: flat or nested dicts.
        max_outliers: how many outliers are listed for a column.
    """
    found: list[FoundFacts] = []
    for key, reader in _read_blocks(rows).items():
        if reader is not None and (pair := reader.found(max_outliers)) is not None:
            found.append(pair)
            continue
        for column in expand(rows, key):
            schema = column_schema(column)
            found.append((schema, facts_of_column(schema, column.values, max_outliers=max_outliers)))
    return found


def facts_of_column(schema: ColumnSchema, values: Sequence[Any], *, max_outliers: int) -> ColumnFacts:
    """Returns the facts of a column whose schema is known."""
    if schema.role in ADDED:
        return _Numbers.of_all(schema, schema.numbers(values)).facts(schema, max_outliers)
    try:
        counts = Counter(values)
    except TypeError:
        counts = Counter(map(hashable, values))
    return counted_facts(schema, counts, values, max_outliers=max_outliers)


def facts_in_parts(
    facts: ColumnFacts, schema: ColumnSchema, values: Sequence[Any], currencies: Sequence[Any] | None, max_outliers: int
) -> ColumnFacts:
    """Returns facts whose figures are those of the amounts in each currency or unit, that of most rows first.

    Args:
        facts: the facts of all amounts together.
        schema: the schema of the amounts.
        values: their cells.
        currencies: the cells of the column that holds their currency, or None if the unit is written beside them.
        max_outliers: how many outliers of each part are listed.
    """
    if facts.differs_from(schema):
        facts = replace(facts_of_column(schema, values, max_outliers=max_outliers), schema=schema)
    if not schema.currency_column and not schema.texts.units:
        return facts
    rows_of: dict[Any, tuple[list[int], list[Number | None]]] = {}
    for row, number in enumerate(schema.numbers(values)):
        if number is not None:
            unit = schema.texts.unit_of.get(values[row], "") if currencies is None else currencies[row]
            rows, numbers = rows_of.setdefault(NO_UNIT if is_missing(unit) else str(unit), ([], []))
            rows.append(row)
            numbers.append(number)
    parts = []
    for unit, (rows, numbers) in sorted(rows_of.items(), key=lambda item: -len(item[1][0])):
        part = moved_facts(_Numbers.of_all(schema, numbers).facts(schema, max_outliers), rows)
        parts.append(replace(part, missing=0, not_numbers=0, example=None, note="", unit=unit, part_rows=len(rows)))
    blank: Any = dict.fromkeys(("total", "minimum", "maximum", "mean", "min_row", "max_row"))
    outliers = sorted((cell for part in parts for cell in part.outliers), key=lambda cell: -cell.distance)
    most, rules = max((len(part.outliers) for part in parts), default=0), (part.outlier_rule for part in parts)
    facts = replace(facts, parts=tuple(parts), unit="", outliers=tuple(outliers[:most]), **blank)
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
        return dict.fromkeys(iter_keys(rows))
    # Blocks of 512 rows of eight columns measured best of 64 to 4,096. More rows than that in a block make more tuples
    # than Python's collector lets live without a look at every object there is.
    block = min(512, max(32, 4096 // len(keys)))
    one = itemgetter(keys[0])
    cells_of = itemgetter(*keys) if len(keys) > 1 else lambda row: (one(row),)
    try:
        seen, sample = (
            dict(zip(keys, zip(*(cells_of(rows[row]) for row in picked), strict=True), strict=False))
            for picked in (sampled_rows(len(rows)), sample_positions(len(rows)))
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
        return dict.fromkeys(iter_keys(rows))
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
    schema = number_schema(name, seen, len(cells))
    first = seen[:_DECIMALS_SAMPLE]
    is_read_once = schema.role in ADDED or len(set(first)) == len(first)
    return _Numbers(schema, cells) if is_read_once else _Counts(name, cells, {*types, _NONE}, schema)


class _Cells(Sequence[Any]):
    """A column of the rows, read again if a few of its cells have to be found, and some of its cells."""

    def __init__(self, rows: Sequence[Any], key: Any, sample: Sequence[Any]) -> None:
        self._get = itemgetter(key)
        self.sample = sample
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: Any) -> Any:
        return self._get(self._rows[row])

    def __iter__(self) -> Iterator[Any]:
        return map(self._get, self._rows)


class _Numbers:
    """Adds up numbers, with None among them, block by block or all at once.

    Args:
        schema: the schema of the column, whose missing cells need not be counted yet.
        cells: the column again, in which outliers are found.
    """

    def __init__(self, schema: ColumnSchema, cells: Sequence[Any]) -> None:
        self._schema = schema
        self._cells = cells
        self._rows = 0
        self._missing = 0
        self._whole = 0
        self._others: list[Number] = []
        self._types: set[type] = set()
        self._low: tuple[Any, int] | None = None
        self._high: tuple[Any, int] | None = None
        self._seen: set[Any] | None = None if schema.role == "measure" else set()

    @classmethod
    def of_all(cls, schema: ColumnSchema, numbers: Sequence[Number | None]) -> _Numbers:
        """Returns what is known of a whole column, whose numbers may be of several types."""
        made = cls(schema, numbers)
        made._others = present = [number for number in numbers if number is not None]
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
            self._types |= types
            if type(total) is int:
                self._whole += total
            else:
                self._others += present
        self._take(cells, present, limits)
        return True

    def _take(self, cells: Sequence[Any], present: Sequence[Any], limits: tuple[Any, Any] | None) -> None:
        if self._seen is not None:
            self._seen.update(present)
        if limits:
            if self._low is None or limits[0] < self._low[0]:
                self._low = limits[0], self._rows + cells.index(limits[0])
            if self._high is None or limits[1] > self._high[0]:
                self._high = limits[1], self._rows + cells.index(limits[1])
        self._missing += len(cells) - len(present)
        self._rows += len(cells)

    def found(self, max_outliers: int) -> FoundFacts | None:
        """Returns schema and facts after the last block, or None if the column needs the thorough way."""
        if self._low is None or self._high is None:
            return None
        schema = replace(self._schema, missing=self._missing)
        if schema.role not in ADDED and len(self._seen or ()) != self._rows - self._missing:
            return schema, facts_of_column(schema, self._cells, max_outliers=max_outliers)
        return schema, self.facts(schema, max_outliers)

    def facts(self, schema: ColumnSchema, max_outliers: int) -> ColumnFacts:
        """Returns the facts after the last block."""
        (low, low_row), (high, high_row) = self._low or (None, 0), self._high or (None, 0)
        about: dict[str, Any] = {
            "minimum": low,
            "maximum": high,
            "distinct": None if self._seen is None else len(self._seen),
        }
        if schema.role in ADDED:
            cells, total = self._cells, None
            if self._seen is None:
                total = exact_sum([*self._others, self._whole] if self._whole else self._others, self._types)
                about |= {"total": total, "mean": exact_mean(total, self._rows - self._missing)}
            seen = cells.sample if isinstance(cells, _Cells) else map(cells.__getitem__, sample_positions(len(cells)))
            if may_have_outliers([cell for cell in seen if cell is not None], about["minimum"], about["maximum"]):
                found = find_outliers(schema.name, list(cells), max_outliers)
                about |= zip(("outliers", "outlier_count", "outlier_rule"), found, strict=True)
            about |= {"min_row": low_row, "max_row": high_row, "unit": schema.unit, "note": schema.texts.note}
            about |= {"not_numbers": schema.unread, "example": schema.example}
            about["decimals"] = decimals_of(islice((cell for cell in cells if cell is not None), _DECIMALS_SAMPLE))
        return ColumnFacts(name=schema.name, kind=schema.kind, role=schema.role, missing=schema.missing, **about)


class _Counts:
    """Counts the values of a column, with None among them, block by block.

    Args:
        name: the column.
        cells: the column again.
        types: the types that its cells may have.
        schema: the schema, if it can be known before the values are counted.
    """

    def __init__(self, name: str, cells: _Cells, types: set[type], schema: ColumnSchema | None = None) -> None:
        self._name = name
        self._cells = cells
        self._types = types
        self._schema = schema
        self._counts: Counter[Any] = Counter()

    def add(self, cells: Sequence[Any]) -> bool:
        """Takes the cells of the next block, and returns False if they need the thorough way."""
        if str not in self._types and not set(map(type, cells)) <= self._types:
            # True, 1 and 1.0 are one key, so that the keys cannot tell afterwards.
            return False
        try:
            self._counts.update(cells)
        except TypeError:
            return False
        return True

    def found(self, max_outliers: int) -> FoundFacts | None:
        """Returns schema and facts after the last block, or None if the column needs the thorough way."""
        counts = self._counts
        types = set(map(type, counts))
        if not types - {_NONE} or not types <= self._types:
            return None
        schema = self._schema or text_schema(self._name, counts, self._cells)
        if schema.role in ADDED:
            return schema, facts_of_column(schema, self._cells, max_outliers=max_outliers)
        facts = counted_facts(schema, counts, self._cells, max_outliers=max_outliers)
        return replace(schema, missing=facts.missing), facts


_Reader = _Numbers | _Counts


def counted_facts(
    schema: ColumnSchema, counts: Counter[Any], values: Iterable[Any], *, max_outliers: int
) -> ColumnFacts:
    """Returns the facts of a column that is not added up, from how often each value occurs.

    Args:
        schema: the schema of the column.
        counts: all of its values, in order of appearance. Those that are missing are taken out.
        values: all values again, looked at only if a rare one has to be found.
        max_outliers: how many rare values are listed.
    """
    rows = counts.total()
    # Asking each of a hundred thousand identifiers would take longer than counting them.
    quick = [None, "", *(schema.texts.missing if schema.kind != "text" else ())]
    empty = quick if _WITHOUT_NAN.issuperset(map(type, counts)) else list(filter(schema.is_empty, counts))
    missing = sum(counts.pop(value, 0) for value in dict.fromkeys(empty))
    rare, rule = rare_values(counts, rows) if schema.kind in {"text", "boolean"} else ([], "")
    hits = (
        Outlier(row, schema.name, value, 0.0)
        for row, value in enumerate(values if rare else ())
        if hashable(value) in rare
    )
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
    return ColumnFacts(
        name=schema.name, kind=schema.kind, role=schema.role, distinct=len(counts), missing=missing - strays, note=note,
        minimum=low, maximum=high, commonest=tuple(commonest), outlier_rule=rule,
        outliers=tuple(islice(hits, max_outliers)), outlier_count=sum(counts[value] for value in rare),
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

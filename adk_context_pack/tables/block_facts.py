"""Computes the facts of columns, of flat rows block by block.

A row's cells lie all over memory, and fetching them costs more than adding them up. So flat rows are taken in blocks
that fit in the processor's cache, and everything that is asked about a cell is asked while it is there. That takes two
thirds of the time of one column after the other (`bench_table_facts`), and holds no column in memory but those of
floats, whose exact sum needs all of them at once. Any other column is one block.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from operator import countOf, itemgetter
from typing import Any

from adk_context_pack.tables.column_facts import ColumnFacts, counted_facts, hashable, number_limits
from adk_context_pack.tables.columns import Column, is_missing
from adk_context_pack.tables.names import named
from adk_context_pack.tables.numbers import Number, decimals_of, exact_mean, exact_sum, float_sum
from adk_context_pack.tables.outliers import Outlier, fences, find_outliers, may_have_outliers, sample_positions
from adk_context_pack.tables.schema import ADDED, ColumnSchema, column_schema, number_schema, sampled_rows, text_schema

Rows = Sequence[Mapping[Any, Any]]
Found = tuple[ColumnSchema, ColumnFacts]

# Blocks of 512 rows of eight columns measured best of 64 to 4,096. More rows than that in a block make more tuples than
# Python's collector lets live without a look at every object there is.
_CELLS_IN_BLOCK = 4096
_ROWS_IN_BLOCK = 512
_NONE = type(None)
_DECIMALS_SAMPLE = 24
_UNKNOWN = "(no currency)"
# Different texts that all counters together may hold, for each row: an entry takes about 100 bytes, a row far more.
_ROOM_A_ROW = 1.5


def column_facts(column: Column, *, max_outliers: int) -> Found:
    """Returns the schema of one column and its facts, whatever is in it."""
    schema = column_schema(column)
    return schema, facts_of_column(schema, column.values, max_outliers=max_outliers)


def facts_of_column(schema: ColumnSchema, values: Sequence[Any], *, max_outliers: int) -> ColumnFacts:
    """Returns the facts of a column whose schema is known."""
    if schema.role in ADDED:
        numbers = schema.numbers(values)
        return Figures.of_all(numbers, has_distinct=schema.role != "measure").facts(schema, max_outliers)
    return counted_facts(schema, _count_values(values), values, max_outliers=max_outliers)


def parts_of_column(
    schema: ColumnSchema, values: Sequence[Any], currencies: Sequence[Any] | None, max_outliers: int
) -> tuple[ColumnFacts, ...]:
    """Returns the facts of the amounts in each currency or unit, that of most rows first.

    Args:
        schema: the schema of the amounts.
        values: their cells.
        currencies: the cells of the column that holds their currency, or None if the unit is written beside them.
        max_outliers: how many outliers of each part are listed.
    """
    rows_of: dict[Any, tuple[list[int], list[Number | None]]] = {}
    for row, number in enumerate(schema.numbers(values)):
        if number is not None:
            unit = schema.texts.unit_of.get(values[row], "") if currencies is None else currencies[row]
            rows, numbers = rows_of.setdefault(_UNKNOWN if is_missing(unit) else str(unit), ([], []))
            rows.append(row)
            numbers.append(number)
    found = []
    for unit, (rows, numbers) in sorted(rows_of.items(), key=lambda item: -len(item[1][0])):
        figures = Figures.of_all(numbers, has_distinct=schema.role != "measure")
        facts = figures.facts(schema, max_outliers, rows=rows)
        found.append(replace(facts, missing=0, not_numbers=0, example=None, note="", unit=unit, part_rows=len(rows)))
    return tuple(found)


def with_parts(facts: ColumnFacts, parts: Sequence[ColumnFacts]) -> ColumnFacts:
    """Returns facts of a column without the figures that only its parts have."""
    outliers = sorted((cell for part in parts for cell in part.outliers), key=lambda cell: -cell.distance)
    return replace(
        facts,
        parts=tuple(parts),
        total=None,
        minimum=None,
        maximum=None,
        mean=None,
        min_row=None,
        max_row=None,
        unit="",
        outliers=tuple(outliers[: max(map(len, (part.outliers for part in parts)), default=0)]),
        outlier_count=sum(part.outlier_count for part in parts),
        outlier_rule=next((part.outlier_rule for part in parts if part.outlier_rule), ""),
    )


def block_facts(rows: Rows, *, max_outliers: int) -> dict[Any, Found | None] | None:
    """Returns schema and facts of those columns that are clean: all integers, floats, texts or booleans, or None.

    Args:
        rows: flat or nested dicts.
        max_outliers: how many outliers are listed for a column.

    Returns:
        Schema and facts by key, in the rows' order. A column of None needs `column_facts`. None for rows whose keys
        differ.
    """
    keys = list(rows[0]) if rows else []
    # Dicts of one length all of which have the first one's keys have the same keys.
    if not keys or countOf(map(len, rows), len(keys)) != len(rows):
        return None
    block = min(_ROWS_IN_BLOCK, max(32, _CELLS_IN_BLOCK // len(keys)))
    room = [round(_ROOM_A_ROW * len(rows))]
    try:
        # The text of a key such as 1 may be another key. The thorough way tells them apart.
        positions = sample_positions(len(rows))
        if len(positions) == len(rows):
            # Outliers of a short table are looked for in all of it.
            positions = ()
        one = itemgetter(keys[0])
        cells_of = itemgetter(*keys) if len(keys) > 1 else lambda row: (one(row),)
        seen, sample = (
            dict(zip(keys, zip(*(cells_of(rows[row]) for row in picked), strict=True), strict=False))
            for picked in (sampled_rows(len(rows)), positions)
        )
        gatherers = {
            key: _gatherer(_Cells(rows, key, sample.get(key, ())), key, seen[key], room, block)
            for key in keys
            if isinstance(key, str)
        }
        tuples = map(cells_of, rows)
        for _ in range(0, len(rows), block):
            _gather(zip(*islice(tuples, block), strict=True), keys, gatherers)
    except KeyError:
        return None
    return {key: gatherer.found(max_outliers) if (gatherer := gatherers.get(key)) is not None else None for key in keys}


class _Cells(Sequence[Any]):
    """A column of the rows, read again where a few of its cells have to be found."""

    def __init__(self, rows: Sequence[Any], key: Any, sample: Sequence[Any]) -> None:
        self._get = itemgetter(key)
        self.sample = sample
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: Any) -> Any:
        return list(map(self._get, self._rows[row])) if isinstance(row, slice) else self._get(self._rows[row])

    def __iter__(self) -> Iterator[Any]:
        return map(self._get, self._rows)


def _range(cells: Sequence[Any]) -> tuple[Any, Any]:
    """Returns the smallest and the largest cell, in two thirds of the time of `min` and `max`."""
    low = high = cells[0]
    for cell in cells:
        if cell < low:
            low = cell
        elif cell > high:
            high = cell
    return low, high


class Figures:
    """Adds up integers or floats, with None among them, block by block, or any numbers at once.

    Attributes:
        missing: how many cells were None.

    Args:
        cells: the column again, in which the rows of extremes and outliers are found.
        block: how many cells a block has.
        has_distinct: whether the different numbers are counted.
    """

    def __init__(self, cells: Sequence[Any], block: int, *, has_distinct: bool) -> None:
        self._cells = cells
        self._block = block
        self._type: type | None = None
        self._total: Number = 0
        self._kept: list[Number] = []
        self._lows: list[Number | None] = []
        self._highs: list[Number | None] = []
        self.missing = 0
        self._seen: set[Any] | None = set() if has_distinct else None

    @classmethod
    def of_all(cls, numbers: Sequence[Number | None], *, has_distinct: bool) -> Figures:
        """Returns the figures of a whole column, whose numbers may be of several types."""
        figures = cls(numbers, len(numbers), has_distinct=has_distinct)
        present: list[Number] = [number for number in numbers if number is not None] if None in numbers else numbers  # type: ignore[assignment]
        figures.missing = len(numbers) - len(present)
        figures._kept = present
        figures._type = object
        figures._lows, figures._highs = [min(present)], [max(present)]
        figures._see(present)
        return figures

    def add(self, cells: Sequence[Any]) -> bool:
        """Takes the cells of the next block, and returns False if they need the thorough way."""
        kind = self._type
        if kind is int and self._add_integers(cells):
            return True
        # Counting one type is a third faster than making a set of all.
        if kind is None or countOf(map(type, cells), kind) != len(cells):
            present = [cell for cell in cells if cell is not None]
            self.missing += len(cells) - len(present)
            cells = present
            types = set(map(type, cells))
            if not types:
                self._extremes(None, None)
                return True
            kind = types.pop()
            if types or kind not in (int, float) or kind is not (self._type or kind):
                return False
            self._type = kind
        total = sum(cells)
        if kind is int:
            self._total += total
        elif total - total != 0:
            # NaN or infinity. NaN is a missing value, and makes nonsense of min and max.
            return False
        else:
            self._kept += cells
        self._extremes(*_range(cells))
        self._see(cells)
        return True

    def _add_integers(self, cells: Sequence[Any]) -> bool:
        """Adds a block of integers and returns whether it was one, in most cases without a look at each type."""
        try:
            total, (low, high) = sum(cells), _range(cells)
        except (TypeError, ArithmeticError):
            return False
        # A float or Decimal among integers shows in the type of their sum. True and False only hide between 0 and 1.
        may_hide = low <= 1 and high >= 0
        if type(total) is not int or (may_hide and countOf(map(type, cells), int) != len(cells)):
            return False
        self._total += total
        self._extremes(low, high)
        self._see(cells)
        return True

    def _see(self, cells: Iterable[Any]) -> None:
        if self._seen is not None:
            self._seen.update(cells)

    def _extremes(self, low: Number | None, high: Number | None) -> None:
        self._lows.append(low)
        self._highs.append(high)

    def facts(self, schema: ColumnSchema, max_outliers: int, *, rows: Sequence[int] | None = None) -> ColumnFacts:
        """Returns the facts after the last block.

        Args:
            schema: the schema of the column.
            max_outliers: how many outliers are listed.
            rows: the row of each number, if they are not all rows of the table.
        """
        low = min(value for value in self._lows if value is not None)
        high = max(value for value in self._highs if value is not None)
        is_added = self._seen is None
        total = None
        if is_added:
            total = self._total if self._type is int else (exact_sum if self._type is object else float_sum)(self._kept)
        outliers, count, rule = self._outliers(schema.name, (low, high), max_outliers)
        places = (self._row_of(low, self._lows), self._row_of(high, self._highs))
        if rows is not None:
            places = (rows[places[0]], rows[places[1]])
            outliers = tuple(replace(outlier, row=rows[outlier.row]) for outlier in outliers)
        return ColumnFacts(
            name=schema.name,
            kind=schema.kind,
            role=schema.role,
            missing=schema.missing,
            total=total,
            minimum=low,
            maximum=high,
            mean=None if total is None else exact_mean(total, len(self._cells) - self.missing),
            min_row=places[0],
            max_row=places[1],
            not_numbers=schema.unread,
            example=schema.example,
            unit=schema.unit,
            note=schema.texts.note,
            distinct=None if self._seen is None else len(self._seen - {None}),
            decimals=decimals_of(islice((cell for cell in self._cells if cell is not None), _DECIMALS_SAMPLE)),
            outliers=outliers,
            outlier_count=count,
            outlier_rule=rule,
        )

    @property
    def has_numbers(self) -> bool:
        """Returns whether any number was added."""
        return self._type is not None

    def _of_block(self, number: int) -> Iterator[tuple[int, Any]]:
        start = number * self._block
        return enumerate(self._cells[start : start + self._block], start)

    def _row_of(self, value: Any, extremes: list[Any]) -> int:
        return next(row for row, cell in self._of_block(extremes.index(value)) if cell == value)

    def _has_no_outliers(self, limits: tuple[Number, Number]) -> bool:
        positions = sample_positions(len(self._cells))
        if len(positions) == len(self._cells):
            return False
        cells = self._cells
        seen = cells.sample if isinstance(cells, _Cells) else map(cells.__getitem__, positions)
        return not may_have_outliers([cell for cell in seen if cell is not None], *limits)

    def _outliers(self, name: str, limits: tuple[Number, Number], most: int) -> tuple[tuple[Outlier, ...], int, str]:
        if self._has_no_outliers(limits):
            return (), 0, ""
        numbers = self._kept or [cell for cell in self._cells if cell is not None]
        fence = fences(numbers, limits)
        if fence is None or (fence.low <= limits[0] and limits[1] <= fence.high):
            return (), 0, ""
        first, last = fence.low, fence.high
        beyond = [number for number in numbers if not first <= number <= last]
        limit = fence.distance_of(most, beyond)
        blocks = [
            block
            for block, (low, high) in enumerate(zip(self._lows, self._highs, strict=True))
            if low is not None and high is not None and max(fence.distance(low), fence.distance(high)) >= limit
        ]
        suspects = chain.from_iterable(map(self._of_block, blocks))
        listed, _, _ = find_outliers(name, fence, suspects, most)
        return listed, len(beyond), fence.rule if beyond else ""


class _Numbers:
    """A column that is added up, or of which at least the extremes are told."""

    def __init__(self, schema: ColumnSchema, figures: Figures) -> None:
        self._schema = schema
        self._figures = figures
        self.add = figures.add

    def found(self, max_outliers: int) -> Found | None:
        """Returns schema and facts after the last block, or None if the column needs the thorough way."""
        if not self._figures.has_numbers:
            return None
        schema = replace(self._schema, missing=self._figures.missing)
        return schema, self._figures.facts(schema, max_outliers)


class _Counts:
    """A column whose values are counted, with None among them.

    Args:
        name: the column.
        cells: the column again.
        types: the types that its cells may have.
        room: how many different values all counters together may still hold.
        schema: the schema, if it can be known before the values are counted.
    """

    def __init__(
        self, name: str, cells: _Cells, types: set[type], room: list[int], schema: ColumnSchema | None = None
    ) -> None:
        self._name = name
        self._cells = cells
        self._types = types
        self._room = room
        self._schema = schema
        self._counts: Counter[Any] = Counter()

    def add(self, cells: Sequence[Any]) -> bool:
        """Takes the cells of the next block, and returns False if they need the thorough way."""
        if str not in self._types and not set(map(type, cells)) <= self._types:
            # True, 1 and 1.0 are one key, so that the keys cannot tell afterwards.
            return False
        before = len(self._counts)
        try:
            self._counts.update(cells)
        except TypeError:
            return False
        self._room[0] -= len(self._counts) - before
        return self._room[0] >= 0

    def found(self, max_outliers: int) -> Found | None:
        """Returns schema and facts after the last block, or None if the column needs the thorough way."""
        counts = self._counts
        types = set(map(type, counts))
        if not types - {_NONE} or not types <= self._types:
            return None
        schema = self._schema or text_schema(self._name, counts, self._cells)
        if schema.role in ADDED:
            return schema, facts_of_column(schema, self._cells, max_outliers=max_outliers)
        facts = counted_facts(schema, counts, self._cells, max_outliers=max_outliers, types=types)
        return replace(schema, missing=facts.missing, earliest=facts.minimum, latest=facts.maximum), facts


class _Identifiers(_Counts):
    """Identifiers, which are counted only from the block on where one occurs again.

    Most integers ascend, which takes half of the time of a set to see, and no memory. A set of other identifiers takes
    half of the time and a third of the memory of their counts.
    """

    def __init__(self, name: str, cells: _Cells, kind: type, room: list[int], schema: ColumnSchema) -> None:
        super().__init__(name, cells, {kind, _NONE}, room, schema)
        self._kind = kind
        self._rows = 0
        self._last: float = -math.inf
        self._alone: set[Any] = set()
        # The ways to see that no identifier occurs twice which have not failed, the cheapest one first.
        self._ways = [self._ascend, self._are_alone] if kind is int else [self._are_alone]

    def add(self, cells: Sequence[Any]) -> bool:
        """Takes the cells of the next block, and returns False if they need the thorough way."""
        self._rows += len(cells)
        while self._ways:
            if self._ways[0](cells):
                return self._room[0] >= 0
            del self._ways[0]
            cells = list(islice(self._cells, self._rows))
        return super().add(cells)

    def found(self, max_outliers: int) -> Found | None:
        """Returns schema and facts after the last block, or None if the column needs the thorough way."""
        if not self._ways or self._schema is None:
            # Of texts, only all together tell whether they are categories.
            self._schema = None if self._kind is str else self._schema
            return super().found(max_outliers)
        cells = self._cells
        ends = number_limits(self._alone) if self._alone else (cells[0], cells[-1])
        return self._schema, ColumnFacts(
            name=self._name,
            kind="identifier",
            role="identifier",
            minimum=ends[0],
            maximum=ends[1],
            distinct=len(cells),
            commonest=((cells[0], 1),),
        )

    def _ascend(self, cells: Sequence[Any]) -> bool:
        try:
            total = sum(cells)
        except (TypeError, ValueError, ArithmeticError):
            return False
        # A NaN, which is missing and no number is above it, shows in the type of the sum.
        if type(total) is not int:
            return False
        last = self._last
        for cell in cells:
            if cell <= last:
                return False
            last = cell
        self._last = last
        return True

    def _are_alone(self, cells: Sequence[Any]) -> bool:
        before = len(self._alone)
        if countOf(map(type, cells), self._kind) == len(cells):
            self._alone.update(cells)
            if len(self._alone) == before + len(cells) and "" not in self._alone:
                self._room[0] -= len(cells)
                return True
        self._alone.clear()
        return False


_Gatherer = _Numbers | _Counts


def _gatherer(cells: _Cells, name: str, seen: Sequence[Any], room: list[int], block: int) -> _Gatherer | None:
    types = set(map(type, seen)) - {_NONE}
    if types == {str}:
        if "identifier" in named(name) and (schema := text_schema(name, Counter(seen), seen)).role == "identifier":
            return _Identifiers(name, cells, str, room, schema)
        return _Counts(name, cells, {str, _NONE}, room)
    if types == {bool}:
        return _Counts(name, cells, {bool, _NONE}, room, ColumnSchema(name=name, role="flag", reading="boolean"))
    if not types or not types <= {int, float}:
        return None
    schema = number_schema(name, seen)
    if schema.role in ADDED:
        return _Numbers(schema, Figures(cells, block, has_distinct=schema.role != "measure"))
    if schema.role == "identifier" and types == {int}:
        return _Identifiers(name, cells, int, room, schema)
    return _Counts(name, cells, {*types, _NONE}, room, schema)


def _gather(columns: Iterable[Sequence[Any]], keys: list[Any], gatherers: dict[Any, _Gatherer | None]) -> None:
    for key, cells in zip(keys, columns, strict=True):
        gatherer = gatherers.get(key)
        if gatherer is not None and not gatherer.add(cells):
            gatherers[key] = None


def _count_values(values: Sequence[Any]) -> Counter[Any]:
    try:
        return Counter(values)
    except TypeError:
        return Counter(map(hashable, values))

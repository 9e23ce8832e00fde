"""Facts about one column, computed from all of its values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from adk_context_pack.tables.columns import Column, Kind, as_number, column_kind, date_range, is_missing
from adk_context_pack.tables.numbers import Number, exact_mean, exact_sum, plain
from adk_context_pack.tables.outliers import Fences, fences, rare_values, sample_positions

_MAX_TEXT = 60
_MAX_COMMON = 3


@dataclass(frozen=True, slots=True)
class Outlier:
    """A cell that stands apart: its row's index, its column, its value, and how far it stands apart."""

    row: int
    column: str
    value: Any
    distance: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnFacts:
    """What all values of a column say together.

    Attributes:
        name: the column, nested ones dotted.
        kind: number, identifier, date, boolean, text or empty.
        missing: rows without a value: no such key, None, NaN or an empty text.
        total: the exact sum of a number column; see `numbers.exact_sum`.
        minimum: the smallest number, or the earliest date.
        maximum: the largest number, or the latest date.
        mean: the sum divided by the count of numbers, as the nearest float.
        min_row: index of the first row that holds the minimum of a number column.
        max_row: index of the first row that holds the maximum of a number column.
        not_numbers: values of a number column that are none (texts, booleans); they take no part in its figures.
        distinct: how many different values a column of another kind has.
        commonest: its commonest values with their counts, the earlier one first where counts are equal.
        outliers: cells that stand apart, the farthest first.
        outlier_count: how many cells stand apart, also those beyond the listed ones.
    """

    name: str
    kind: Kind
    missing: int = 0
    total: Number | None = None
    minimum: Any = None
    maximum: Any = None
    mean: float | None = None
    min_row: int | None = None
    max_row: int | None = None
    not_numbers: int = 0
    distinct: int | None = None
    commonest: tuple[tuple[Any, int], ...] = ()
    outliers: tuple[Outlier, ...] = ()
    outlier_count: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The facts as small JSON: figures as they are, long texts shortened, what does not apply left out."""
        if self.kind == "number":
            return self._number_dict()
        result: dict[str, Any] = {}
        if self.kind == "date":
            result = {"min": plain(self.minimum), "max": plain(self.maximum)}
        result["distinct"] = self.distinct
        # Where each value stands alone, no value is the commonest.
        if self.commonest and self.commonest[0][1] > 1:
            shown = self.commonest if (self.distinct or 0) <= _MAX_COMMON else self.commonest[:1]
            result["commonest"] = {_short(value): count for value, count in shown}
        if self.missing:
            result["missing"] = self.missing
        return result

    def _number_dict(self) -> dict[str, Any]:
        result = {
            "sum": plain(self.total),
            "min": plain(self.minimum),
            "max": plain(self.maximum),
            "mean": self.mean,
            "missing": self.missing,
            "min_row": self.min_row,
            "max_row": self.max_row,
        }
        if self.not_numbers:
            result["not_numbers"] = self.not_numbers
        return result


def column_facts(column: Column, *, max_outliers: int) -> ColumnFacts:
    """The facts of one column, whatever is in it; the fast way of `block_facts` gives the very same."""
    kind = column_kind(column)
    if kind == "number":
        return _number_facts(column, max_outliers)
    counts = _count_values(column.values)
    for value in list(filter(is_missing, counts)):
        del counts[value]
    return counted_facts(column.name, kind, counts, column.values, rows=len(column.values), max_outliers=max_outliers)


def counted_facts(  # noqa: PLR0913  one column as it is, and what to make of it
    name: str, kind: Kind, counts: Counter[Any], values: Iterable[Any], *, rows: int, max_outliers: int
) -> ColumnFacts:
    """The facts of a column that is not added up, from how often each value occurs.

    Args:
        name: the column.
        kind: its kind.
        counts: its values that are not missing, in order of appearance.
        values: all values again, looked at only where a rare one has to be found.
        rows: how many rows there are.
        max_outliers: how many rare values are listed.
    """
    present = counts.total()
    low, high = date_range(counts) if kind == "date" and counts else (None, None)
    rare = rare_values(counts, rows) if kind in {"text", "boolean"} else []
    return ColumnFacts(
        name=name,
        kind=kind,
        missing=rows - present,
        minimum=low,
        maximum=high,
        distinct=len(counts),
        commonest=_commonest(counts, present),
        outliers=_rare_outliers(name, rare, values, max_outliers) if rare else (),
        outlier_count=sum(counts[value] for value in rare),
    )


def find_outliers(
    name: str, fence: Fences, cells: Iterable[tuple[int, Number]], most: int
) -> tuple[tuple[Outlier, ...], int]:
    """The cells outside of the fences, the `most` farthest of them, and how many there are."""
    low, high = fence.low, fence.high
    found = [Outlier(row, name, value, fence.distance(value)) for row, value in cells if value < low or value > high]
    found.sort(key=lambda outlier: -outlier.distance)
    return tuple(found[:most]), len(found)


def _number_facts(column: Column, max_outliers: int) -> ColumnFacts:
    cells = as_numbers(column)
    numbers = [number for number in cells if number is not None]
    low, high = min(numbers), max(numbers)
    missing = sum(map(is_missing, column.values)) if len(numbers) < len(cells) else 0
    total = exact_sum(numbers)
    outliers, count = _number_outliers(column.name, cells, (low, high), max_outliers)
    return ColumnFacts(
        name=column.name,
        kind="number",
        missing=missing,
        total=total,
        minimum=low,
        maximum=high,
        mean=exact_mean(total, len(numbers)),
        min_row=cells.index(low),
        max_row=cells.index(high),
        not_numbers=len(cells) - missing - len(numbers),
        outliers=outliers,
        outlier_count=count,
    )


def as_numbers(column: Column) -> list[Number | None]:
    """The number in each cell of a column, exactly; None where a cell holds none."""
    if column.types == {int}:
        return list(column.values)
    if column.types <= {str, type(None)}:
        # Texts repeat, and reading a number is dear.
        read = {value: as_number(value) for value in set(column.values)}
        return list(map(read.__getitem__, column.values))
    return list(map(as_number, column.values))


def _number_outliers(
    name: str, cells: list[Number | None], extremes: tuple[Number, Number], most: int
) -> tuple[tuple[Outlier, ...], int]:
    picked = (cells[row] for row in sample_positions(len(cells)))
    fence = fences([number for number in picked if number is not None])
    if fence is None or (extremes[0] >= fence.low and extremes[1] <= fence.high):
        return (), 0
    return find_outliers(name, fence, ((row, cell) for row, cell in enumerate(cells) if cell is not None), most)


def _count_values(values: Sequence[Any]) -> Counter[Any]:
    try:
        return Counter(values)
    except TypeError:
        return Counter(map(_hashable, values))


def _commonest(counts: Counter[Any], present: int) -> tuple[tuple[Any, int], ...]:
    if len(counts) == present:
        # Each value stands alone, as in most columns of identifiers; a search among them would cost 8 ms.
        return tuple(islice(counts.items(), 1))
    # The first of equals, as Counter keeps the order of appearance.
    return tuple(counts.most_common(_MAX_COMMON if len(counts) <= _MAX_COMMON else 1))


def _rare_outliers(name: str, rare: list[Any], values: Iterable[Any], most: int) -> tuple[Outlier, ...]:
    hits = (Outlier(row, name, value, 0.0) for row, value in enumerate(values) if _hashable(value) in rare)
    return tuple(islice(hits, most))


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        # Lists, and what else cannot be counted, by how it looks.
        return repr(value)
    return value


def _short(value: Any) -> str:
    text = str(plain(value))
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"

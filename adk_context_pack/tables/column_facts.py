"""Computes facts about one column from all of its values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from adk_context_pack.tables.column_kind import Reading, read_column
from adk_context_pack.tables.columns import Column, Kind
from adk_context_pack.tables.numbers import Number, exact_mean, exact_sum, plain, short_text
from adk_context_pack.tables.outliers import (
    Outlier,
    fences,
    find_outliers,
    may_have_outliers,
    rare_values,
    sample_positions,
)

_MAX_COMMON = 8
_PERCENT = "%"
_WITHOUT_NAN = frozenset({str, int, bool, type(None)})


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnFacts:
    """Holds what all values of a column say together.

    Attributes:
        name: the column, nested ones dotted.
        kind: number, identifier, date, boolean, text or empty.
        missing: rows without a value: no such key, None, NaN or an empty text; among numbers and dates also a word for
            it, such as `N/A`.
        total: the exact sum of a number column; see `numbers.exact_sum`.
        minimum: the smallest number, or the earliest date as it was written.
        maximum: the largest number, or the latest date as it was written.
        mean: the sum divided by the count of numbers, as the nearest float.
        min_row: index of the first row that holds the minimum of a number column.
        max_row: index of the first row that holds the maximum of a number column.
        not_numbers: values of a number column that are none (texts, booleans); they take no part in its figures.
        example: the first of the values that are not numbers.
        unit: what the numbers count, as written beside them: `$`, `EUR`, `%`, `km`. Percent are points: 12.5 is 12.5 %.
        note: what a reader has to know of how the column was read; empty where there is nothing.
        distinct: how many different values a column of another kind has.
        commonest: its commonest values with their counts, the earlier one first where counts are equal.
        outliers: cells that stand apart, the farthest first.
        outlier_count: how many cells stand apart, also those beyond the listed ones.
        outlier_rule: the rule by which they do; empty where there are none.
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
    example: Any = None
    unit: str = ""
    note: str = ""
    distinct: int | None = None
    commonest: tuple[tuple[Any, int], ...] = ()
    outliers: tuple[Outlier, ...] = ()
    outlier_count: int = 0
    outlier_rule: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Returns the facts as small JSON: figures as they are, long texts shortened, what does not apply left out."""
        if self.kind == "number":
            return self._number_dict()
        result: dict[str, Any] = {}
        if self.kind == "date":
            result = {"min": plain(self.minimum), "max": plain(self.maximum)}
        result["distinct"] = self.distinct
        # Where each value stands alone, no value is the commonest.
        if self.commonest and self.commonest[0][1] > 1:
            shown = self.commonest if (self.distinct or 0) <= _MAX_COMMON else self.commonest[:1]
            result["commonest"] = dict(zip(_labels([value for value, _ in shown]), (n for _, n in shown), strict=True))
        if self.missing:
            result["missing"] = self.missing
        if self.note:
            result["note"] = self.note
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
            result |= {"not_numbers": self.not_numbers, "such_as": short_text(self.example)}
        if self.unit:
            result["unit"] = "% (points)" if self.unit == _PERCENT else self.unit
        if self.note:
            result["note"] = self.note
        return result


def column_facts(column: Column, *, max_outliers: int) -> ColumnFacts:
    """Returns the facts of one column, whatever is in it; the fast way of `block_facts` gives the very same."""
    reading = read_column(column)
    if reading.kind == "number":
        return _number_facts(column, reading, max_outliers)
    counts = _count_values(column.values)
    return counted_facts(column.name, reading, counts, column.values, max_outliers=max_outliers)


def counted_facts(  # noqa: PLR0913 - what is known of the column
    name: str,
    reading: Reading,
    counts: Counter[Any],
    values: Iterable[Any],
    *,
    max_outliers: int,
    types: Collection[type] | None = None,
) -> ColumnFacts:
    """Returns the facts of a column that is not added up, from how often each value occurs.

    Args:
        name: the column.
        reading: what the column holds.
        counts: all of its values, in order of appearance; those that are missing are taken out.
        values: all values again, looked at only where a rare one has to be found.
        max_outliers: how many rare values are listed.
        types: the types of the values, where they are known.
    """
    rows = counts.total()
    missing = _take_out_missing(counts, reading, types or set(map(type, counts)))
    present = rows - missing
    rare, rule = rare_values(counts, rows) if reading.kind in {"text", "boolean"} else ([], "")
    texts = reading.texts
    apart = f"amounts in {' and '.join(texts.currencies)}, not added up" if texts.currencies else ""
    return ColumnFacts(
        name=name,
        kind=reading.kind,
        missing=missing,
        minimum=reading.earliest,
        maximum=reading.latest,
        note=texts.note if texts.names else apart,
        distinct=len(counts),
        commonest=_commonest(counts, present),
        outliers=_rare_outliers(name, rare, values, max_outliers) if rare else (),
        outlier_count=sum(counts[value] for value in rare),
        outlier_rule=rule,
    )


def _take_out_missing(counts: Counter[Any], reading: Reading, types: Collection[type]) -> int:
    """Takes the values that are missing out of `counts`, and returns how many cells they were."""
    if _WITHOUT_NAN.issuperset(types):
        # Asking each of a hundred thousand identifiers would take longer than counting them.
        empty = [None, "", *(reading.texts.missing if reading.kind != "text" else ())]
    else:
        empty = list(filter(reading.is_empty, counts))
    return sum(counts.pop(value, 0) for value in dict.fromkeys(empty))


def _number_facts(column: Column, reading: Reading, max_outliers: int) -> ColumnFacts:
    cells = reading.numbers(column.values)
    numbers: list[Number] = [number for number in cells if number is not None] if None in cells else cells  # type: ignore[assignment]
    low, high = min(numbers), max(numbers)
    total = exact_sum(numbers)
    outliers, count, rule = _number_outliers(column.name, cells, numbers, (low, high), max_outliers)
    return ColumnFacts(
        name=column.name,
        kind="number",
        missing=reading.missing,
        total=total,
        minimum=low,
        maximum=high,
        mean=exact_mean(total, len(numbers)),
        min_row=cells.index(low),
        max_row=cells.index(high),
        not_numbers=reading.left_out,
        example=reading.example,
        unit=reading.unit,
        note=reading.texts.note,
        outliers=outliers,
        outlier_count=count,
        outlier_rule=rule,
    )


def _number_outliers(
    name: str, cells: list[Number | None], numbers: list[Number], extremes: tuple[Number, Number], most: int
) -> tuple[tuple[Outlier, ...], int, str]:
    picked = list(map(numbers.__getitem__, sample_positions(len(numbers))))
    if not may_have_outliers(picked, *extremes):
        return (), 0, ""
    fence = fences(numbers, extremes)
    if fence is None or (extremes[0] >= fence.low and extremes[1] <= fence.high):
        return (), 0, ""
    return find_outliers(name, fence, enumerate(cells), most)


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


def _labels(values: Sequence[Any]) -> list[str]:
    """Values as keys: long ones shortened in the middle, where what is cut does not make two of them one."""
    for spelled in (short_text, lambda value: str(plain(value)), repr):
        labels = list(map(spelled, values))
        if len(set(labels)) == len(labels):
            break
    return labels

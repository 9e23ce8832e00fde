"""Finds the numbers of a column that stand apart from the rest, by rules that can be stated in one line."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from heapq import nlargest, nsmallest
from typing import Any

from adk_context_pack.tables.numbers import Number

RULE = "further outside the middle half of the values than 3 times its width (Tukey's outer fence)"
RARE_RULE = "a value that at most 0.5 % of the rows have, in a column of at most 12 different values"
LONE_RULE = "a value of one row alone, where at most 11 others have 10 rows or more each"
_WIDER_RULE = (
    "further outside the middle {} % of the values than 3 times its width, where all of the middle half is one value"
)
_EQUAL_RULE = "any other value than the one that the middle 95 % of the values are"

_PLAIN = frozenset((int, float))
_WIDTHS = 3
_SAMPLE_ROWS = 2048
MIN_ROWS = 8
MIN_ROWS_FOR_RARE = 100
MAX_DISTINCT_FOR_RARE = 12
_MANY = 10
# From the share of the values below the middle to the rule. Where the middle half is one value, a wider middle decides.
_MIDDLES = ((4, RULE), (10, _WIDER_RULE.format(80)), (40, _WIDER_RULE.format(95)))
# The true quartiles lie outside of these shares of a random sample of 2,048 in less than one table in a billion.
_SURELY_INSIDE = 0.32
# Five standard deviations of the place of a quartile in a random sample of 2,048.
_SAMPLE_MARGIN = 98
_MIN_ROWS_FOR_SELECTION = 8 * _SAMPLE_ROWS


@dataclass(frozen=True, slots=True)
class Outlier:
    """Points to a cell that stands apart: its row's index, its column, its value, and how far it stands apart."""

    row: int
    column: str
    value: Any
    distance: float


@dataclass(frozen=True, slots=True)
class Fences:
    """Beyond which numbers a column has outliers, by what a distance is measured, and by which rule."""

    low: float
    high: float
    width: float
    rule: str = RULE

    def distance(self, value: Number) -> float:
        """Returns how far `value` is outside the fences, in widths of the middle; at most 0 within them."""
        number = _float(value)
        outside = self.low - number if number < self.low else number - self.high
        return outside / self.width if self.width else outside

    def distance_of(self, most: int, numbers: Sequence[Number]) -> float:
        """Returns how far the farthest `most` of `numbers` are outside at least. The farthest are at the two ends."""
        ends = (*nlargest(most, numbers), *nsmallest(most, numbers))
        return min(nlargest(most, map(self.distance, ends)), default=math.inf)


def fences(numbers: Sequence[Number], limits: tuple[Number, Number] | None = None) -> Fences | None:
    """Returns Tukey's outer fences: the quartiles, less and plus 3 times the distance between them.

    A quartile is the value a quarter of the way along the sorted values, rounded outwards to a value that is there.
    Source: Tukey, "Exploratory Data Analysis", 1977, section 2D. Where half of the numbers are one value, the middle
    80 % or 95 % take the place of the middle half. None for fewer than 8 numbers, among which nothing stands apart.

    Args:
        numbers: all numbers of a column, in any order.
        limits: the smallest and the largest of them, where they are known.
    """
    if len(numbers) >= _MIN_ROWS_FOR_SELECTION and all(map(_is_finite, limits or (min(numbers), max(numbers)))):
        middle = middle_half(numbers)
        if middle is not None:
            return _fences_around(*middle, RULE)
    return _sorted_fences(numbers)


def _sorted_fences(numbers: Sequence[Number]) -> Fences | None:
    try:
        ordered: Sequence[Number] = sorted(numbers)
    except ArithmeticError:
        ordered = sorted(filter(math.isfinite, map(_float, numbers)))
    if ordered and not (_is_finite(ordered[0]) and _is_finite(ordered[-1])):
        ordered = [number for number in ordered if _is_finite(number)]
    if len(ordered) < MIN_ROWS:
        return None
    last = len(ordered) - 1
    for cut, rule in _MIDDLES:
        low, high = _float(ordered[last // cut]), _float(ordered[-1 - last // cut])
        if high > low:
            return _fences_around(low, high, rule)
    return Fences(low, high, 0.0, _EQUAL_RULE)


def _fences_around(low: Number, high: Number, rule: str) -> Fences:
    first, last = _float(low), _float(high)
    width = last - first
    return Fences(first - _WIDTHS * width, last + _WIDTHS * width, width, rule)


def middle_half(numbers: Sequence[Number]) -> tuple[Number, Number] | None:
    """Returns the quartiles of many numbers without sorting all of them; None where these are one value, or rarely.

    The quartiles of a random sample say between which two values those of all numbers are, so that only what lies
    between these has to be sorted. Source: Floyd and Rivest, "Expected time bounds for selection", 1975. The count of
    what lies outside proves the answer. Where the sample misled, which has a chance of one in a million, it is None.

    Args:
        numbers: all numbers of a column, in any order, and none of them NaN or infinite.
    """
    sample = sorted(map(numbers.__getitem__, sample_positions(len(numbers))))
    rank, place = (len(numbers) - 1) // 4, len(sample) // 4
    start, end = sample[place - _SAMPLE_MARGIN], sample[place + _SAMPLE_MARGIN]
    part = [number for number in numbers if number <= end]
    low = _ranked([number for number in part if number >= start], rank, len(part), from_end=False)
    start, end = sample[-1 - place - _SAMPLE_MARGIN], sample[-1 - place + _SAMPLE_MARGIN]
    part = [number for number in numbers if number >= start]
    high = _ranked([number for number in part if number <= end], rank, len(part), from_end=True)
    return (low, high) if low is not None and high is not None and _float(low) < _float(high) else None


def _ranked(inside: list[Number], rank: int, count: int, *, from_end: bool) -> Number | None:
    """Returns the number at a rank among `count`, of which those that are not `inside` come before all that are."""
    place = rank - (count - len(inside))
    inside.sort(reverse=from_end)
    return inside[place] if 0 <= place < len(inside) else None


def may_have_outliers(sample: Sequence[Number], low: Number, high: Number) -> bool:
    """Tells whether a column can have outliers, from some random cells of it and its extremes.

    False is certain but for chances below one in a billion: the middle third of the sample lies within the middle half
    of the column, so that fences drawn from it are closer than the column's own.

    Args:
        sample: the cells at `sample_positions`, all of them for a small column.
        low: the smallest number of the column.
        high: the largest one.
    """
    if len(sample) < _SAMPLE_ROWS // 2:
        # So few are sorted once, for the fences.
        return True
    are_plain = _PLAIN.issuperset(map(type, sample)) and _is_finite(low) and _is_finite(high)
    ordered: list[Any] = sorted(sample if are_plain else filter(math.isfinite, map(_float, sample)))
    if len(ordered) < _SAMPLE_ROWS // 2:
        return True
    first, last = ordered[int(_SURELY_INSIDE * len(ordered))], ordered[-1 - int(_SURELY_INSIDE * len(ordered))]
    width = last - first
    return bool(width <= 0 or _float(low) < first - _WIDTHS * width or _float(high) > last + _WIDTHS * width)


def find_outliers(
    name: str, fence: Fences, cells: Iterable[tuple[int, Number | None]], most: int
) -> tuple[tuple[Outlier, ...], int, str]:
    """Returns the cells outside of the fences: the `most` farthest of them, how many there are, and by which rule."""
    low, high = fence.low, fence.high
    found = [(row, cell) for row, cell in cells if cell is not None and not low <= cell <= high]
    limit = fence.distance_of(most, [cell for _, cell in found])
    distances = ((fence.distance(cell), -row, cell) for row, cell in found)
    farthest = nlargest(most, (each for each in distances if each[0] >= limit))
    listed = tuple(Outlier(-row, name, cell, distance) for distance, row, cell in farthest)
    return listed, len(found), fence.rule if found else ""


@lru_cache(maxsize=8)
def sample_positions(rows: int) -> Sequence[int]:
    """Returns the rows to look at first: all of a small table, else the same random ones at each call."""
    if rows <= _SAMPLE_ROWS:
        return range(rows)
    return sorted(random.Random(rows).choices(range(rows), k=_SAMPLE_ROWS))  # noqa: S311  statistics, not secrets


def rare_values(counts: Mapping[Any, int], rows: int) -> tuple[list[Any], str]:
    """Returns values that stand apart by being rare among few, and the rule by which they do.

    One `CHARGEBACK` in 500 rows of three other values is one, and so is the only `failed` in 40 rows of `done`.

    Args:
        counts: how many rows have each value, without those that are missing.
        rows: how many rows there are.
    """
    if not 1 < len(counts) <= MAX_DISTINCT_FOR_RARE:
        return [], ""
    if rows >= MIN_ROWS_FOR_RARE and (rare := [value for value, count in counts.items() if count * 200 <= rows]):
        return rare, RARE_RULE
    lone = [value for value, count in counts.items() if count == 1]
    is_apart = len(lone) == 1 and sum(count < _MANY for count in counts.values()) == 1
    return (lone, LONE_RULE) if is_apart else ([], "")


def _is_finite(value: Number) -> bool:
    return value.is_finite() if isinstance(value, Decimal) else not isinstance(value, float) or math.isfinite(value)


def _float(value: Number) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")

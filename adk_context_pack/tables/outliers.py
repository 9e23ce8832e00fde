"""Which numbers of a column stand apart from the rest, by a rule that can be stated in one line."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from adk_context_pack.tables.numbers import Number

RULE = "further outside the middle half of the values than 3 times its width (Tukey's outer fence)"
RARE_RULE = "a value that at most 0.5 % of the rows have, in a column of few values"

_WIDTHS = 3
# Fences need no more: the quartiles of so many rows lie within about two percent of the rows from the true ones.
SAMPLE_ROWS = 2048
MIN_ROWS = 8
MIN_ROWS_FOR_RARE = 100
MAX_DISTINCT_FOR_RARE = 12
# Where half of the values are one and the same, the middle half has no width; then the wider middle decides.
_MIDDLES = ((4, 1), (10, 1), (40, 1))


@dataclass(frozen=True, slots=True)
class Fences:
    """Beyond which numbers a column has outliers, and by what a distance is measured."""

    low: float
    high: float
    width: float

    def distance(self, value: Number) -> float:
        """How far `value` is outside the fences, in widths of the middle; at most 0 within them."""
        number = _float(value)
        outside = self.low - number if number < self.low else number - self.high
        return outside / self.width if self.width else outside


def fences(numbers: Sequence[Number]) -> Fences | None:
    """Tukey's outer fences around a sample: the quartiles, less and plus 3 times the distance between them.

    Source: Tukey, "Exploratory Data Analysis", 1977, section 2D. Where half of the sample is one value, the middle
    80 % or 95 % take the place of the middle half. None for fewer than 8 numbers, among which nothing stands apart.
    """
    ordered = sorted(filter(math.isfinite, map(_float, numbers)))
    if len(ordered) < MIN_ROWS:
        return None
    last = len(ordered) - 1
    low = high = 0.0
    for share, cut in _MIDDLES:
        low, high = ordered[last * cut // share], ordered[-1 - last * cut // share]
        if high > low:
            break
    width = high - low
    return Fences(low - _WIDTHS * width, high + _WIDTHS * width, width)


@lru_cache(maxsize=8)
def sample_positions(rows: int) -> Sequence[int]:
    """The rows from which fences are drawn: all of a small table, else the same random ones at each call."""
    if rows <= SAMPLE_ROWS:
        return range(rows)
    return sorted(random.Random(rows).choices(range(rows), k=SAMPLE_ROWS))  # noqa: S311  statistics, not secrets


def rare_values(counts: Mapping[Any, int], rows: int) -> list[Any]:
    """Values that stand apart by being rare among few: one `CHARGEBACK` in 500 rows of three other values."""
    if rows < MIN_ROWS_FOR_RARE or not 1 < len(counts) <= MAX_DISTINCT_FOR_RARE:
        return []
    return [value for value, count in counts.items() if count * 200 <= rows]


def _float(value: Number) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")

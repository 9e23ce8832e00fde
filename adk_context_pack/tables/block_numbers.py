"""Adds up a column of integers or floats block by block, as `block_facts` takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from operator import countOf, itemgetter
from typing import Any

from adk_context_pack.tables.column_facts import ColumnFacts
from adk_context_pack.tables.numbers import Number, exact_mean, float_sum
from adk_context_pack.tables.outliers import Outlier, fences, find_outliers, may_have_outliers, sample_positions

Rows = Sequence[Mapping[Any, Any]]


class BlockCells(Sequence[Any]):
    """A column of the rows, read again where a few of its cells have to be found."""

    def __init__(self, rows: Rows, key: Any, block: int) -> None:
        self._get = itemgetter(key)
        self._block = block
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: Any) -> Any:
        return self._get(self.rows[row])

    def __iter__(self) -> Iterator[Any]:
        return map(self._get, self.rows)

    def of_block(self, number: int) -> Iterator[tuple[int, Any]]:
        """Returns the cells of one block, each with its row."""
        start = number * self._block
        return enumerate(map(self._get, self.rows[start : start + self._block]), start)

    def row_of(self, value: Any, blocks: list[Any]) -> int:
        """Returns the first row with `value`, which is the extreme of one of the blocks."""
        return next(row for row, cell in self.of_block(blocks.index(value)) if cell == value)


Pick = Callable[[Sequence[Any]], Iterable[Any]]


@lru_cache(maxsize=8)
def picks(rows: int, block: int) -> Sequence[Pick]:
    """Returns for each block of a table what takes a few random cells out of the block, see `sample_positions`.

    Taking them while the block is in the processor's cache costs a tenth of fetching them from all over the table.
    """
    offsets: list[list[int]] = [[] for _ in range(0, rows, block)]
    for position in sample_positions(rows):
        offsets[position // block].append(position % block)
    return [itemgetter(*places) if len(places) > 1 else partial(_pick, places) for places in offsets]


def _pick(places: Sequence[int], cells: Sequence[Any]) -> list[Any]:
    return [cells[place] for place in places]


def _range(cells: Sequence[Any]) -> tuple[Any, Any]:
    """Returns the smallest and the largest cell, in two thirds of the time of `min` and `max`."""
    low = high = cells[0]
    for cell in cells:
        if cell < low:
            low = cell
        elif cell > high:
            high = cell
    return low, high


class BlockNumbers:
    """Integers or floats, with None among them.

    Args:
        samplers: what takes the sample out of each block.
    """

    def __init__(self, samplers: Sequence[Pick]) -> None:
        self._samplers = samplers
        self._sample: list[Any] = []
        self._type: type | None = None
        self._total = 0
        self._floats: list[float] = []
        self._lows: list[Number | None] = []
        self._highs: list[Number | None] = []
        self._missing = 0

    def add(self, cells: Sequence[Any]) -> bool:
        """Takes the cells of the next block; False says that the column needs the thorough way."""
        self._sample += self._samplers[len(self._lows)](cells)
        kind = self._type
        if kind is int and self._count_integers(cells):
            return True
        # Counting one type is a third faster than making a set of all.
        if kind is None or countOf(map(type, cells), kind) != len(cells):
            cells = self._present(cells)
            types = set(map(type, cells))
            if not types:
                self._extremes(None, None)
                return True
            kind = types.pop()
            if types or kind not in (int, float) or kind is not (self._type or kind):
                return False
            self._type = kind
        return self._count(kind, cells)

    def _count_integers(self, cells: Sequence[Any]) -> bool:
        """Counts a block of integers and says whether it was one, in most cases without a look at each type."""
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
        return True

    def _present(self, cells: Sequence[Any]) -> Sequence[Any]:
        present = [cell for cell in cells if cell is not None]
        self._missing += len(cells) - len(present)
        return present

    def _count(self, kind: type, cells: Sequence[Any]) -> bool:
        total = sum(cells)
        if kind is int:
            self._total += total
        elif total - total != 0:
            # NaN or infinity. NaN is a missing value, and makes nonsense of min and max.
            return False
        else:
            self._floats += cells
        self._extremes(*_range(cells))
        return True

    def _extremes(self, low: Number | None, high: Number | None) -> None:
        self._lows.append(low)
        self._highs.append(high)

    def facts(self, name: str, cells: BlockCells, max_outliers: int) -> ColumnFacts | None:
        """Returns the facts after the last block, or None if the column needs the thorough way."""
        if self._type is None:
            return None
        low = min(value for value in self._lows if value is not None)
        high = max(value for value in self._highs if value is not None)
        total = float_sum(self._floats) if self._type is float else self._total
        outliers, count, rule = self._outliers(name, cells, (low, high), max_outliers)
        return ColumnFacts(
            name=name,
            kind="number",
            missing=self._missing,
            total=total,
            minimum=low,
            maximum=high,
            mean=exact_mean(total, len(cells.rows) - self._missing),
            min_row=cells.row_of(low, self._lows),
            max_row=cells.row_of(high, self._highs),
            outliers=outliers,
            outlier_count=count,
            outlier_rule=rule,
        )

    def _outliers(
        self, name: str, cells: BlockCells, limits: tuple[Number, Number], most: int
    ) -> tuple[tuple[Outlier, ...], int, str]:
        if not may_have_outliers([cell for cell in self._sample if cell is not None], *limits):
            return (), 0, ""
        numbers = self._floats if self._type is float else [cell for cell in cells if cell is not None]
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
        suspects = chain.from_iterable(map(cells.of_block, blocks))
        listed, _, _ = find_outliers(name, fence, suspects, most)
        return listed, len(beyond), fence.rule if beyond else ""

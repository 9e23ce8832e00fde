"""Finds the cells of a column that stand apart from the rest, by rules that can be stated in one line."""

from __future__ import annotations

import math
import random
import re
import string
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest, nsmallest
from itertools import accumulate, chain, combinations, compress, pairwise
from typing import Any, NamedTuple

from adk_context_pack.tables.columns import Column, iter_columns
from adk_context_pack.tables.numbers import Number, is_finite, near_float

_OUTSIDE = "further outside the middle {} of the values than 3 times its width"
RULE = f"{_OUTSIDE.format('half')} (Tukey's outer fence)"
RARE_RULE = "a value that at most 0.5 % of the rows have, in a column of at most 12 different values"
LONE_RULE = "a value of one row alone, where at most 11 others have 10 rows or more each"
_WIDER = f"{_OUTSIDE}, where all of the middle half is one value".format

_PLAIN = frozenset((int, float))
_NUMBERS = _PLAIN | {type(None)}
_COUNTED = _NUMBERS | {str, bool}
_WIDTHS, _SAMPLE_ROWS, _FEW, _MANY = 3, 2048, 8, 10
MAX_DISTINCT_FOR_RARE = 12
# From the share of the values below the middle to the rule. Where the middle half is one value, a wider middle decides.
_MIDDLES = ((4, RULE), (10, _WIDER("80 %")), (40, _WIDER("95 %")))
# The true quartiles lie outside of these shares of a random sample of 2,048 in less than one table in a billion.
_SURELY_INSIDE = 0.32
# Of a column so many characters are searched for rare words, and of each rule so many cells are told.
_SEARCHED, _TOLD, _MIN_LOUD = 1_000_000, 3, 4
_YEAR = re.compile(r"(?<![0-9])[12][0-9]{3}(?![0-9])")
_TO_WORDS = bytes.maketrans((string.digits + string.punctuation).encode(), b"0" * 10 + b" " * 32)
_TO_FORMATS = bytes.maketrans((string.digits + string.ascii_letters).encode(), b"0" * 10 + b"a" * 26 + b"A" * 26)


@dataclass(frozen=True, slots=True)
class Outlier:
    """Points to a cell that stands apart: its row's index, its column, its value, and how far it stands apart."""

    row: int
    column: str
    value: Any
    distance: float


def fences(numbers: Sequence[Number]) -> tuple[float, float, float, str] | None:
    """Returns Tukey's outer fences (the quartiles, less and plus 3 times the distance between them), and that distance.

    A quartile is the value a quarter of the way along the sorted values, rounded outwards to a value that is there.
    Source: Tukey, "Exploratory Data Analysis", 1977, section 2D. Where half of the numbers are one value, the middle
    80 % or 95 % take the place of the middle half, as the rule at the end says. None for fewer than 8 numbers, among
    which nothing stands apart.
    """
    ordered = sorted(filter(is_finite, numbers))
    if len(ordered) < _FEW:
        return None
    last = len(ordered) - 1
    for cut, rule in _MIDDLES:
        low, high = near_float(ordered[last // cut]), near_float(ordered[-1 - last // cut])
        if high > low:
            width = high - low
            return low - _WIDTHS * width, high + _WIDTHS * width, width, rule
    return low, high, 1, "any other value than the one that the middle 95 % of the values are"


def may_have_outliers(sample: Sequence[Number], low: Number, high: Number) -> bool:
    """Returns whether a column can have outliers, from its cells at `sample_positions` and its extremes."""
    # False is certain but for chances below one in a billion: the middle third of the sample lies within the middle
    # half of the column, so that fences drawn from it are closer than the column's own.
    are_finite = is_finite(low) and is_finite(high)
    ordered = sorted(sample if are_finite else filter(is_finite, sample))
    if len(ordered) < _SAMPLE_ROWS // 2:
        # So few are sorted once, for the fences.
        return True
    cut = int(_SURELY_INSIDE * len(ordered))
    first, last = near_float(ordered[cut]), near_float(ordered[-1 - cut])
    width = last - first
    return bool(not width > 0 or near_float(low) < first - _WIDTHS * width or near_float(high) > last + _WIDTHS * width)


def find_outliers(name: str, cells: Sequence[Number | None], most: int) -> tuple[tuple[Outlier, ...], int, str]:
    """Returns the cells outside of the fences: the `most` farthest of them, how many there are, and by which rule."""
    if (fence := fences([cell for cell in cells if cell is not None])) is None:
        return (), 0, ""
    low, high, width, rule = fence
    found = [(row, cell) for row, cell in enumerate(cells) if cell is not None and not low <= cell <= high]
    widths = ((max(low - near_float(cell), near_float(cell) - high) / width, -row, cell) for row, cell in found)
    listed = tuple(Outlier(-row, name, cell, distance) for distance, row, cell in nlargest(most, widths))
    return listed, len(found), rule if found else ""


@lru_cache(maxsize=8)
def sample_positions(rows: int) -> Sequence[int]:
    """Returns the rows to look at first: all of a small table, else the same random ones at each call."""
    if rows <= _SAMPLE_ROWS:
        return range(rows)
    return sorted(random.Random(rows).choices(range(rows), k=_SAMPLE_ROWS))  # noqa: S311  statistics, not secrets


def rare_values(counts: Mapping[Any, int], rows: int) -> tuple[list[Any], str]:
    """Returns values that stand apart by being rare among few, and the rule by which they do."""
    # One `CHARGEBACK` in 500 rows of three other values is one, and so is the only `failed` in 40 rows of `done`. The
    # counts are those of values that are not missing.
    if not 1 < len(counts) <= MAX_DISTINCT_FOR_RARE:
        return [], ""
    if rows >= 100 and (rare := [value for value, count in counts.items() if count * 200 <= rows]):  # noqa: PLR2004
        return rare, RARE_RULE
    lone = [value for value, count in counts.items() if count == 1]
    is_apart = len(lone) == 1 and sum(count < _MANY for count in counts.values()) == 1
    return (lone, LONE_RULE) if is_apart else ([], "")


class Odd(NamedTuple):
    """Points to a cell that is unlike the others of its column: by its row's index, and its column.

    `bits` says how unlike it is: 8 if 256 times as many cells are otherwise. `word` is a rare word for which it is odd.
    """

    row: int
    column: str
    bits: float
    word: str = ""


def odd_rows(
    rows: Sequence[Any], names: Sequence[str] | None, outliers: Sequence[Outlier], numbers: Collection[str] = ()
) -> dict[int, list[Odd]]:
    """Returns the rows that are unlike the others, each with its odd cells, the oddest first."""
    # A cell is odd by its value, its format or its words, if these are rare in a column of few, by being missing where
    # others are not, or by being far from the mean. No word of any language is known. Of a long table a sample is
    # looked at, and of `numbers`, the columns of amounts, no length and no second one is odd.
    places = sorted(set(sample_positions(len(rows))))
    columns = list(iter_columns(rows if len(places) == len(rows) else [rows[place] for place in places], names))
    odd = chain.from_iterable(_odd_cells(column, are_numbers=column.name in numbers) for column in columns)
    cells = [Odd(one.row, one.column, math.log2(len(rows) / len(outliers))) for one in outliers]
    cells += [cell._replace(row=places[cell.row]) for cell in chain(odd, _odd_pairs(columns))]
    by_row: dict[int, list[Odd]] = {}
    for cell in sorted(cells, key=lambda cell: -cell.bits):
        by_row.setdefault(cell.row, []).append(cell)
    ranked = sorted(by_row, key=lambda row: (-by_row[row][0].bits, -sum(cell.bits for cell in by_row[row])))
    return {row: by_row[row] for row in ranked if 2 * by_row[row][0].bits >= by_row[ranked[0]][0].bits}


def _odd_cells(column: Column, *, are_numbers: bool) -> Iterator[Odd]:
    name, values = column.name, column.values
    # A cell may be of any class, and comparing it may fail. What is missing is odd, and so is a text among numbers.
    kinds = [value is None or (type(value) is str and (not value or "text")) for value in values]
    yield from _rare_cells(name, kinds)
    are_plain = column.types <= _COUNTED
    counts = Counter(values) if are_plain else Counter()
    if not column.types.isdisjoint(_PLAIN) and column.types <= _NUMBERS:
        yield from _far_numbers(name, values)
    for texts in [values] if are_plain else [list(map(repr, values)), list(map(_keys_in, values))]:
        yield from _rare_cells(name, texts, _MANY // 2)
    if not are_numbers and counts and len(values) - len(counts) == 1:
        # Keys are dense whole numbers, or strings but dates.
        numbers = [value for value in counts if type(value) is int]
        are_keys = len(numbers) == len(counts) and max(numbers) - min(numbers) < _MANY * len(numbers)
        are_keys = are_keys or (set(map(type, counts)) == {str} and not all(map(_YEAR.search, counts)))
        again = _rare_cells(name, [counts[value] for value in values]) if are_keys else ()
        # What a cell says comes before where it is said again.
        yield from (cell._replace(bits=cell.bits - 1) for cell in again)
    if column.types <= {str, type(None)}:
        texts = ["" if text is None else text for text in values]
        years = [int(found[0]) for text in texts if (found := _YEAR.search(text))]
        if len(years) == len(texts):
            yield from _far_numbers(name, years)
        if not are_numbers and len(set(texts)) > MAX_DISTINCT_FOR_RARE:
            yield from _odd_texts(name, texts)


def _odd_pairs(columns: Sequence[Column]) -> Iterator[Odd]:
    """Yields cells that contradict a cell of another column, both of few values: open, and yet with a closing date."""
    found: list[tuple[str, Sequence[Any]]] = []
    for column in columns:
        if column.types <= _COUNTED and len(found) < _FEW:
            cells = column.values
            # Of a column of many values it counts whether there is one.
            cells = cells if len(set(cells)) <= _FEW else [cell in (None, "") for cell in cells]
            found += [(column.name, cells)] * (len(set(cells)) > 1)
    for (name, cells), (_, others) in combinations(found, 2):
        counts, beside, seen = Counter(cells), Counter(others), Counter(zip(cells, others, strict=True))
        odd = {pair for pair, count in seen.items() if _MANY * count * len(cells) <= counts[pair[0]] * beside[pair[1]]}
        yield from _rare_cells(name, [pair not in odd for pair in zip(cells, others, strict=True)])


def _keys_in(cell: Any, depth: int = 6) -> Any:
    """Returns what a nested cell holds, whatever its values: its keys, and those within."""
    if isinstance(cell, Mapping) and depth:
        return tuple((key, _keys_in(inner, depth - 1)) for key, inner in cell.items())
    are_items = isinstance(cell, (list, tuple)) and depth
    return frozenset(_keys_in(inner, depth - 1) for inner in cell) if are_items else None


def _far_numbers(name: str, values: Sequence[Any]) -> Iterator[Odd]:
    numbers = [1.0 if value is None else near_float(value) for value in values]
    if not all(map(math.isfinite, numbers)):
        return
    given = [value is not None for value in values]
    least = nsmallest(_FEW, {number for number in numbers if number > 0})
    # Where all others begin far above it, none is as odd as less than none.
    begins_high = least and least[-1] < 2 * least[0]
    yield from _rare_cells(name, [number > 0 if begins_high else number >= 0 for number in numbers])
    # A price of 3 among hundreds is as odd as one of thousands.
    logs = list(map(math.log, numbers)) if min(numbers) > 0 else ()
    for times, scale, many in ((2, numbers, _MANY), (3, logs, max(_MANY, len(logs) // 2))):
        mean = math.fsum(compress(scale, given)) / sum(given)
        far = [known * abs(number - mean) for number, known in zip(scale, given, strict=False)]
        # So many times as far from the mean as the others.
        near = max(far, default=0.0) / times
        yield from _rare_cells(name, [distance > near for distance in far], many)


def _odd_texts(name: str, texts: Sequence[str]) -> Iterator[Odd]:
    most = _SEARCHED // len(texts)
    data = "\v".join(text[:most] for text in texts).encode(errors="replace")
    formats, lines = (data.translate(table).split(b"\v") for table in (_TO_FORMATS, _TO_WORDS))
    if len(lines) != len(texts):
        return
    counts = Counter(b" ".join(lines).split())
    yield from _rare_cells(name, formats)
    signs = Counter(chain.from_iterable(map(set, formats)))
    once = {sign for sign, count in signs.items() if count == 1}
    alone = [len(once.intersection(each)) for each in formats]
    least = max(alone) / 2
    yield from _rare_cells(name, [count > least for count in alone])
    # What is mostly codes has no words.
    codes = sum(count for word, count in counts.items() if b"0" in word)
    if codes > 0.4 * counts.total():
        return
    rare = {word for word, count in counts.items() if count * 100 <= max(len(texts), 100) and b"0" not in word}
    loud = {word for word in rare if len(word) >= _MIN_LOUD and word.isupper()}
    words = [rare.intersection(line.split()) for line in lines] if rare else []
    weights = [len(found) + len(found & loud) for found in words]
    least = max(weights, default=0) / 2
    for cell in _rare_cells(name, [weight > least for weight in weights]):
        # A short word may be a part of others.
        word = max(words[cell.row], key=lambda word: (len(word), word), default=b"")
        yield cell._replace(word=word.decode(errors="replace"))


def _rare_cells(name: str, values: Sequence[Any], many: int = _MANY) -> Iterator[Odd]:
    """Yields the cells whose values are rare beside the next rarest."""
    counts = Counter(values)
    ordered = sorted(counts.values())
    if not ordered or ordered[-1] < many * ordered[0]:
        return
    steps = zip(accumulate(ordered), pairwise(ordered), strict=False)
    share, limit, below = max((following / below, count, below) for below, (count, following) in steps)
    rows = [row for row, value in enumerate(values) if share >= many and counts[value] <= limit]
    bits = math.log2(len(values) / below)
    yield from (Odd(row, name, bits) for row in sorted(rows, key=lambda row: counts[values[row]])[:_TOLD])

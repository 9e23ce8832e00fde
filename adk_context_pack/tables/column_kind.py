"""Decides once, from all cells of a column, what the column holds and what number each cell is.

Facts, `query_rows`, `DataSummarizer` and `table_facts` all ask here, so that they agree.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import islice
from typing import Any

from adk_context_pack.tables.columns import Column, Kind, is_missing
from adk_context_pack.tables.date_text import date_range, is_date_text
from adk_context_pack.tables.names import names_date, names_identifier, names_moment, names_year
from adk_context_pack.tables.number_text import is_missing_text, read_number
from adk_context_pack.tables.numbers import Number
from adk_context_pack.tables.text_numbers import TextNumbers, read_texts

_SAMPLE = 256
_DATE_SAMPLE = 64
_NO_TEXTS = TextNumbers()
_NONE = type(None)
# Years, months of a year, YYYYMMDD, and epochs in seconds to nanoseconds, all as integers.
_YEAR = (1000, 3000)
_DATE_RANGES = ((0, 60), _YEAR, (10_000_101, 30_001_231), (10**8, 10**19))
# The years 2001 to 2100 in seconds, milliseconds, microseconds and nanoseconds since 1970.
_EPOCHS = tuple((978_307_200 * scale, 4_102_444_800 * scale) for scale in (1, 10**3, 10**6, 10**9))


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """Describes what a column holds.

    Attributes:
        kind: number, identifier, date, boolean, text or empty.
        texts: how the texts of the column read as numbers; for every kind, since SQL may ask for them.
        missing: how many cells hold nothing. In columns of numbers and dates, words for it (`N/A`, `--`) count.
        left_out: how many cells of a number column are not numbers.
        example: one of the cells that are not numbers.
        earliest: the first of a column of dates, as written.
        latest: the last of a column of dates, as written.
    """

    kind: Kind
    texts: TextNumbers = _NO_TEXTS
    missing: int = 0
    left_out: int = 0
    example: Any = None
    earliest: Any = None
    latest: Any = None
    _plain: bool = field(default=False, repr=False)
    _only_texts: bool = field(default=False, repr=False)

    @property
    def unit(self) -> str:
        """The unit that is written beside the numbers."""
        return self.texts.unit if self.kind == "number" else ""

    def is_empty(self, cell: Any) -> bool:
        """Tells whether a cell of this column holds nothing."""
        return is_missing(cell) or (isinstance(cell, str) and self.kind != "text" and cell in self.texts.missing)

    def number(self, cell: Any) -> Number | None:
        """Returns the number that a cell is, exactly; None where it is none."""
        if isinstance(cell, str):
            return self.texts.numbers.get(cell)
        return number_in(cell)

    def numbers(self, values: Sequence[Any]) -> list[Number | None]:
        """Returns the number in each cell, exactly; None where a cell holds none."""
        if self._plain:
            return list(values)
        return list(map(self.texts.numbers.get if self._only_texts else self.number, values))


def number_in(cell: Any) -> Number | None:
    """Returns a cell that is a number and neither a truth value nor NaN; None for any other."""
    if isinstance(cell, bool) or not isinstance(cell, (int, float, Decimal)) or is_missing(cell):
        return None
    return cell


def read_column(column: Column) -> Reading:
    """Returns what a column holds, from its name and all of its cells.

    A column is a number if more than half of its cells that hold something are numbers. The rest is counted as left
    out. Names of identifiers (`id`, `campaignId`, `zip_code`), digits with a leading zero, versions, and years and
    epochs under the name of a point in time are never numbers to add up. Amounts in two currencies are texts.
    """
    types = column.types - {_NONE}
    if not types:
        return Reading(kind="empty", missing=len(column.values))
    if types <= {int, float} and not names_identifier(column.name):
        return _of_numbers(column, types)
    if types == {str}:
        return read_counted(column.name, Counter(column.values), column.values)
    return _of_any(column, types)


def read_counted(name: str, counts: Counter[Any], values: Sequence[Any]) -> Reading:
    """Returns what a column of texts holds, from how often each text occurs.

    Args:
        name: the column.
        counts: its cells, all of them texts or None.
        values: the cells again, some of which are looked at.
    """
    nothing = counts[None] + counts[""]
    present = counts.total() - nothing
    if names_identifier(name):
        return Reading(kind="identifier", missing=nothing)
    texts = counts
    if None in counts:
        texts = counts.copy()
        del texts[None]
    are_few = len(texts) <= _SAMPLE or any(map(_is_like_number, dict.fromkeys(_sampled(values))))
    found = read_texts(name, texts) if are_few else _NO_TEXTS
    if found.numbers or found.names:
        reading = _of_found(name, found, texts, nothing=nothing, present=present)
        if reading is not None:
            return reading
    return _without_numbers(found, texts, nothing)


def _of_numbers(column: Column, types: Collection[type]) -> Reading:
    values = column.values
    missing = sum(map(is_missing, values)) if float in types or _NONE in column.types else 0
    if missing == len(values):
        return Reading(kind="empty", missing=missing)
    if ranges := _ranges(column.name):
        present = [value for value in values if not is_missing(value)]
        if _are_within(ranges, present):
            return Reading(kind="date", missing=missing, earliest=min(present), latest=max(present))
    return Reading(kind="number", missing=missing, _plain=not missing or float not in types)


def _of_found(name: str, found: TextNumbers, counts: Counter[str], *, nothing: int, present: int) -> Reading | None:
    """The reading of a column of texts some of which are numbers; None where they are too few."""
    if found.names:
        texts = TextNumbers(names=True, note=found.note)
        return Reading(kind="identifier" if _digits_only(counts) else "text", texts=texts, missing=nothing)
    blanks = sum(counts[text] for text in found.missing if text)
    missing = nothing + blanks
    whole = len(found.numbers) + len(found.missing) == len(counts)
    rows = present - blanks if whole else sum(counts[text] for text in found.numbers)
    if 2 * rows <= present - blanks:
        return None
    if found.currencies:
        return Reading(kind="text", texts=found, missing=nothing)
    numbers = found.numbers
    if whole and _are_within(_ranges(name), numbers.values()):
        low, high = min(numbers, key=numbers.__getitem__), max(numbers, key=numbers.__getitem__)
        return Reading(
            kind="date", texts=TextNumbers(missing=found.missing), missing=missing, earliest=low, latest=high
        )
    left_out = present - blanks - rows
    stray = _stray(counts, found) if left_out else None
    return Reading(kind="number", texts=found, missing=missing, left_out=left_out, example=stray, _only_texts=True)


def _without_numbers(found: TextNumbers, counts: Counter[str], nothing: int) -> Reading:
    texts = [text for text in counts if text]
    shown = (text for text in texts if not is_missing_text(text))
    if not all(map(is_date_text, islice(shown, _DATE_SAMPLE))):
        return Reading(kind="text", texts=found, missing=nothing)
    if texts and (limits := date_range(texts)):
        return Reading(kind="date", missing=nothing, earliest=limits[0], latest=limits[1])
    words = frozenset(filter(is_missing_text, counts))
    only = TextNumbers(missing=words)
    missing = nothing + sum(counts[text] for text in words if text)
    dates = [text for text in texts if text not in words]
    if not dates:
        return Reading(kind="empty", texts=only, missing=missing)
    if limits := date_range(dates):
        return Reading(kind="date", texts=only, missing=missing, earliest=limits[0], latest=limits[1])
    return Reading(kind="text", texts=found, missing=nothing)


def _of_any(column: Column, types: Collection[type]) -> Reading:
    """The reading of a column whose cells are of several types, or of types other than numbers and texts."""
    values = column.values
    nothing = sum(map(is_missing, values))
    if names_identifier(column.name):
        return Reading(kind="identifier", missing=nothing)
    if types == {bool}:
        return Reading(kind="boolean", missing=nothing)
    if nothing == len(values):
        return Reading(kind="empty", missing=nothing)
    if all(issubclass(kind, date) for kind in types):
        low, high = date_range(value for value in values if value is not None) or (None, None)
        return Reading(kind="date", missing=nothing, earliest=low, latest=high)
    counts = Counter(str(value) for value in values if isinstance(value, str))
    found = read_texts(column.name, counts) if counts else _NO_TEXTS
    missing = nothing + sum(counts[text] for text in found.missing if text)
    reading = Reading(kind="number", texts=found)
    cells = reading.numbers(values)
    numbers = [number for number in cells if number is not None]
    present = len(values) - missing
    if found.names or found.currencies or 2 * len(numbers) <= present:
        return Reading(kind="text", texts=found, missing=nothing)
    if len(numbers) == present and _are_within(_ranges(column.name), numbers):
        return Reading(kind="date", texts=found, missing=missing, earliest=min(numbers), latest=max(numbers))
    stray = next((v for v, n in zip(values, cells, strict=True) if n is None and not reading.is_empty(v)), None)
    left_out = present - len(numbers)
    return Reading(kind="number", texts=found, missing=missing, left_out=left_out, example=stray)


def _stray(counts: Iterable[str], found: TextNumbers) -> str | None:
    return next((text for text in counts if text and text not in found.numbers and text not in found.missing), None)


def _digits_only(counts: Mapping[str, int]) -> bool:
    return all(text.isdecimal() for text in counts if text and not is_missing_text(text))


def _ranges(name: str) -> tuple[tuple[int, int], ...]:
    """The ranges in which whole numbers under a name are points in time and not amounts."""
    if names_date(name):
        return _DATE_RANGES
    return (*((_YEAR,) if names_year(name) else ()), *(_EPOCHS if names_moment(name) else ()))


def _are_within(ranges: Iterable[tuple[int, int]], numbers: Collection[Number]) -> bool:
    if not ranges or not all(isinstance(number, int) or number % 1 == 0 for number in numbers):
        return False
    low, high = min(numbers), max(numbers)
    return any(start <= low and high <= end for start, end in ranges)


def _is_like_number(cell: Any) -> bool:
    return isinstance(cell, str) and (cell[:1] == "0" or read_number(cell) is not None)


def _sampled(values: Sequence[Any]) -> list[Any]:
    count = len(values)
    picked = random.Random(count).choices(range(count), k=_SAMPLE)  # noqa: S311  statistics, not secrets
    # The first cells are what a reader sees, so that a column of few numbers is told as one of few numbers.
    return [values[place] for place in (*range(min(count, _DATE_SAMPLE)), *picked)]

"""Turns columns into cells of SQLite, so that comparing, sorting and adding up give what the values mean."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from adk_context_pack._json import json_text
from adk_context_pack.sql.collations import TRUTHS, collation_of, date_type, written_type
from adk_context_pack.sql.number_columns import NUMBERS
from adk_context_pack.sql.number_places import TextColumn
from adk_context_pack.sql.sql_names import unique_name
from adk_context_pack.tables.columns import Column, as_record, is_record
from adk_context_pack.tables.date_text import day_first_in, sorts_as_text
from adk_context_pack.tables.numbers import Number, plain, short_text
from adk_context_pack.tables.schema import NUMBERS as NUMBER_READINGS
from adk_context_pack.tables.schema import ColumnSchema, column_schema, truth_of, with_currencies

EXACT = "TEXT COLLATE exact_number"
"""The type of a column whose numbers SQLite cannot hold: texts that are compared and added up as numbers."""

_INT64 = range(-(2**63), 2**63)
# A float holds every integer up to here, and every decimal of up to 15 digits can be read back from one.
_FLOAT_EXACT = 2**53
_FLOAT_DIGITS = 15
_NONE = frozenset((type(None),))


@dataclass(frozen=True, slots=True)
class Cells:
    """Holds one column, ready to be inserted.

    Attributes:
        declared: its type in `CREATE TABLE`; empty for "as they come".
        values: what SQLite is given, one for each row.
        longest: characters of the longest text.
        note: what a reader of query results should know about it; empty where there is nothing.
        overflows: whether SQLite's own `sum` of the column may fail beyond 64 bits, or show binary noise in decimals.
        numbers: a second column with the numbers that the texts of this one are; None where it needs none.
        reason: why adding up the numbers would not be what a reader takes it for; empty where it would be.
        schema: what the column is, if that had to be found out.
    """

    declared: str
    values: Sequence[Any]
    longest: int = 0
    note: str = ""
    overflows: bool = False
    numbers: Cells | None = None
    reason: str = ""
    schema: ColumnSchema | None = None

    @property
    def needs_exact(self) -> bool:
        """Tells whether the connection needs the collations and aggregates of `exact_sum`."""
        return self.overflows or self.numbers is not None or self.declared == EXACT

    @property
    def is_text(self) -> bool:
        """Tells whether SQLite would add up the digits in front of its texts."""
        if self.numbers is not None or self.declared == EXACT or self.declared[:4] not in {"", "TEXT"}:
            return self.numbers is not None
        return any(type(value) is str and not value.isdecimal() for value in self.values)


def named_cells(name: str, column: Column, taken: Collection[str] = ()) -> list[tuple[str, Cells]]:
    """Returns the cells of one column under its name, and behind them its numbers where its texts hide them.

    Args:
        name: the name that the column has in SQLite.
        column: the column.
        taken: the names of the columns before it.
    """
    numbers = unique_name(f"{name}{NUMBERS}", [*taken, name])
    cells = cells_of(column, name, numbers)
    return [(name, cells)] if cells.numbers is None else [(name, cells), (numbers, cells.numbers)]


def text_columns(names: Sequence[str], cells: Sequence[Cells]) -> list[TextColumn]:
    """Returns the columns of texts among the columns of a table, for `use_numbers`."""
    found: list[TextColumn] = []
    for place, (name, cell) in enumerate(zip(names, cells, strict=True)):
        if cell.is_text:
            numbers = names[place + 1] if cell.numbers is not None else ""
            collation = collation_of(cell.declared)
            found.append(TextColumn(name=name, numbers=numbers, reason=cell.reason, collation=collation))
    return found


def cells_of(column: Column, name: str, numbers: str) -> Cells:
    """Returns the cells of one column.

    Integers and floats stay what they are, booleans become 1 and 0, NaN becomes NULL (SQLite has none), lists and
    objects become JSON text. Texts that are numbers become numbers where writing each number gives the same text
    (the Google Ads API returns int64 as text), so that `ORDER BY` and `>` work. Other texts that are numbers (`12.50`,
    `$1,250`) stay the texts that they are, are compared as numbers, and have a second column of numbers. Numbers beyond
    64 bits or 15 decimal digits become exact texts. In a column of numbers or dates, words for "no value" (`N/A`) are
    NULL.

    Args:
        column: the column.
        name: the name that it has in SQLite.
        numbers: the name that a second column of its numbers would have.
    """
    types = column.types - _NONE
    if types <= {int}:
        return _integers(column.values)
    if types <= {bool}:
        return Cells("INTEGER", column.values)
    if types <= {int, float}:
        return _from_numbers(column.values, "")
    reading = column_schema(column)
    if reading.reading in NUMBER_READINGS and reading.role != "time":
        return replace(_read_numbers(column, reading, name, numbers), schema=reading)
    return replace(_read_texts(column, reading, name), schema=reading)


def _read_texts(column: Column, reading: ColumnSchema, name: str) -> Cells:
    if column.types - _NONE != {str}:
        declared = "TEXT" if reading.kind == "identifier" else ""
        return _texts([_cell(value) for value in column.values], declared)
    values: Sequence[Any] = column.values
    if reading.reading == "boolean":
        truths = [None if value is None else truth_of(value) for value in values]
        about = f"{name} is text as it was written, and 1 or 0 in `{name}{NUMBERS}` and as a condition"
        return replace(_texts(values, TRUTHS), note=about, numbers=Cells("INTEGER", truths))
    if reading.kind == "date":
        values = [None if reading.is_empty(value) else value for value in values]
    said = reading.texts.note if reading.texts.names else ""
    declared = "TEXT"
    texts = [value for value in values if value]
    if reading.kind == "date" and not sorts_as_text(texts) and not all(map(str.isdecimal, texts)):
        declared = date_type(day_first=day_first_in(texts))
        said = f"dates as texts, sorted by time here, from {reading.earliest} to {reading.latest}"
    # With TEXT, `id = 123` finds the text '123'.
    return replace(_texts(values, declared), note=f"{name}: {said}" if said else "")


def mixed_amounts(columns: Sequence[tuple[str, Column]], cells: Sequence[Cells]) -> Iterator[dict[str, Any]]:
    """Yields the columns of amounts in several currencies, as the fields of `MixedAmounts`.

    Args:
        columns: each column with the name that it has in SQLite.
        cells: their cells.
    """
    if not any(cell.schema and (cell.schema.reading == "currency" or cell.schema.texts.units) for cell in cells):
        return
    names = {column.name: name for name, column in columns}
    known = with_currencies(
        cell.schema or column_schema(column) for (_, column), cell in zip(columns, cells, strict=True)
    )
    codes = {column.name: column.codes for column in known}
    for (name, _), column, cell in zip(columns, known, cells, strict=True):
        amount = name if cell.numbers is None else f"{name}{NUMBERS}"
        if column.texts.units and cell.numbers is not None:
            yield {"amount": amount, "currency": name, "codes": [*column.texts.units], "as_text": name}
        elif column.currency_column:
            other = column.currency_column
            text = "" if cell.numbers is None else name
            yield {"amount": amount, "currency": names[other], "codes": [*codes[other]], "text": text}


def _read_numbers(column: Column, reading: ColumnSchema, name: str, second: str) -> Cells:
    numbers = _from_numbers(reading.numbers(column.values), "")
    texts = reading.texts
    reason = _reason(reading)
    note = _note_on_missing(name, reading)
    formatted = not _is_as_written(texts.numbers, numbers.declared)
    if not formatted and not reason:
        return replace(numbers, note=note)
    declared = "TEXT" if texts.units else written_type(texts.style, scaled=texts.scaled) if formatted else ""
    as_text = str if formatted else _cell
    values = [None if reading.is_empty(value) else as_text(_cell(value)) for value in column.values]
    # SQLite keeps a declared type's conversions away from texts that are numbers, which only "" leaves as they are.
    about = f"{name} is text as it was written, its numbers are in `{second}`"
    parts = [about, f"it {reason}" if reason else "", note.partition(": ")[2]]
    return replace(_texts(values, declared), note="; ".join(filter(None, parts)), numbers=numbers, reason=reason)


def _is_as_written(numbers: Mapping[str, Number], declared: str) -> bool:
    """Tells whether writing each number in the type of its column gives the text that was there."""
    return all(_written(number, declared) == text for text, number in numbers.items())


def _written(number: Number, declared: str) -> str:
    as_float = declared == "REAL" or (not declared and not isinstance(number, int))
    return repr(float(number)) if as_float else str(number)


def _reason(reading: ColumnSchema) -> str:
    if reading.texts.units:
        return f"holds amounts in {' and '.join(reading.texts.units)}, which do not add up"
    if not reading.unread:
        return ""
    cells = "cell that is not a number" if reading.unread == 1 else "cells that are not numbers"
    return f"also holds {reading.unread} {cells}, such as {short_text(reading.example)!r}"


def _note_on_missing(name: str, reading: ColumnSchema) -> str:
    words = sorted(filter(str.strip, reading.texts.missing))
    unit = f"in {reading.unit}" if reading.unit else ""
    nulls = f"{', '.join(map(repr, words[:3]))} are NULL" if words else ""
    said = ", ".join(filter(None, [unit, reading.texts.note, nulls]))
    return f"{name}: {said}" if said else ""


def _integers(values: Sequence[Any]) -> Cells:
    present = [value for value in values if value is not None] if None in values else values
    low, high = min(present, default=0), max(present, default=0)
    if low not in _INT64 or high not in _INT64:
        return _exact(values, "")
    return Cells("INTEGER", values, overflows=_may_overflow(low, high, len(present)))


def _may_overflow(low: int, high: int, count: int) -> bool:
    """Tells whether SQLite's own sum or `abs` of integers may leave 64 bits."""
    return max(-low, high) * max(count, 1) not in _INT64


def _texts(values: Sequence[Any], declared: str) -> Cells:
    longest = max((len(value) for value in values if type(value) is str), default=0)
    return Cells(declared, values, longest)


def _from_numbers(values: Sequence[Any], note: str) -> Cells:
    types = set(map(type, values))
    if Decimal in types and not all(_fits_float(value) for value in values if type(value) is Decimal):
        return _exact(values, note)
    whole = [value for value in values if type(value) is int] if int in types else []
    low, high = min(whole, default=0), max(whole, default=0)
    if low not in _INT64 or high not in _INT64:
        return _exact(values, note)
    if not types & {float, Decimal}:
        return Cells("INTEGER", values, note=note, overflows=_may_overflow(low, high, len(whole)))
    if Decimal in types:
        values = [float(value) if type(value) is Decimal else value for value in values]
    # REAL makes a float of 3, so that 3 / 2 is 1.5 in every row; only integers that no float holds stay as they are.
    return Cells("REAL" if max(-low, high) <= _FLOAT_EXACT else "", values, note=note, overflows=Decimal in types)


def _exact(values: Sequence[Any], note: str) -> Cells:
    cells = [value if value is None or type(value) is str else _digits(value) for value in values]
    return Cells(EXACT, cells, max((len(cell) for cell in cells if cell), default=0), note)


def _digits(value: Number) -> str | None:
    if isinstance(value, float) and value != value:  # noqa: PLR0124  NaN alone differs from itself
        return None
    return str(value)


def _fits_float(value: Decimal) -> bool:
    return len(value.as_tuple().digits) <= _FLOAT_DIGITS and (value == 0 or abs(value.adjusted()) < 300)  # noqa: PLR2004


def _cell(value: Any) -> Any:
    kind = type(value)
    if value is None or kind is str or kind is float:
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return int(value) if value in _INT64 else str(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    return _nested(value)


def _nested(value: Any) -> Any:
    if is_record(type(value)):
        value = as_record(value)
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return json_text(plain(dict(value) if isinstance(value, Mapping) else value), layout="spaced")
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() and _fits_float(value) else str(value)
    return str(plain(value))

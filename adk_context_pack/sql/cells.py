"""Columns as SQLite can hold them, so that comparing, sorting and adding up give what the values mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from adk_context_pack._json import json_text
from adk_context_pack.tables.column_kind import Reading, read_column
from adk_context_pack.tables.columns import Column, as_record, is_record
from adk_context_pack.tables.numbers import Number, plain

EXACT = "TEXT COLLATE exact_number"
"""The type of a column whose numbers SQLite cannot hold: texts that are compared and added up as numbers."""

_INT64 = range(-(2**63), 2**63)
# A float holds every integer up to here, and every decimal of up to 15 digits can be read back from one.
_FLOAT_EXACT = 2**53
_FLOAT_DIGITS = 15
_NONE = frozenset((type(None),))


@dataclass(frozen=True, slots=True)
class Cells:
    """One column, ready to be inserted.

    Attributes:
        declared: its type in `CREATE TABLE`; empty for "as they come".
        values: what SQLite is given, one for each row.
        longest: characters of the longest text.
        note: what a reader of query results should know about it; empty where there is nothing.
        overflows: whether the sum of the column may be beyond 64 bits, where SQLite's own `sum` gives up.
    """

    declared: str
    values: Sequence[Any]
    longest: int = 0
    note: str = ""
    overflows: bool = False


def cells_of(column: Column) -> Cells:
    """The cells of one column.

    Integers and floats stay what they are, booleans become 1 and 0, NaN becomes NULL (SQLite has none), lists and
    objects become JSON text. A column of numeric texts (the Google Ads API returns int64 as text) becomes numbers, so
    that `ORDER BY` and `>` work; one with numbers beyond 64 bits or 15 decimal digits becomes exact texts.
    """
    types = column.types - _NONE
    if types <= {int}:
        return _integers(column.values)
    if types <= {bool}:
        return Cells("INTEGER", column.values)
    if types <= {int, float}:
        return _from_numbers(column.values, "")
    reading = read_column(column)
    kind = reading.kind
    if kind == "number":
        return _mixed_numbers(column, reading)
    if types != {str}:
        return _texts([_cell(value) for value in column.values], "TEXT" if kind == "identifier" else "")
    # With TEXT, `id = 123` finds the text '123'.
    return _texts(column.values, "TEXT")


def _integers(values: Sequence[Any]) -> Cells:
    present = [value for value in values if value is not None] if None in values else values
    largest = max(map(abs, present), default=0)
    if largest not in _INT64:
        return _exact(values, "")
    return Cells("INTEGER", values, overflows=largest * len(present) not in _INT64)


def _texts(values: Sequence[Any], declared: str) -> Cells:
    longest = max((len(value) for value in values if type(value) is str), default=0)
    return Cells(declared, values, longest)


def _mixed_numbers(column: Column, reading: Reading) -> Cells:
    cells: list[Any] = []
    texts = 0
    for value in column.values:
        number = reading.number(value)
        if number is None and not reading.is_empty(value):
            texts += 1
            cells.append(_cell(value))
        else:
            cells.append(number)
    note = f"{column.name} also holds {texts} values that are no numbers, kept as text" if texts else ""
    return _from_numbers(cells, note)


def _from_numbers(values: Sequence[Any], note: str) -> Cells:
    types = set(map(type, values))
    if Decimal in types and not all(_fits_float(value) for value in values if type(value) is Decimal):
        return _exact(values, note)
    whole = [value for value in values if type(value) is int] if int in types else []
    largest = max(map(abs, whole), default=0)
    if largest not in _INT64:
        return _exact(values, note)
    if not types & {float, Decimal}:
        return Cells("INTEGER", values, note=note, overflows=largest * len(whole) not in _INT64)
    if Decimal in types:
        values = [float(value) if type(value) is Decimal else value for value in values]
    # REAL makes a float of 3, so that 3 / 2 is 1.5 in every row; only integers that no float holds stay as they are.
    return Cells("REAL" if largest <= _FLOAT_EXACT else "", values, note=note)


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


def without_surrogates(values: Sequence[Any]) -> Sequence[Any]:
    """Cells with lone surrogates replaced by U+FFFD; SQLite keeps UTF-8, which has no form for them."""
    return [_utf8(value) if type(value) is str else value for value in values]


def _utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text

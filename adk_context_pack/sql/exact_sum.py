"""`sum`, `avg` and `total` for SQLite that add up numbers kept as text without rounding."""

from __future__ import annotations

import sqlite3
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, ClassVar

from adk_context_pack.tables.column_kind import number_in
from adk_context_pack.tables.numbers import Number, number_of

_INT64 = range(-(2**63), 2**63)
# Enough for a sum of a billion of the longest numbers that come from text here; a Decimal allocates what it uses.
_ADDING = Context(prec=4_100, Emax=999_999, Emin=-999_999, traps=[])
_FLOAT_DIGITS = 15


def install_exact_numbers(connection: sqlite3.Connection) -> None:
    """Gives a connection the collation `exact_number` and aggregates that are exact for its texts."""
    connection.create_collation("exact_number", compare_numbers)
    for name, aggregate in (("sum", ExactSum), ("avg", ExactAverage), ("total", ExactTotal)):
        connection.create_window_function(name, 1, aggregate)


def compare_numbers(left: str, right: str) -> int:
    """Order of two texts by the numbers that they are; texts that are none come after all numbers."""
    one, other = _sort_key(left), _sort_key(right)
    return (one > other) - (one < other)


@lru_cache(maxsize=8192)
def _sort_key(text: str) -> tuple[int, Any]:
    number = as_number(text)
    return (1, text) if number is None else (0, number)


class ExactSum:
    """SQLite's window function protocol: step and inverse add and remove a row, value and finalize say the sum."""

    empty: ClassVar[Any] = None

    def __init__(self) -> None:
        self._total: Any = Decimal(0)
        self._count = 0

    def step(self, value: Any) -> None:
        """Adds one cell; NULL does not count, a text that is no number counts as 0, as SQLite has it."""
        self._add(value, 1)

    def inverse(self, value: Any) -> None:
        """Takes the cell out again that leaves the window."""
        self._add(value, -1)

    def value(self) -> Any:
        """What the aggregate is now."""
        return _as_cell(self._total) if self._count else self.empty

    def finalize(self) -> Any:
        """What the aggregate is in the end."""
        return self.value()

    def _add(self, value: Any, sign: int) -> None:
        if value is None:
            return
        self._count += sign
        number = as_number(value)
        if number is not None:
            self._total = _ADDING.add(self._total, _ADDING.multiply(Decimal(number), Decimal(sign)))


class ExactTotal(ExactSum):
    """`total`: 0.0 where there is nothing to add."""

    empty: ClassVar[Any] = 0.0


class ExactAverage(ExactSum):
    """`avg`: a float, as SQLite's is."""

    def value(self) -> Any:
        """The mean of the cells that are not NULL."""
        return float(self._total / self._count) if self._count else None


def _as_cell(total: Decimal) -> Any:
    if not total.is_finite():
        return str(total)
    if total == total.to_integral_value(_EVEN, _ADDING):
        return int(total) if int(total) in _INT64 else str(int(total))
    return float(total) if len(total.as_tuple().digits) <= _FLOAT_DIGITS else str(total)


_EVEN = "ROUND_HALF_EVEN"


def as_number(value: Any) -> Number | None:
    """Returns a cell of SQLite as a number, exactly; None where it is none."""
    return number_of(value) if isinstance(value, str) else number_in(value)

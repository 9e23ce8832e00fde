"""Gives SQLite sums that do not round or cross currencies, and the order of texts that are numbers or versions."""

from __future__ import annotations

import re
import sqlite3
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache, partial
from typing import Any

from adk_context_pack.sql.sql_names import WORDS
from adk_context_pack.tables.moments import is_date_text, iso_of, moment_of, term_of
from adk_context_pack.tables.numbers import FLOAT_DIGITS, INT64, number_of, short_text

STRICT, LENIENT, DATED, MEANT = "checked_number", "number_if_any", "checked_date", "meant"
"""The functions around what a statement calculates with, compares or takes for a date, if that may be a text."""

CHECKS = frozenset((STRICT, LENIENT, DATED, MEANT, *(f"{name}_within".lower() for name in WORDS["adding"])))
"""The functions that a rewritten statement calls."""

# Enough for a sum of a billion of the longest numbers that come from text here; a Decimal allocates what it uses.
_ADDING = Context(prec=4_100, Emax=999_999, Emin=-999_999, traps=[])


class ExactSum:
    """Adds up or orders cells by SQLite's protocol for window functions: step adds a row, inverse takes it out again.

    A float counts as the decimal that it is written as, so that 0.1 and 0.2 are 0.3. If amounts in two currencies are
    added up, `fail` is told what is wrong.
    """

    def __init__(self, name: str, fail: Callable[[str], None] | None = None) -> None:
        self._name, self._fail, self._has_pairs = name, fail, name in WORDS["pairs"]
        self._total: Any = Decimal(0)
        self._cells, self._share = list[Any](), Decimal(0)
        self._count, self._has_floats = 0, False
        self._currencies: Counter[Any] = Counter()

    def inverse(self, value: Any, *about: Any) -> None:
        """Takes the cell out again that leaves the window."""
        self.step(value, *about, sign=-1)

    def value(self) -> Any:
        """Returns the aggregate of the rows so far."""
        if not self._count:
            return 0.0 if self._name == "TOTAL" else None
        if self._name in WORDS["spreads"]:
            kind = next(kind for kind, names in WORDS.items() if self._name in names and hasattr(statistics, kind))
            with suppress(statistics.StatisticsError, ArithmeticError):
                return float(getattr(statistics, kind)(*zip(*self._cells, strict=True)))
            return None
        total = self._total
        if self._cells:
            self._cells.sort()
            place = self._share * (self._count - 1)
            low, high = (self._cells[int(at)] for at in (place, place.to_integral_value(ROUND_CEILING)))
            total = low + (high - low) * (place % 1)
        if self._name == "AVG":
            return float(total / self._count)
        if not self._has_floats and total.is_finite() and total == total.to_integral_value(ROUND_HALF_EVEN, _ADDING):
            return int(total) if int(total) in INT64 else str(int(total))
        is_float = self._has_floats or len(total.as_tuple().digits) <= FLOAT_DIGITS
        return float(total) if is_float and total.is_finite() else str(total)

    finalize = value

    def step(self, value: Any, *about: Any, sign: int = 1) -> None:
        """Adds one cell, unless it is NULL, or raises a ValueError for a text that is not a number."""
        if value is None or (self._has_pairs and about[0] is None):
            return
        if self._fail and value:
            # Nothing is added by the zero of `CASE WHEN currency = 'USD' THEN amount ELSE 0 END`.
            self._currencies[about[-2]] += sign
            self._currencies += Counter()
            if len(self._currencies) > 1:
                self._fail(about[-1])
        self._count += sign
        self._has_floats |= type(value) is float
        number = number_of(value) if type(value) is str else Decimal(repr(value))
        if number is None:
            # SQLite would take the digits in front: 1 of '1,137'.
            raise ValueError("a text that is not a number")
        if self._name not in WORDS["quantiles"] | WORDS["spreads"]:
            self._total = (_ADDING.add if sign > 0 else _ADDING.subtract)(self._total, Decimal(number))
            return
        cell: Any = (float(number), float(about[0])) if self._has_pairs else (Decimal(number),)
        if self._name in WORDS["quantiles"]:
            self._share, (cell,) = Decimal("0.5" if self._name == "MEDIAN" else repr(about[0])), cell
        (self._cells.append if sign > 0 else self._cells.remove)(cell)


class StatementChecks:
    """Gives a connection the functions of `CHECKS`, and keeps what the last of them that failed had to say.

    If `is_exact`, its own sums are exact for decimals as well.
    """

    def __init__(self, connection: sqlite3.Connection, *, is_exact: bool) -> None:
        self.problem = ""
        self.readers: list[Callable[[str], Any]] = []

        meant = lambda value, place: value if (meaning := self.readers[place](str(value))) is None else meaning  # noqa: E731
        lenient = lambda value, _: value if (number := _number_in(value)) is None else number  # noqa: E731
        for name, check in (STRICT, self._strict), (LENIENT, lenient), (DATED, self._dated), (MEANT, meant):
            connection.create_function(name, 2, check, deterministic=True)
        for name in WORDS["adding"]:
            args = 1 + (name == "PERCENTILE_CONT" or name in WORDS["pairs"])
            make: Any = connection.create_window_function
            make(f"{name}_within", args + 2, partial(ExactSum, name, self._fail))
            if is_exact or name in WORDS["quantiles"] | WORDS["spreads"]:
                make(name, args, partial(ExactSum, name))

    def _fail(self, problem: str) -> None:
        self.problem = problem
        raise ValueError(problem)

    def _strict(self, value: Any, label: str) -> Any:
        number = _number_in(value)
        if number is None and isinstance(value, str):
            advice = "CAST(replace(x, ',', '') AS REAL) for the number in a text x."
            if _seconds(value) is not None:
                advice = f"seconds({label}), which is 3900 for 1:05:00. Of h:mm it counts minutes."
            elif ":" in value or is_date_text(value):
                advice = f"julianday({label}) for a number of days, and date({label}, '-9 days') for a day."
            said = f"{label} is text such as {short_text(value)!r}, and texts are not calculated with or compared with"
            self._fail(f"{said} numbers. Write {advice}")
        return number

    def _dated(self, value: Any, label: str) -> Any:
        if not isinstance(value, str):
            return value
        if ":" in value and not value.strip("0123456789: .aApPmM"):
            # SQLite reads no hour of one digit and no `PM`.
            time = _in_24_hours(value)
            return f"0{time}" if time[1:2] == ":" else time
        if moment := moment_of(value.strip()):
            return iso_of(moment, has_time=":" in value)
        if any(map(str.isdecimal, value)):
            parts = "substr(x, 7, 4) || '-' || substr(x, 4, 2) || '-' || substr(x, 1, 2)"
            advice = "Compare it as it is written" if term_of(value) else f"Write {parts} for 31/01/2026, and the like"
            self._fail(f"{label} is text such as {short_text(value)!r}, of which the day is not known. {advice}.")
        return None


def _number_in(value: Any) -> Any:
    """Returns a number of SQLite's as it is, and that which a text is."""
    if not isinstance(value, str):
        return value
    number = number_of(value.strip())
    return number if number is None or (isinstance(number, int) and number in INT64) else float(number)


def install_texts(connection: sqlite3.Connection) -> None:
    """Gives a connection the order of texts that are numbers, versions, times or months, and the case of all letters.

    SQLite takes `3.10` for less than `3.9`, and `1:05:00` for less than `59:30`.
    """
    keys: dict[str, Callable[[str], Any]] = {"clocks": _clock_key, "nocase": str.lower}
    keys["versions"] = lambda text: (*_version_parts(plain := text.lower().removeprefix("v")), (1, 0, ""), plain)
    keys["exact_number"] = lambda text: (1, text) if (number := number_of(text)) is None else (0, number)
    # Among hours such as 09:30:00, 12:00 is noon.
    keys["hours"] = lambda text: _clock_key((day := _in_24_hours(text)) + ":00" * (2 - day.count(":")))
    keys["terms"] = lambda text: term_of(text) or (9_999, text)
    for name, key in keys.items():
        cached = lru_cache(maxsize=8192)(key)
        compare = lambda one, other, key=cached: (key(one) > key(other)) - (key(one) < key(other))  # noqa: E731
        connection.create_collation(name, compare)
    for name in "lower", "upper":
        in_case = lambda value, name=name: None if value is None else getattr(str(value), name)()  # noqa: E731
        connection.create_function(name, 1, in_case, deterministic=True)
    connection.create_function("seconds", 1, _seconds, deterministic=True)
    # SQLite has these from version 3.44 on, and `concat` of no text is an empty one.
    join = lambda sign, *values: None if sign is None else sign.join(str(v) for v in values if v is not None)  # noqa: E731
    connection.create_function("concat_ws", -1, join, deterministic=True)
    connection.create_function("concat", -1, partial(join, ""), deterministic=True)
    pieces: Any = lambda texts: {**dict(enumerate(texts, 1)), **dict(enumerate(texts, -len(texts)))}  # noqa: E731
    piece = lambda text, sign, at: None if None in {text, sign, at} else pieces(str(text).split(str(sign))).get(at, "")  # noqa: E731
    connection.create_function("split_part", 3, piece, deterministic=True)
    matches = lambda form, value: None if None in {form, value} else bool(re.search(str(form), str(value)))  # noqa: E731
    connection.create_function("regexp", 2, matches, deterministic=True)


def _clock_key(text: str) -> tuple[int, Any]:
    with suppress(ValueError):
        return 0, sum(60**place * float(part) for place, part in enumerate(reversed(_in_24_hours(text).split(":"))))
    return 1, text


def _in_24_hours(text: str) -> str:
    """Returns a time such as `9:05 PM` as 21:05:00, and any other text as it is."""
    moment = moment_of(f"2000-01-01 {text}") if text[-1:] in {"M", "m", "."} else None
    return iso_of(moment, has_time=True)[len("2000-01-01 ") :] if moment else text


def _seconds(value: Any) -> Any:
    return None if (key := _clock_key(str(value)))[0] else key[1]


def _version_parts(text: str) -> Iterator[tuple[int, int, str]]:
    for part in filter(None, re.split("([0-9]+)", text)):
        digits = part.lstrip("0") if part.isdecimal() else ""
        # `1.0-rc1` comes before `1.0`, and `1.0.1` behind it.
        yield (2, len(digits), digits) if part.isdecimal() else (3 if part[0] == "." else 0, 0, part)

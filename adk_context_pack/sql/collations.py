"""Gives SQLite the order of texts that are numbers or dates, so that sorting and comparing go by what they mean."""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

from adk_context_pack.sql.exact_sum import as_number
from adk_context_pack.tables.date_text import iso_of, moment_of
from adk_context_pack.tables.number_text import Style, read_number
from adk_context_pack.tables.schema import truth_of

_FLOAT_DIGITS = 15
_DATES: dict[bool | None, str] = {True: "dates_day_first", False: "dates_month_first", None: "dates"}
_DATE_FUNCTIONS = ("date", "datetime", "julianday", "strftime", "time", "unixepoch")
TRUTHS = "TEXT COLLATE truths"
"""The type of a column of words for truth values, in which `true`, `Yes` and `ja` are one."""
_ADDED = re.compile(r" COLLATE (?:truths|written_(?:point|comma)(?:_scaled)?|dates(?:_day_first|_month_first)?)\b")


def install_collations(connection: sqlite3.Connection) -> None:
    """Gives a connection collations for texts that are exact numbers, formatted numbers or dates."""
    connection.create_collation("exact_number", compare_numbers)
    styles: tuple[Style, ...] = ("point", "comma")
    for style, scaled in itertools.product(styles, (False, True)):
        connection.create_collation(_collation(style, scaled=scaled), partial(_compare_written, style, scaled=scaled))
    for day_first, name in _DATES.items():
        connection.create_collation(name, partial(_compare_dates, day_first=day_first))
    connection.create_collation("truths", _compare_truths)


def install_dates(connection: sqlite3.Connection, collations: Collection[str]) -> sqlite3.Connection:
    """Lets SQLite's functions of dates read dates in the notations of some columns.

    Args:
        connection: gets the functions.
        collations: those of the columns.

    Returns:
        The connection whose own functions these call, which is to be closed.
    """
    plain = sqlite3.connect(":memory:", check_same_thread=False)
    plain.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH))
    orders = [day_first for day_first, name in _DATES.items() if name in collations]

    def own(name: str, args: Sequence[Any]) -> Any:
        return plain.execute(f"SELECT {name}({', '.join('?' * len(args))})", args).fetchone()[0]

    def call(name: str, *args: Any) -> Any:
        value = own(name, args)
        place = 1 if name == "strftime" else 0
        text = args[place] if len(args) > place else None
        if value is not None or not isinstance(text, str):
            return value
        moments = {moment_of(text, day_first=day_first) for day_first in orders}
        if len(moments) > 1:
            raise ValueError("a text is one date in one column and another date in another")
        moment = moments.pop()
        return None if moment is None else own(name, [*args[:place], iso_of(moment), *args[place + 1 :]])

    for name in _DATE_FUNCTIONS:
        connection.create_function(name, -1, partial(call, name))
    return plain


def _compare_truths(left: str, right: str) -> int:
    one, other = _truth_key(left), _truth_key(right)
    return (one > other) - (one < other)


def _truth_key(text: str) -> tuple[int, Any]:
    truth = truth_of(text)
    return (1, text) if truth is None else (0, truth)


def collation_of(declared: str) -> str:
    """Returns the collation in the declared type of a column; an empty text where there is none."""
    return declared.partition("COLLATE ")[2]


def without_collations(text: str) -> str:
    """Returns a text of SQL without the collations of columns of texts, which the statement did not have."""
    return _ADDED.sub("", text)


def date_type(*, day_first: bool | None) -> str:
    """Returns the type of a column of dates whose texts do not sort by time."""
    return f"TEXT COLLATE {_DATES[day_first]}"


def _compare_dates(left: str, right: str, *, day_first: bool | None) -> int:
    one, other = _date_key(left, day_first=day_first), _date_key(right, day_first=day_first)
    return (one > other) - (one < other)


@lru_cache(maxsize=8192)
def _date_key(text: str, *, day_first: bool | None) -> tuple[int, Any]:
    moment = moment_of(text, day_first=day_first)
    return (1, text) if moment is None else (0, moment)


def written_type(style: Style, *, scaled: bool) -> str:
    """Returns the type of a column of formatted numbers, such as `$1,250.00`: texts that are compared as numbers."""
    return f"TEXT COLLATE {_collation(style, scaled=scaled)}"


def _collation(style: Style, *, scaled: bool) -> str:
    return f"written_{style}_scaled" if scaled else f"written_{style}"


def compare_numbers(left: str, right: str) -> int:
    """Returns the order of two texts by the numbers that they are; texts that are none come after all numbers."""
    one, other = _sort_key(left), _sort_key(right)
    return (one > other) - (one < other)


@lru_cache(maxsize=8192)
def _sort_key(text: str) -> tuple[int, Any]:
    number = as_number(text)
    return (1, text) if number is None else (0, number)


def _compare_written(style: Style, left: str, right: str, *, scaled: bool) -> int:
    if style == "point" and len(left) <= _FLOAT_DIGITS and len(right) <= _FLOAT_DIGITS:
        # Most are plain digits, which floats compare fast, and exactly up to so many digits.
        with suppress(ValueError):
            first, second = float(left), float(right)
            if first < second or first >= second:
                return (first > second) - (first < second)
    one, other = _written_key(style, left, scaled=scaled), _written_key(style, right, scaled=scaled)
    return (one > other) - (one < other)


@lru_cache(maxsize=8192)
def _written_key(style: Style, text: str, *, scaled: bool) -> tuple[int, Any]:
    written = read_number(text)
    number = written.value(style, scaled=scaled) if written else None
    if written is not None and number is None:
        # A number of SQLite's own, which has a point whatever the column has.
        number = written.value("point", scaled=scaled)
    return (1, text) if number is None else (0, number)

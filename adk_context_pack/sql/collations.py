"""Gives SQLite the order of texts that are numbers or versions, so that sorting and comparing go by what they mean."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from adk_context_pack.sql.exact_sum import as_number

EXACT = "TEXT COLLATE exact_number"
"""The type of a column whose numbers SQLite cannot hold: texts that are compared and added up as numbers."""

VERSIONS = "TEXT COLLATE versions"
"""The type of a column of versions, in which `3.9` is before `3.10`."""

_DIGITS = re.compile("([0-9]+)")


def install_collations(connection: sqlite3.Connection) -> None:
    """Gives a connection collations for texts that are exact numbers or versions."""
    connection.create_collation("exact_number", compare_numbers)
    connection.create_collation("versions", _compare_versions)


@lru_cache(maxsize=8192)
def _number_key(text: str) -> tuple[int, Any]:
    number = as_number(text)
    return (1, text) if number is None else (0, number)


@lru_cache(maxsize=8192)
def _version_key(text: str) -> tuple[Any, ...]:
    parts = filter(None, _DIGITS.split(text.lower().removeprefix("v")))
    return (*map(_version_part, parts), (1, 0, ""), text)


def _version_part(part: str) -> tuple[int, int, str]:
    if part.isdecimal():
        digits = part.lstrip("0")
        return 2, len(digits), digits
    # `1.0-rc1` comes before `1.0`, and `1.0.1` behind it.
    return (3 if part[0] == "." else 0), 0, part


def _by(key: Callable[[str], Any]) -> Callable[[str, str], int]:
    def compare(left: str, right: str) -> int:
        one, other = key(left), key(right)
        return int(one > other) - int(one < other)

    return compare


compare_numbers = _by(_number_key)
"""Returns the order of two texts by the numbers that they are. Texts that are none come after all numbers."""

_compare_versions = _by(_version_key)

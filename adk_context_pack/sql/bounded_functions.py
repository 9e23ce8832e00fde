"""SQLite's text functions, for cells of any length, in a time that no query can stretch.

A limit on time holds between two steps of SQLite, never within one function. `instr`, `replace` and `trim` compare
each place of a text with the whole of another, so that over two texts of megabytes one call takes hours, and
`printf('%.*c', 2000000000, 'x')` writes for minutes what is then too long. Python's own searches are linear.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from typing import Any

_WIDE = re.compile(r"%[^%a-zA-Z]*?(\*|[0-9]{5,})")
_MAX_STRIPPED = 100
_QUADRATIC_BYTES = 100_000

_Strip = Callable[[str, str | None], str]


class BoundedFunctions:
    """Gives a connection the functions, under SQLite's own names.

    Args:
        connection: whose functions they become.
        max_bytes: the longest text that the connection may hold; only where texts may be long do `instr`, `replace`
            and `trim` need another form, which takes a little longer for each row.
    """

    def __init__(self, connection: sqlite3.Connection, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        # Formats by SQLite itself, for what is left of its formats after a look at them.
        self._formatter = sqlite3.connect(":memory:", check_same_thread=False)
        self._formatter.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max_bytes)
        for name in ("printf", "format"):
            connection.create_function(name, -1, self._printf, deterministic=True)
        if max_bytes > _QUADRATIC_BYTES:
            self._replace_searches(connection)

    def _replace_searches(self, connection: sqlite3.Connection) -> None:
        connection.create_function("instr", 2, _instr, deterministic=True)
        connection.create_function("replace", 3, self._replace, deterministic=True)
        strips: dict[str, _Strip] = {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}
        for name, strip in strips.items():
            connection.create_function(name, 2, _stripper(strip), deterministic=True)

    def _printf(self, *values: Any) -> Any:
        if not values or values[0] is None:
            return None
        if _WIDE.search(_as_text(values[0])):
            raise ValueError("a width of more than four digits")
        # Named as SQLite has always named it; `format` came with 3.38.
        marks = ",".join("?" * len(values))
        return self._formatter.execute(f"SELECT printf({marks})", values).fetchone()[0]

    def _replace(self, text: Any, old: Any, new: Any) -> Any:
        if text is None or old is None or new is None:
            return None
        whole, gone, put = _as_text(text), _as_text(old), _as_text(new)
        if not gone:
            # A number stays one here, and a blob becomes a text.
            return whole if isinstance(text, bytes) else text
        if len(whole) + whole.count(gone) * (len(put) - len(gone)) > self._max_bytes:
            raise OverflowError("string or blob too big")
        return whole.replace(gone, put)


def _instr(text: Any, part: Any) -> int | None:
    if text is None or part is None:
        return None
    if isinstance(text, bytes) and isinstance(part, bytes):
        return text.find(part) + 1
    return _as_text(text).find(_as_text(part)) + 1


def _stripper(strip: _Strip) -> Callable[[Any, Any], str | None]:
    def stripped(text: Any, letters: Any) -> str | None:
        if text is None or letters is None:
            return None
        # Each letter of the text is looked for among these, so each stands there once.
        alphabet = "".join(dict.fromkeys(_as_text(letters)))
        if len(alphabet) > _MAX_STRIPPED:
            raise ValueError("more than 100 different letters")
        return strip(_as_text(text), alphabet) if alphabet else _as_text(text)

    return stripped


def _as_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float):
        # SQLite writes 15 digits, and a point in each.
        text = f"{value:.15g}".replace("inf", "Inf")
        return text if re.search("[.n]", text) else re.sub(r"(?=e|$)", ".0", text, count=1)
    return str(value)

"""Has every text that a statement calculates with checked, so that SQLite never takes the digits in front of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.collations import without_collations
from adk_context_pack.sql.operands import Operands
from adk_context_pack.sql.sql_names import Token, tokens_of
from adk_context_pack.tables.numbers import number_of, short_text

_STRICT, _LENIENT = "checked_number", "number_if_any"
CHECKS = frozenset((_STRICT, _LENIENT))
"""The functions that a statement is given around what it calculates with."""

# An invisible sign, by which a check is found again in the names of columns that SQLite makes of expressions.
_MARK = "\u2063"
_INT64 = range(-(2**63), 2**63)


class NumberChecks:
    """Puts a check around each operand of a statement that may be a text, and says which text failed.

    A name is an operand without a check only where it is a column of numbers and nothing else in the statement has
    that name. What comes out of functions, `CASE`, inner queries and `WITH` is checked row by row.

    Args:
        connection: gets the functions.
        numeric: the names of all columns of numbers, in lower case.
        advice: names a column of texts and the column of its numbers, for the error. May be empty.
        meanings: gives the texts of columns that are numbers in a notation of their own, and these numbers.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        numeric: Collection[str],
        advice: str,
        meanings: Callable[[], Iterable[tuple[str, Any]]] = tuple,
    ) -> None:
        self._read_meanings = meanings
        self._numeric = frozenset(numeric)
        self._advice = advice
        self._problem = ""
        self._added: set[str] = set()
        self._meanings: dict[str | None, Any] | None = None
        connection.create_function(_STRICT, 2, self._strict, deterministic=True)
        connection.create_function(_LENIENT, 2, self._lenient, deterministic=True)

    def rewrite(self, sql: str, handles: Collection[str] = ()) -> str:
        """Returns `sql` with a check around every operand that may be a text."""
        self._problem = ""
        tokens = tokens_of(sql, handles)
        operands = Operands(tokens, self._numeric)
        before: dict[int, list[str]] = {}
        after: dict[int, list[str]] = {}
        # The widest first, so that inner checks are closed before outer ones.
        for first, last, exact in sorted(operands.found(), key=lambda found: (found[0], -found[1])):
            before.setdefault(first, []).append(f"{_STRICT if exact else _LENIENT}(")
            after.setdefault(last, []).insert(0, f", {_literal(tokens[first : last + 1])})")
        if before and self._meanings is None:
            self._meanings = {}
            for text, number in self._read_meanings():
                # One text may be two numbers, as `1.250` in two columns is, and then it is none.
                known = self._meanings.setdefault(text, number)
                self._meanings[text] = number if known == number else None
        self._added = {text for texts in (*before.values(), *after.values()) for text in texts}
        return "".join(_woven(tokens, before, after))

    def as_written(self, header: str) -> str:
        """Returns the name of a result's column without the checks of the last statement."""
        for text in self._added:
            header = header.replace(text, "")
        return header

    def problem(self) -> QueryError | None:
        """Returns the error of the last query, if a text that is not a number was calculated with."""
        return QueryError(self._problem) if self._problem else None

    def _strict(self, value: Any, label: str) -> Any:
        if not isinstance(value, str):
            return value
        number = self._number(value)
        if number is None:
            self._problem = (
                f"{label.removeprefix(_MARK)} is text such as {short_text(value)!r}, and texts are not calculated"
                f" with or compared with numbers. {self._advice}"
            ).rstrip()
            raise ValueError(label)
        return number

    def _lenient(self, value: Any, _label: str) -> Any:
        number = self._number(value) if isinstance(value, str) else None
        return value if number is None else number

    def _number(self, text: str) -> Any:
        if self._meanings and text in self._meanings:
            return self._meanings[text]
        number = number_of(text.strip())
        return number if number is None or (isinstance(number, int) and number in _INT64) else float(number)


def _literal(tokens: Sequence[Token]) -> str:
    written = without_collations("".join(token.text for token in tokens))
    text = " ".join(written.replace("`", '"').split())
    return f"'{_MARK}" + short_text(text).replace("'", "''") + "'"


def _woven(tokens: Sequence[Token], before: dict[int, list[str]], after: dict[int, list[str]]) -> Iterator[str]:
    for place, token in enumerate(tokens):
        yield from before.get(place, ())
        yield token.text
        yield from after.get(place, ())

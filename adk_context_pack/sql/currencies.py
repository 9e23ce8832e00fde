"""Refuses statements that add up amounts of several currencies, and says which statement does not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.operands import ADDING
from adk_context_pack.sql.sql_names import Token, tokens_of

_ENDS_GROUP = frozenset({"HAVING", "ORDER", "LIMIT", "WINDOW", "UNION", "EXCEPT", "INTERSECT", ")"})
_TELLS_APART = frozenset({"=", "LIKE", "GLOB", "IS"})


@dataclass(frozen=True, slots=True)
class MixedAmounts:
    """A column of amounts in several currencies.

    Attributes:
        table: the table.
        amount: the column of the numbers.
        currency: the column that holds the currencies.
        codes: some of the currencies.
        as_text: the column of texts that holds amounts with the signs of their currencies.
        text: the column of texts that holds amounts alone.
    """

    table: str
    amount: str
    currency: str
    codes: Sequence[str]
    as_text: str = ""
    text: str = ""

    def said(self) -> str:
        """Returns what to know before amounts are compared or added up."""
        codes = ", ".join(self.codes)
        by = "their signs" if self.as_text else _shown(self.currency)
        return (
            f"{_shown(self.as_text or self.amount)} holds amounts in several currencies ({codes}), told apart by {by}"
        )

    def instead(self, function: str) -> str:
        """Returns a statement that aggregates within each currency."""
        amount, currency, table = _shown(self.amount), _shown(self.currency), _shown(self.table)
        if not self.as_text:
            return f"SELECT {currency}, {function}({amount}) FROM {table} GROUP BY {currency}"  # noqa: S608 - for reading
        parts = (f"{function}(CASE WHEN {currency} LIKE '%{code}%' THEN {amount} END)" for code in self.codes)
        return f"SELECT {', '.join(parts)} FROM {table}"  # noqa: S608 - for reading


def _shown(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def check_currencies(sql: str, mixed: Collection[MixedAmounts], handles: Collection[str] = ()) -> None:
    """Raises an error if a statement adds up amounts without telling their currencies apart.

    Args:
        sql: one statement.
        mixed: the columns of amounts in several currencies.
        handles: names of tables that may begin with a digit, in lower case.

    Raises:
        QueryError: a sum or mean would add up several currencies. The message has a statement that does not.
    """
    if mixed:
        tokens = [token for token in tokens_of(sql, handles) if token.kind not in {"space", "comment"}]
        for amounts in mixed:
            for place in _Statement(tokens, amounts).mixing():
                function = tokens[place].text.lower()
                raise QueryError(f"{amounts.said()}, and they do not add up. Write {amounts.instead(function)}.")


class _Statement:
    def __init__(self, tokens: Sequence[Token], amounts: MixedAmounts) -> None:
        self._tokens = tokens
        self._depths: list[int] = []
        depth = 0
        for token in tokens:
            depth -= token.text == ")"
            self._depths.append(depth)
            depth += token.text == "("
        self._amounts = self._known_as(
            {amounts.amount.lower(), amounts.as_text.lower(), amounts.text.lower()}, whole=False
        )
        self._currencies = self._known_as({amounts.currency.lower()}, whole=True)

    def mixing(self) -> Iterator[int]:
        """Yields the functions that add up amounts of several currencies."""
        for place, token in enumerate(self._tokens):
            end = self._end(place + 1)
            if token.word in ADDING and self._word(place + 1) == "(" and self._names(self._amounts, place, end):
                start, stop = self._query(place)
                window = range(end + 2, self._end(end + 2)) if self._word(end + 1) == "OVER" else range(0)
                if not self._is_told_apart(start, stop) and not self._is_grouped(place, start, stop, window):
                    yield place

    def _is_told_apart(self, start: int, stop: int) -> bool:
        for place in range(start, stop):
            if self._is(place, self._currencies):
                before, after = self._word(place - 1), self._word(place + 1)
                is_one = after == "IN" and self._end(place + 2) == place + 4
                if is_one or after in _TELLS_APART or before == "=" or self._word(place - 2) in {"INSTR", "SUBSTR"}:
                    return True
        return False

    def _is_grouped(self, place: int, start: int, stop: int, window: range) -> bool:
        groups = [other for other in range(start, stop) if self._word(other) == "GROUP"]
        for first in groups:
            if self._depths[first] == self._depths[start] and first > place:
                last = next((at for at in range(first, stop) if self._word(at) in _ENDS_GROUP), stop)
                numbered = any(self._tokens[at].kind == "number" for at in range(first, last))
                window = range(start if numbered else first, last)
        return self._names(self._currencies, window.start, window.stop)

    def _known_as(self, names: set[str], *, whole: bool) -> set[str]:
        """Returns names, and those that the statement gives to what is made of them."""
        start = 0
        names -= {""}
        for place, token in enumerate(self._tokens):
            if token.word in {"SELECT", ","}:
                start = place
            if token.word == "AS" and self._names(names, place - 1 if whole else start, place):
                names = names | {
                    (self._tokens[place + 1].name or "").lower() for _ in self._tokens[place + 1 : place + 2]
                }
        return names - {""}

    def _names(self, names: set[str], start: int, stop: int) -> bool:
        return any(self._is(place, names) for place in range(start, stop))

    def _is(self, place: int, names: set[str]) -> bool:
        """Returns whether one of `names` ends at a place, with the alias of a table before it or without."""
        if not 0 <= place < len(self._tokens) or self._word(place + 1) == ".":
            return False
        parts = [self._tokens[place].name or ""]
        while self._word(place - 1) == "." and place > 1:
            place -= 2
            parts.insert(0, self._tokens[place].name or "")
        return any(".".join(parts[skipped:]).lower() in names for skipped in (0, 1))

    def _query(self, place: int) -> tuple[int, int]:
        """Returns where the query around a place starts and ends."""
        depth = self._depths[place]
        start = place
        while start > 0 and not (self._word(start) == "SELECT" and self._depths[start] <= depth):
            start -= 1
            depth = min(depth, self._depths[start] + (self._word(start) == "SELECT"))
        stop = next((at for at in range(place, len(self._tokens)) if self._depths[at] < self._depths[start]), None)
        return (0 if self._depths[start] == 0 else start), len(self._tokens) if stop is None else stop

    def _end(self, opener: int) -> int:
        if self._word(opener) != "(":
            return opener
        inside = range(opener + 1, len(self._tokens))
        return next((at for at in inside if self._depths[at] == self._depths[opener] and self._word(at) == ")"), opener)

    def _word(self, place: int) -> str:
        return self._tokens[place].word if 0 <= place < len(self._tokens) else ""


def mixed_amounts(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[MixedAmounts]:
    """Returns the columns of amounts in several currencies of an image."""
    return [MixedAmounts(table, **found) for table, columns in tables.items() for found in columns]

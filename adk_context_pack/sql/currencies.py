"""Refuses statements that add up amounts of several currencies, and says which statement does not."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.operands import ADDING
from adk_context_pack.sql.sql_names import Token, tokens_of

_ENDS_GROUP = frozenset({"HAVING", "ORDER", "LIMIT", "WINDOW", "UNION", "EXCEPT", "INTERSECT", ")"})
_MOST_PARTS = 12
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
        self._names = list(self._dotted())
        self._closers: dict[int, int] = {}
        # For each token the SELECT that it belongs to, and for each SELECT where its query ends.
        self._queries: list[int] = []
        self._ends: dict[int, int] = {}
        self._pair()
        self._amounts = self._known_as({amounts.amount.lower(), amounts.as_text.lower(), amounts.text.lower()} - {""})
        self._currencies = self._known_as({amounts.currency.lower()}, whole=True)
        self._told_apart = [place for place in self._currencies if self._tells_apart(place)]
        self._grouped = set(self._groups())

    def mixing(self) -> Iterator[int]:
        """Yields the functions that add up amounts of several currencies."""
        for place, token in enumerate(self._tokens):
            end = self._closers.get(place + 1)
            if token.word not in ADDING or end is None or not _any_within(self._amounts, place, end):
                continue
            query = self._queries[place]
            is_window = self._word(end + 1) == "OVER" and end + 2 in self._closers
            if (
                query not in self._grouped
                and not _any_within(self._told_apart, 0 if query == self._queries[0] else query, self._ends[query])
                and not (is_window and _any_within(self._currencies, end + 2, self._closers[end + 2]))
            ):
                yield place

    def _pair(self) -> None:
        opened: list[int] = []
        selects = [0]
        for place, token in enumerate(self._tokens):
            if token.text == "(":
                opened.append(place)
                selects.append(selects[-1])
            elif token.text == ")" and opened:
                self._closers[opened.pop()] = place
                self._ends[selects.pop()] = place
            if token.word == "SELECT":
                # In the main query, parts of a WITH and later parts of a UNION have the same place.
                selects[-1] = place if opened else 0
            self._queries.append(selects[-1])
        self._ends |= {query: len(self._tokens) for query in [0, *selects]}

    def _tells_apart(self, place: int) -> bool:
        before, after = self._word(place - 1), self._word(place + 1)
        is_one = after == "IN" and self._closers.get(place + 2) == place + 4
        is_part = before == "(" and self._word(place - 2) in {"INSTR", "SUBSTR"}
        return is_one or is_part or after in _TELLS_APART or before == "="

    def _groups(self) -> Iterator[int]:
        """Yields the queries that are grouped by currency, whose columns may be named by their numbers."""
        for first, token in enumerate(self._tokens):
            if token.word == "GROUP":
                query = self._queries[first]
                ends = range(first, len(self._tokens))
                last = next((at for at in ends if self._word(at) in _ENDS_GROUP), len(self._tokens))
                numbered = any(self._tokens[at].kind == "number" for at in range(first, last))
                if _any_within(self._currencies, query if numbered else first, last):
                    yield query

    def _known_as(self, names: set[str], *, whole: bool = False) -> list[int]:
        """Returns the places of names, and of those that the statement gives to what is made of them."""
        start = 0
        found: list[int] = []
        for place, token in enumerate(self._tokens):
            if token.word in {"SELECT", ","}:
                start = place
            if not names.isdisjoint(self._names[place]):
                found.append(place)
            elif token.word == "AS" and found and found[-1] >= (place - 1 if whole else start):
                names = names | set(self._names[place + 1] if place + 1 < len(self._names) else ()) - {""}
        return found

    def _dotted(self) -> Iterator[tuple[str, ...]]:
        """Yields the name that ends at each token, with the alias of a table before it and without."""
        parts: list[str] = []
        for place, token in enumerate(self._tokens):
            parts = [*parts[-_MOST_PARTS:], (token.name or "").lower()] if self._word(place - 1) == "." else parts
            if token.text == ".":
                yield ()
                continue
            if self._word(place - 1) != ".":
                parts = [(token.name or "").lower()]
            is_last = token.name is not None and self._word(place + 1) != "."
            yield (".".join(parts), ".".join(parts[1:])) if is_last else ()

    def _word(self, place: int) -> str:
        return self._tokens[place].word if 0 <= place < len(self._tokens) else ""


def _any_within(places: Sequence[int], start: int, end: int) -> bool:
    at = bisect_left(places, start)
    return at < len(places) and places[at] < end


def mixed_amounts(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[MixedAmounts]:
    """Returns the columns of amounts in several currencies of an image."""
    return [MixedAmounts(table, **found) for table, columns in tables.items() for found in columns]

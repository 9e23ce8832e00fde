"""Looks at a statement before SQLite prepares it, and refuses in words what would only run into a limit.

The parts of a `WITH` are written out where they are named, so twenty short parts that each name the one before twice
make a million tables. SQLite multiplies them out before its first step, which none of its own limits stops early. The
same holds for the calls of functions within them. A refusal here is immediate and comes with advice. What passes
still runs in bounds (`worker.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.sql_names import WORDS, Token, tokens_of

MAX_SQL_LENGTH = 10_000
"""Characters of a statement."""

_MAX_TABLES = 1_000
_MAX_CALLS = 2_000
_MAX_DEPTH = 60
_KEYWORDS = WORDS["keywords"] | {"EXISTS", "FULL"}
_CLAUSES = WORDS["clauses"] | {"ON", "USING"}


def check_statement(sql: str, handles: Collection[str] = ()) -> None:
    """Raises an error, worded for a model, for a text that is not one `SELECT` of reasonable size.

    Args:
        sql: what the model wrote.
        handles: names of tables that may begin with a digit, in lower case.

    Raises:
        QueryError: the statement writes, is more than one, is too long or too deep, or names too many tables or
            functions once the parts of its `WITH` are multiplied out.
    """
    if len(sql) > MAX_SQL_LENGTH:
        raise QueryError(f"The query is longer than {MAX_SQL_LENGTH} characters.")
    tokens = [token for token in tokens_of(sql, handles) if token.kind not in {"space", "comment"}]
    _check_form(tokens)
    tables, calls = _multiplied(_Reader(tokens).read(), {})
    for count, most, what, advice in (
        (tables, _MAX_TABLES, "names tables", "Use each part once"),
        (calls, _MAX_CALLS, "calls functions", "Use GROUP BY in place of many CASE columns"),
    ):
        if count > most:
            times = count if count < 10**6 else "more than a million"
            said = f"The query {what} {times} times once the parts of WITH are written out where they are used; {most}"
            raise QueryError(f"{said} is the most. {advice}, or ask in several queries.")


def mentioned_handles(sql: str, handles: Collection[str]) -> list[str]:
    """Returns those of `handles` (lower case) that a statement names, in its order."""
    lowered = sql[:MAX_SQL_LENGTH].lower()
    if not any(handle in lowered for handle in handles):
        return []
    names = ((token.name or "").lower() for token in tokens_of(lowered, handles))
    return list(dict.fromkeys(name for name in names if name in handles))


def _check_form(tokens: list[Token]) -> None:
    first = tokens[0].word if tokens else ""
    if first not in {"SELECT", "WITH", "VALUES"}:
        raise QueryError("Only SELECT over the stored rows is allowed; begin with SELECT or WITH.")
    depth = 0
    for place, token in enumerate(tokens):
        if token.text == ";" and any(other.text != ";" for other in tokens[place:]):
            raise QueryError("Only SELECT over the stored rows is allowed, one statement at a time. Ask others next.")
        depth += (token.text == "(") - (token.text == ")")
        if depth > _MAX_DEPTH:
            raise QueryError(f"The query nests parentheses more than {_MAX_DEPTH} deep. Name inner queries by WITH.")


class _Reader:
    """Goes through the tokens once and counts, for each part, the tables and calls it names."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        # What each part names, its subqueries included, with its calls under "(". The main part has no name.
        self._parts: dict[str, Counter[str]] = {"": Counter()}
        # For each open parenthesis: the clause within it, and the part that it belongs to.
        self._open: list[tuple[str, str]] = [("", "")]

    def read(self) -> dict[str, Counter[str]]:
        for place, token in enumerate(self._tokens):
            if token.text == "(":
                self._enter(place)
            elif token.text == ")":
                self._open = self._open[:-1] or [("", "")]
            else:
                self._count(place, token)
        return self._parts

    def _enter(self, place: int) -> None:
        clause, owner = self._open[-1]
        before = self._word(place - 1)
        if name := self._defined_by(place):
            self._parts.setdefault(name, Counter())
            self._open.append(("", name))
            return
        if place and self._tokens[place - 1].name is not None and before not in _KEYWORDS and before != "AS":
            self._parts[owner]["("] += 1
            clause = ""
        # `FROM (a, b)` and `FROM (SELECT …)`: a word of the inner query changes it.
        self._open.append((clause if clause == "FROM" else "", owner))

    def _defined_by(self, place: int) -> str:
        """The name of the part of WITH whose body a parenthesis opens, or nothing."""
        if self._word(place + 1) not in {"SELECT", "WITH", "VALUES"}:
            return ""
        before = place - 1
        while self._word(before) in {"NOT", "MATERIALIZED"}:
            before -= 1
        if self._word(before) != "AS":
            return ""
        before -= 1
        if self._word(before) == ")":
            while before > 0 and self._word(before) != "(":
                before -= 1
            before -= 1
        return (self._tokens[before].name or "").lower() if before >= 0 else ""

    def _count(self, place: int, token: Token) -> None:
        clause, owner = self._open[-1]
        word = token.word
        if word in {"LIKE", "GLOB"}:
            self._parts[owner]["("] += 1
        if word == "JOIN" or (word == "," and clause in {"ON", "USING"}):
            self._open[-1] = ("FROM", owner)
        elif word in _CLAUSES:
            self._open[-1] = (word, owner)
        elif self._is_table(place, token, clause):
            self._parts[owner][(token.name or "").lower()] += 1

    def _is_table(self, place: int, token: Token, clause: str) -> bool:
        if token.name is None or token.word in _KEYWORDS or self._word(place + 1) == ".":
            return False
        before = self._word(place - 1)
        if before == ".":
            # `handle.table`: the name before the dot is in the place of a table.
            before = self._word(place - 3)
        return before == "IN" or (clause == "FROM" and before in {"FROM", "JOIN", ",", "("})

    def _word(self, place: int) -> str:
        return self._tokens[place].word if 0 <= place < len(self._tokens) else ""


def _multiplied(parts: Mapping[str, Counter[str]], known: dict[str, Any], name: str = "") -> tuple[int, int]:
    """Counts tables and calls as they are once every part of WITH is written out where it is named."""
    if name not in known:
        # What names itself is not written out once more.
        known[name] = (0, 0)
        tables, calls = 0, parts[name]["("]
        for table, times in parts[name].items():
            inner = _multiplied(parts, known, table) if table in parts else (0, 0)
            tables += times * (1 + inner[0]) * (table != "(")
            calls += times * inner[1]
        known[name] = (tables, calls)
    return known[name][0], known[name][1]

"""Looks at a statement before SQLite prepares it, and refuses in words what would only run into a limit.

The parts of a `WITH` are written out where they are named, so twenty short parts that each name the one before twice
make a million tables. SQLite multiplies them out before its first step, which none of its own limits stops early. The
same holds for the calls of functions within them. A refusal here is immediate and comes with advice. What passes
still runs in bounds (`worker.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.sql_names import quote_dotted_names, tokens_of
from adk_context_pack.sql.typed_statement import TypedStatement

MAX_SQL_LENGTH = 10_000
"""Characters of a statement."""

_MAX_TABLES = 1_000
_MAX_CALLS = 2_000


def check_statement(sql: str, handles: Collection[str] = ()) -> None:
    """Raises an error, worded for a model, for a text that is not one `SELECT` of reasonable size.

    Args:
        sql: what the model wrote.
        handles: names of tables that may begin with a digit, in lower case.

    Raises:
        QueryError: the statement writes, is more than one, is too long, or names too many tables or
            functions once the parts of its `WITH` are multiplied out.
    """
    if len(sql) > MAX_SQL_LENGTH:
        raise QueryError(f"The query is longer than {MAX_SQL_LENGTH} characters.")
    tokens = [token for token in tokens_of(sql, handles) if token.kind not in {"space", "comment"}]
    first = tokens[0].word if tokens else ""
    if first not in {"SELECT", "WITH", "VALUES"}:
        raise QueryError("Only SELECT over the stored rows is allowed; begin with SELECT or WITH.")
    last = max(place for place, token in enumerate(tokens) if token.text != ";")
    if any(token.text == ";" for token in tokens[:last]):
        raise QueryError("Only SELECT over the stored rows is allowed, one statement at a time. Ask others next.")
    parts: Mapping[str, Counter[str]] = {"": Counter()}
    with suppress(RecursionError):
        parts = TypedStatement(quote_dotted_names(sql, (), handles), ()).parts
    tables, calls = _multiplied(parts, {})
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
    names = ((token.name or "").lower() for token in tokens_of(lowered, handles))
    return list(dict.fromkeys(name for name in names if name in handles))


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

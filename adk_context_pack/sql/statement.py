"""Looks at a statement before SQLite prepares it, and refuses in words what is not one `SELECT`."""

from __future__ import annotations

from collections.abc import Collection

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.sql_names import tokens_of

MAX_SQL_LENGTH = 10_000
"""Characters of a statement."""


def check_statement(sql: str, handles: Collection[str] = ()) -> None:
    """Raises an error, worded for a model, for a text that is not one `SELECT` of reasonable size.

    Args:
        sql: what the model wrote.
        handles: names of tables that may begin with a digit, in lower case.

    Raises:
        QueryError: the statement writes, is more than one, or is too long.
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


def mentioned_handles(sql: str, handles: Collection[str]) -> list[str]:
    """Returns those of `handles` (lower case) that a statement names, in its order."""
    lowered = sql[:MAX_SQL_LENGTH].lower()
    names = ((token.name or "").lower() for token in tokens_of(lowered, handles))
    return list(dict.fromkeys(name for name in names if name in handles))

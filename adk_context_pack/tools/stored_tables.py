"""The tables of a stored result as a database that can be queried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adk_context_pack.errors import HandleError, StoreError
from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.tables.columns import is_record, iter_columns
from adk_context_pack.tables.find_tables import Table, find_tables


def load_tables(value: Any, *, max_seconds: float, max_bytes: int) -> RowDatabase:
    """A database with every table in a result, each under its key.

    The one table whose rows are more than single values is called `rows` as well; lists of words beside it (tags,
    warnings) do not make it one of several.

    Args:
        value: a full result.
        max_seconds: time for one query.
        max_bytes: by how much the process may grow during one query.

    Raises:
        HandleError: there is no table in the result.
        StoreError: the rows could not be loaded.
    """
    try:
        tables = find_tables(value) or find_tables(value, min_rows=0)
        database = _loaded(tables, max_seconds, max_bytes) if tables else None
    except Exception as error:
        raise StoreError(f"the stored rows could not be loaded ({type(error).__name__})") from error
    if database is None:
        raise HandleError("This stored result holds no table; read it with read_payload.")
    return database


def _loaded(tables: Sequence[Table], max_seconds: float, max_bytes: int) -> RowDatabase:
    columns = {table.key: iter_columns(table.rows, table.columns) for table in tables}
    return RowDatabase(columns, main=_main(tables), max_seconds=max_seconds, max_bytes=max_bytes)


def _main(tables: Sequence[Table]) -> str | None:
    wide = [table for table in tables if len(tables) == 1 or _is_wide(table)]
    return wide[0].key if len(wide) == 1 else None


def _is_wide(table: Table) -> bool:
    first = table.rows[0] if table.rows else None
    return isinstance(first, dict | list | tuple) or is_record(type(first))

"""The tool with which a model asks the full rows of a shortened result."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from adk_context_pack.errors import ContextPackError, HandleError, QueryError, StoreError, positive
from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.stores.byte_cache import ByteCache
from adk_context_pack.stores.handles import find_result
from adk_context_pack.stores.opening import load_payload
from adk_context_pack.tables.columns import is_record, iter_columns
from adk_context_pack.tables.find_tables import Table, find_tables
from adk_context_pack.tools.query_reply import answer_reply, error_reply

logger = logging.getLogger("adk_context_pack")


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


_MEGABYTE = 2**20
# One for the process: what is in it can be loaded again from the session's store, and every key names its session.
# What a database takes beside its pages: two connections of SQLite (77 to 82 KiB, 150 rows in 8 KiB of pages).
_CONNECTION_BYTES = 82 * 2**10
_LOADED: ByteCache[RowDatabase] = ByteCache(max_bytes=256 * _MEGABYTE)


class QueryRows(FunctionTool):
    """`query_rows` with limits of one's own; the ready-made `query_rows` has the defaults.

    The rows are loaded once into SQLite in memory and kept for the next queries (256 MB for the whole process, those
    used last). Queries run in a thread. Answers add to the prompt and never change what is in it, so the provider's
    cached prefix stays.

    Args:
        max_rows: rows of an answer.
        max_tokens: tokens of an answer, as estimated.
        max_seconds: time for one query.
        max_megabytes: by how much the process may grow during one query (Linux only).

    Raises:
        SettingError: a setting is no positive integer.
    """

    def __init__(
        self, *, max_rows: int = 100, max_tokens: int = 4000, max_seconds: int = 5, max_megabytes: int = 256
    ) -> None:
        self._max_rows = positive("QueryRows", "max_rows", max_rows)
        self._max_tokens = positive("QueryRows", "max_tokens", max_tokens)
        self._max_seconds = positive("QueryRows", "max_seconds", max_seconds)
        self._max_megabytes = positive("QueryRows", "max_megabytes", max_megabytes)
        super().__init__(self.query_rows)

    # The model reads this docstring, on every call: only what it needs to write a query.
    async def query_rows(self, handle: str, sql: str, tool_context: ToolContext) -> dict[str, Any]:  # noqa: D417
        """Queries all rows behind a handle with read-only SQL (SQLite).

        Args:
            handle: The handle that a shortened result gives.
            sql: One SELECT. The table is `rows`; several tables of a result have the names of their keys. Nested
                columns are dotted: "metrics.clicks". Booleans are 1 and 0. Integers divide to integers: write
                1.0 * a / b for a ratio.

        Returns:
            columns, rows, total_rows, and `cut` where not all rows are shown.
        """
        try:
            return await self._answer(handle, sql, tool_context)
        except ContextPackError as error:
            return {"error": str(error)}
        except Exception:
            # The traceback goes to the log; a tool of ours never ends a run.
            logger.exception("query_rows failed")
            return {"error": "The query could not be run."}

    async def _answer(self, handle: str, sql: str, context: ToolContext) -> dict[str, Any]:
        if not isinstance(sql, str):
            raise QueryError("sql must be one SELECT as text.")
        database = await self._database(context, handle)
        try:
            answer = await asyncio.wait_for(
                asyncio.to_thread(database.query, sql, max_rows=self._max_rows), 2 * self._max_seconds + 1
            )
        except QueryError as error:
            return error_reply(str(error), database.tables, max_tokens=self._max_tokens)
        except TimeoutError:
            raise QueryError("The query was stopped: it took too long. Make it smaller.") from None
        return answer_reply(answer, notes=database.notes, max_tokens=self._max_tokens)

    async def _database(self, context: ToolContext, handle: str) -> RowDatabase:
        # The session's own state is asked first, whatever is in the cache: it alone says whose handle this is.
        result = find_result(context.session.state, handle)
        session = context.session
        key = (session.app_name, session.user_id, session.id, result.handle, self._max_seconds, self._max_megabytes)
        if (loaded := _LOADED.get(key)) is not None:
            return loaded
        value = await load_payload(context, result.handle)
        return await asyncio.to_thread(_LOADED.get_or_make, key, lambda: self._load(value))

    def _load(self, value: Any) -> tuple[RowDatabase, int]:
        database = load_tables(value, max_seconds=self._max_seconds, max_bytes=self._max_megabytes * _MEGABYTE)
        return database, database.size_bytes + _CONNECTION_BYTES


_READY = QueryRows()


async def query_rows(handle: str, sql: str, tool_context: ToolContext) -> dict[str, Any]:  # noqa: D103 - below
    return await _READY.query_rows(handle, sql, tool_context)


query_rows.__doc__ = QueryRows.query_rows.__doc__

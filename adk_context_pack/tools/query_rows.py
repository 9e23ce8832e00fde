"""Gives a model the tool that asks the full rows of a shortened result, and words its replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from google.adk.tools.tool_context import ToolContext

from adk_context_pack._adk.known_tools import ReadBackTool
from adk_context_pack._adk.releases import session_service_kinds
from adk_context_pack._json import json_text
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.errors import Configured, HandleError, QueryError, StoreError, answering, positive
from adk_context_pack.sql.database import QueryAnswer
from adk_context_pack.sql.guard import check_statement, hint_for, mentioned_handles, too_long
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.sql.sql_names import TableImage, TableNames
from adk_context_pack.sql.worker_pool import WorkerProcess, query_images, shared_pool
from adk_context_pack.stores.byte_cache import CACHE, owner_of
from adk_context_pack.stores.handles import StoredResult, find_result, stored_results
from adk_context_pack.stores.payload_store import load_payload
from adk_context_pack.tables.columns import is_record, iter_columns
from adk_context_pack.tables.find_tables import find_tables, tables_within


def load_tables(value: Any) -> TableImage:
    """Loads every table in a result, each under its key.

    The one table whose rows are more than single values is called `rows` as well. Lists of words beside it (tags,
    warnings) do not make it one of several.

    Raises:
        HandleError: the result has no table.
        StoreError: the rows could not be loaded.
    """
    try:
        tables = find_tables(value) or find_tables(value, min_rows=0)
        known = {table.key for table in tables}
        within = (each for each in chain.from_iterable(map(tables_within, tables)) if each.key not in known)
        columns = {table.key: iter_columns(table.rows, table.columns) for table in (*tables, *within)}
        firsts = [(table.key, table.rows[0] if table.rows else None) for table in tables]
        wide = [key for key, row in firsts if isinstance(row, dict | list | tuple) or is_record(type(row))]
        wide = wide if len(tables) > 1 else [key for key, _ in firsts]
        image = image_of(columns, main=wide[0] if len(wide) == 1 else None) if tables else None
    except Exception as error:
        raise StoreError(f"the stored rows could not be loaded ({type(error).__name__})") from error
    if image is None:
        raise HandleError("This stored result holds no table: read it as text, without sql.")
    return image


_MAX_JOINED = 8


class QueryRows(Configured, ReadBackTool):
    """`query_rows` with chosen limits. The ready-made `query_rows` has the defaults.

    The rows are loaded once into SQLite and kept for the next queries, in the cache that all sessions share.
    Queries run in at most five child processes, which are started when they are first needed and keep tables within the
    plugin's `max_memory_bytes`. A query that exceeds its limits ends with its process. One user has one running query
    at a time, the others wait in a queue. A query that takes longer than a second begins again, in all processes but
    one. Answers add to the prompt and never change what is in it, so the provider's cached prefix stays.
    """

    def __init__(
        self, *, max_rows: int = 100, max_tokens: int = 4000, max_seconds: int = 5, max_megabytes: int = 256
    ) -> None:
        """Queries the rows of stored results with SQL.

        Args:
            max_rows: rows of an answer.
            max_tokens: tokens of an answer, as estimated.
            max_seconds: time for one query.
            max_megabytes: by how much its process may grow during one query (Linux only).
        """
        self._max_rows = positive("QueryRows", "max_rows", max_rows)
        self._max_tokens = positive("QueryRows", "max_tokens", max_tokens)
        self._max_seconds = positive("QueryRows", "max_seconds", max_seconds)
        self._max_megabytes = positive("QueryRows", "max_megabytes", max_megabytes)
        super().__init__(self.query_rows)

    # The model reads this docstring, on every call: only what it needs to write a query.
    @answering("The query could not be run.")
    async def query_rows(self, handle: str, sql: str, tool_context: ToolContext) -> dict[str, Any]:  # noqa: D417
        """Queries all rows behind a handle with read-only SQL (SQLite).

        Args:
            handle: The handle that a shortened result gives.
            sql: One SELECT. The table is `rows`. Several tables of a result have the names of their keys. Nested
                columns are dotted: "metrics.clicks". Booleans are 1 and 0. Integers divide to integers: write
                1.0 * a / b for a ratio. Another handle is a table too: FROM rows r JOIN HANDLE h ON r.id = h.id.

        Returns:
            columns, rows, total_rows, and `cut` where not all rows are shown.
        """
        if not isinstance(sql, str):
            raise QueryError("sql must be one SELECT as text.")
        # Models quote a statement, or put it into a block of code.
        sql = sql.strip().strip(mark).removeprefix("sql") if (mark := sql.strip()[:1]) in {"`", "'", '"'} else sql
        # The session's own state is asked first, whatever is in the cache: it alone says whose handle this is.
        wanted = _wanted(tool_context.session.state, handle, sql)
        makers = {each.handle: await _maker(tool_context, each) for each in wanted}
        images: dict[str, TableImage] = {}

        def job(process: WorkerProcess, seconds: int) -> QueryAnswer:
            # Starts while the rows are loaded here.
            process.start()
            images.update({each: make() for each, make in makers.items()})
            check_statement(sql, images)
            limits = {"max_rows": self._max_rows, "max_bytes": self._max_megabytes * 2**20}
            return query_images(process, images, sql, max_seconds=seconds, **limits)

        # Most queries take less than a second. What takes longer begins again where it holds nobody up.
        for seconds in (1, self._max_seconds):
            given: Any = {"key": wanted[0].handle, "patience": 10 * self._max_seconds, "is_slow": seconds > 1}
            timed = shared_pool().submit(owner_of(tool_context.session)[:2], partial(job, seconds=seconds), **given)
            try:
                answer = await asyncio.wrap_future(timed)
            except QueryError as error:
                if seconds == self._max_seconds or str(error) != too_long(seconds):
                    names = {each: image.names for each, image in images.items()}
                    return error_reply(str(error), names, sql, max_tokens=self._max_tokens)
            else:
                if answer.total is not None:
                    break
        reply = answer_reply(answer, max_tokens=self._max_tokens)
        if "rows" in reply and "FirestoreSessionService" in session_service_kinds(tool_context):
            # Firestore refuses an event with a list in a list, which would end the run.
            reply["rows"] = [json_text(row) for row in reply["rows"]]
        return reply


def _wanted(state: Mapping[str, Any], handle: str, sql: str) -> list[StoredResult]:
    """Returns the result that is asked, and the others of the session that a statement names as tables."""
    there = {result.handle: result for result in stored_results(state)}
    named = mentioned_handles(sql, there)
    tables = named or [result.handle for result in there.values() if result.kind == "rows"]
    # Without a handle, the statement may name one, or the session has only one.
    main = find_result(state, handle or (tables[0] if named or len(tables) == 1 else ""))
    wanted = [main, *(there[name] for name in named if name != main.handle)]
    if len(wanted) > _MAX_JOINED:
        raise QueryError(f"One query can join {_MAX_JOINED} stored results; this one names {len(wanted)}.")
    return wanted


async def _maker(context: ToolContext, result: StoredResult) -> Callable[[], TableImage]:
    """Returns a function that makes the image if it is not in the cache. Making it takes a while."""
    key = (*owner_of(context.session), "tables", result.handle)
    if (known := CACHE.get(key)) is not None:
        return lambda: known
    value = await load_payload(context, result.handle)

    def make() -> tuple[TableImage, int]:
        image = load_tables(value)
        # The names of tables and columns take memory as well.
        return image, len(image.data) + 2**12

    return lambda: CACHE.get_or_make(key, make)


query_rows = QueryRows().query_rows


_CHARACTERS_A_TOKEN, _MIN_CELL = 2, 20
_NEEDS_NAMES = ("no such table", "no such column", "syntax error", "ambiguous", "unrecognized token", "begin with")


def answer_reply(answer: QueryAnswer, *, max_tokens: int) -> dict[str, Any]:
    """Returns the answer as a tool's result of at most about `max_tokens`, which says when it was cut."""
    left = max_tokens - estimate_tokens(json_text(answer.columns))
    if left < max_tokens // 2:
        return {"error": f"The result has {len(answer.columns)} columns; name the ones that you need."}
    rows = _within(answer.rows, left)
    reply: dict[str, Any] = {"columns": answer.columns, "rows": rows, "total_rows": answer.total}
    if answer.total is None or len(rows) < answer.total:
        there = "more rows than can be counted in time" if answer.total is None else f"{answer.total} rows"
        reply["cut"] = f"{len(rows)} of {there}. Aggregate, filter, or go on with LIMIT and OFFSET."
    if answer.notes:
        reply["notes"] = [note[:300] for note in answer.notes[:5]]
    return reply


def error_reply(message: str, images: Mapping[str, TableNames], sql: str, *, max_tokens: int) -> dict[str, Any]:
    """Returns an error with advice, and with the tables and columns that the next query can use."""
    reply: dict[str, Any] = {"error": message}
    if hint := hint_for(message, images.values(), sql):
        reply["hint"] = hint
    if any(words in message for words in _NEEDS_NAMES):
        left, tables = max_tokens // 2, dict[str, Sequence[str]]()
        for handle, names in images.items():
            # The tables of the handle that was asked need no prefix.
            tables |= {f"{handle}.{table}" if tables else table: columns for table, columns in names.tables.items()}
        reply["tables"] = {}
        for table, columns in tables.items():
            shown = []
            for name in columns:
                left -= estimate_tokens(name) + 2
                shown += [name] if left > 0 else []
            reply["tables"] |= {table: shown} if shown or left > 0 else {}
        if left <= 0:
            reply["tables"]["…"] = "more tables and columns are not listed"
    return reply


def _within(rows: Sequence[list[Any]], left: int) -> list[list[Any]]:
    kept: list[list[Any]] = []
    for row in rows:
        size = estimate_tokens(json_text(row))
        if size > left:
            # One row always comes, or a query for one long text would never be answered.
            return kept or [_shortened(row, left)]
        kept.append(row)
        left -= size
    return kept


def _shortened(row: list[Any], tokens: int) -> list[Any]:
    count = sum(isinstance(cell, str) and len(cell) > _MIN_CELL for cell in row)
    length = max(_MIN_CELL, _CHARACTERS_A_TOKEN * tokens // max(1, count) - 4 * _MIN_CELL)
    said = "characters; read on with substr]"
    long = [isinstance(cell, str) and len(cell) > length for cell in row]
    return [f"{cell[:length]}… [{len(cell)} {said}" if cut else cell for cell, cut in zip(row, long, strict=True)]

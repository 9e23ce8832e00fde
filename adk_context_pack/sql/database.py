"""Stored tables in an in-memory SQLite database that answers SELECT and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.exact_sum import StatementChecks, install_texts
from adk_context_pack.sql.guard import QueryGuard, all_names
from adk_context_pack.sql.sql_names import INSTEAD, TableImage, in_sqlite, quote, quote_dotted_names, tokens_of
from adk_context_pack.sql.typed_columns import WRITTEN, TypedColumn, shown
from adk_context_pack.sql.typed_statement import TypedStatement
from adk_context_pack.tables.numbers import plain, without_noise


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryAnswer:
    """The first rows of a query's result, and what to know about the columns that it read.

    The total is None if counting took longer than the query may take.
    """

    columns: list[str]
    rows: list[list[Any]]
    total: int | None
    notes: list[str] = field(default_factory=list)


class RowDatabase:
    """Opens images of tables and answers queries over them, one at a time.

    Column names are those of the rows, nested ones dotted. Only `SELECT` (with `WITH`, windows, `json_each`) gets
    through: SQLite's own authorizer refuses everything else. Nothing here ends a single long step of SQLite, so text
    that a model wrote runs in a `Worker` only. Of the images by their handles, the tables of the first one need no
    prefix. Those of the others are `handle.table`, and a handle alone is its main table.
    """

    def __init__(self, images: Mapping[str, TableImage]) -> None:
        self._connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        # A blob cast to text need not be UTF-8, which is not a reason to lose the answer.
        self._connection.text_factory = lambda data: data.decode("utf-8", "replace")
        # Sorting may not write to the disk; in memory it is counted. A later change would drop the views below.
        self._connection.execute("PRAGMA temp_store = MEMORY")
        self._handles = [handle.lower() for handle in images]
        self._images = images
        every = [image.names for image in images.values()]
        self._names = all_names(every)
        # `orders.lines` is written `orders_lines` as well.
        joined = {table.replace(".", "_"): table for names in every for table in names.tables if "." in table}
        renamed = ((old, new) for each in (joined, *(names.renamed for names in every)) for old, new in each.items())
        self._renamed = {old: new for old, new in renamed if old not in self._names}
        self._columns: dict[tuple[str, str], list[TypedColumn]] = {}
        self._checks = StatementChecks(self._connection, is_exact=any(names.exact for names in every))
        install_texts(self._connection)
        for handle, image in images.items():
            for table, columns in image.names.columns.items():
                self._columns[handle, table] = [TypedColumn(**column) for column in columns]
            name = quote(handle)
            self._connection.execute(f"ATTACH ':memory:' AS {name}")
            self._connection.deserialize(image.data, name=handle)
            if "rows" in image.names.tables:
                self._connection.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM {name}.rows")  # noqa: S608 - quoted
        views = [*images, *(view for names in every for view in names.views)]
        longest = max((names.longest_row for names in every), default=0)
        self._guard = QueryGuard(self._connection, [*self._names, *self._handles], views, longest)

    def query(self, sql: str, *, max_rows: int, max_seconds: float) -> QueryAnswer:
        """Returns the result of one SELECT: its first `max_rows` rows and their total.

        Dotted column names work with and without quotes. The query is stopped after some seconds, as soon as SQLite's
        current step ends.

        Raises:
            QueryError: the text is not a SELECT, has a mistake or an unknown name, or met a limit, worded for a model.
        """
        self._guard.start(max_seconds)
        self._checks.problem = ""
        try:
            cursor = self._connection.execute(self._typed(sql))
            # SQLite names a column that has no name by its whole expression.
            columns = [_shown(item[0][:200]) for item in cursor.description or ()]
            notes = list(dict.fromkeys(filter(None, self._notes())))
            rows = list(_first_rows(cursor, max_rows, [name in self._names for name in columns]))
            total: int | None = None
            try:
                total = len(rows) + sum(1 for _ in cursor)
            except sqlite3.Error:
                if not self._guard.stopped:
                    raise
            return QueryAnswer(columns=columns, rows=rows, total=total, notes=notes)
        except (sqlite3.Error, sqlite3.Warning, ValueError, MemoryError, RecursionError) as error:
            problem = self._checks.problem
            raise (QueryError(problem) if problem else self._guard.explain(error)) from error

    def close(self) -> None:
        """Gives back the memory."""
        self._connection.close()

    def _typed(self, sql: str) -> str:
        quoted = quote_dotted_names(in_sqlite(sql), self._names, self._handles, self._renamed)
        named = {(token.name or "").lower() for token in tokens_of(quoted)}
        places = [place for place in self._columns if not named.isdisjoint(self._names_of(place))] or self._columns
        # Of the tables that are called `rows`, the first one needs no handle.
        names = {name: self._columns[p] for p in reversed([*places]) for name in (".".join(p), *self._names_of(p))}
        self._statement = TypedStatement(quoted, names, can_run=self._can_run(quoted))
        self._checks.readers = [lru_cache(column.meaning) for column in self._statement.readers]
        return self._statement.written(self._can_run)

    def _names_of(self, place: tuple[str, str]) -> set[str]:
        handle, table = place
        names = [table, handle, *self._images[handle].names.views] if table == "rows" else [table]
        return {name.lower() for name in names}

    def _can_run(self, sql: str) -> bool:
        with suppress(sqlite3.Error, sqlite3.Warning):
            self._connection.execute(f"EXPLAIN {sql}").close()
            return True
        return False

    def _notes(self) -> Iterator[str]:
        """Yields what to know about the columns that the statement reads."""
        # An answer shows the first notes alone.
        yield from self._statement.remarks
        for place, columns in self._columns.items():
            names, databases = self._names_of(place), {place[0], "temp", ""}
            here = {name for database, table, name in self._guard.read if table in names and database in databases}
            yield from self._images[place[0]].names.notes if here else ()
            for column in (each for each in columns if each.name in here):
                is_written = any(name.startswith(f"{column.name}{WRITTEN}") for name in here)
                if column.has_sides and not (is_written or column.currency in self._statement.said):
                    raise QueryError(column.refusal())
                if column.currency and column in self._statement.sorted and column.currency not in self._statement.kept:
                    yield f"{column.said()}: compare and add them up within one."
                if column.digits and column in self._statement.sorted:
                    cast = f": use CAST({shown(column.name)} AS INTEGER)" * (column.kind == "any")
                    yield f"{column.name} holds texts, in which '10' is less than '9'{cast}."
                if column in self._statement.added and (advice := INSTEAD.get(f"sum {column.role}")):
                    yield f"{column.name} seems to hold {advice}"
                if column.note:
                    yield column.note


def _first_rows(cursor: sqlite3.Cursor, max_rows: int, stored: Sequence[bool]) -> Iterator[list[Any]]:
    left = 4_000_000
    for row in islice(cursor, max_rows):
        # What is stored is shown as it is stored.
        yield [cell if own else without_noise(cell) for cell, own in zip(map(_shown, row), stored, strict=True)]
        left -= sum(len(cell) for cell in row if isinstance(cell, str | bytes))
        if left < 0:
            return


def _shown(cell: Any) -> Any:
    if isinstance(cell, str):
        # PostgreSQL, as a session's database, refuses NUL.
        return cell.replace("\0", "\u2400")
    return cell.hex() if isinstance(cell, bytes) else plain(cell) if isinstance(cell, float) else cell

"""Rows in an in-memory SQLite database that answers SELECT and nothing else."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.cells import EXACT, Cells, cells_of, without_surrogates
from adk_context_pack.sql.exact_sum import install_exact_numbers
from adk_context_pack.sql.guard import QueryGuard
from adk_context_pack.sql.sql_names import quote, quote_dotted_names
from adk_context_pack.tables.columns import Column
from adk_context_pack.tables.numbers import plain


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryAnswer:
    """The first rows of a query's result.

    Attributes:
        columns: the names of the result's columns.
        rows: its first rows, in order.
        total: how many rows it has; None if counting them took longer than the query may take.
    """

    columns: list[str]
    rows: list[list[Any]]
    total: int | None


MAX_SQL_LENGTH = 10_000
_SQLITE_COLUMNS = 2_000
# SQLite names a column that has no name by its whole expression.
_MAX_HEADER = 200
_BYTES_A_CHARACTER = 4
_MAX_ANSWER_CHARACTERS = 4_000_000


class RowDatabase:
    """Tables loaded once and queried often; safe to use from several threads, one query at a time.

    Column names are those of the rows, nested ones dotted. Only `SELECT` (with `WITH`, windows, `json_each`) gets
    through: everything else is refused by SQLite's own authorizer.

    Args:
        tables: from a table's name to its columns.
        main: the table that is called `rows`, while its own name works as well; by default the only one.
        max_seconds: time for one query.
        max_bytes: by how much the process may grow during one query, see `QueryGuard`.

    Attributes:
        tables: from the name of each table to the names of its columns.
        size_bytes: the memory that the tables take.
        notes: what differs from the rows as they were, in short sentences.
    """

    def __init__(
        self,
        tables: Mapping[str, Iterable[Column]],
        *,
        main: str | None = None,
        max_seconds: float = 5.0,
        max_bytes: int = 256 * 2**20,
    ) -> None:
        self._connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._connection.text_factory = _text
        self._lock = threading.Lock()
        self._max_seconds = max_seconds
        self.tables: dict[str, list[str]] = {}
        self.notes: list[str] = []
        self._longest_row = 0
        if main is None and len(tables) == 1:
            main = next(iter(tables))
        if "rows" in tables:
            main = "rows"
        for key, columns in tables.items():
            self._load(_table_name("rows" if key == main else key, self.tables), columns)
        names = [*self.tables, *self._own_name(main)]
        pages, page_bytes = (self._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _SIZE)
        self.size_bytes: int = pages * page_bytes
        self._names = [*names, *{column for columns in self.tables.values() for column in columns}]
        widest = max(map(len, self.tables.values()), default=0)
        self._guard = QueryGuard(
            self._connection,
            names,
            longest_row=self._longest_row,
            most_columns=min(_SQLITE_COLUMNS, 2 * widest + 100),
            max_seconds=max_seconds,
            max_bytes=max_bytes,
        )

    def query(self, sql: str, *, max_rows: int) -> QueryAnswer:
        """The result of one SELECT, its first `max_rows` rows and their total.

        Args:
            sql: SQLite's dialect. Dotted column names work with and without quotes.
            max_rows: how many rows come back.

        Raises:
            QueryError: no SELECT, an unknown name, a mistake, or a limit was met; worded for a model.
        """
        if len(sql) > MAX_SQL_LENGTH:
            raise QueryError(f"The query is longer than {MAX_SQL_LENGTH} characters.")
        if not self._lock.acquire(timeout=self._max_seconds):
            raise QueryError("Another query over these rows is still running; try again.")
        try:
            return self._run(quote_dotted_names(sql, self._names), max_rows)
        finally:
            self._lock.release()

    def _run(self, sql: str, max_rows: int) -> QueryAnswer:
        self._guard.start()
        try:
            cursor = self._connection.execute(sql)
            columns = [_shown(item[0][:_MAX_HEADER]) for item in cursor.description or ()]
            if not columns:
                raise QueryError("Only SELECT over the stored rows is allowed.")
            rows = list(_first_rows(cursor, max_rows))
            return QueryAnswer(columns=columns, rows=rows, total=self._total(cursor, len(rows)))
        except (sqlite3.Error, sqlite3.Warning, ValueError, MemoryError) as error:
            raise self._guard.explain(error) from error

    def _total(self, cursor: sqlite3.Cursor, count: int) -> int | None:
        try:
            for _ in cursor:
                count += 1
        except sqlite3.Error:
            if self._guard.stopped:
                return None
            raise
        return count

    def _load(self, table: str, columns: Iterable[Column]) -> None:
        names: list[str] = []
        cells: list[Cells] = []
        for column in columns:
            if len(names) == _SQLITE_COLUMNS:
                self.notes.append(f"{table} has more than {_SQLITE_COLUMNS} columns; the others are left out")
                break
            names.append(_unique(_clean(column.name), names))
            cells.append(cells_of(column))
        if not cells:
            names, cells = ["value"], [Cells("", ())]
        if any(cell.declared == EXACT or cell.overflows for cell in cells):
            install_exact_numbers(self._connection)
        if any(cell.declared == EXACT for cell in cells):
            exact = [name for name, cell in zip(names, cells, strict=True) if cell.declared == EXACT]
            self.notes.append(f"numbers kept exactly, as text, in: {', '.join(exact)}")
        self.notes += [cell.note for cell in cells if cell.note]
        self._longest_row = max(self._longest_row, _BYTES_A_CHARACTER * sum(16 + cell.longest for cell in cells))
        self.tables[table] = names
        self._create(table, names, cells)

    def _create(self, table: str, names: list[str], cells: list[Cells]) -> None:
        declared = ", ".join(f"{quote(name)} {cell.declared}" for name, cell in zip(names, cells, strict=True))
        self._connection.execute(f"CREATE TABLE {quote(table)} ({declared})")
        self._connection.execute("BEGIN")
        try:
            self._insert(table, [cell.values for cell in cells])
        except UnicodeEncodeError:
            self._connection.execute("ROLLBACK")
            self._connection.execute("BEGIN")
            self.notes.append("characters that are no Unicode text (lone surrogates) stand as U+FFFD")
            self._insert(table, [without_surrogates(cell.values) for cell in cells])
        self._connection.execute("COMMIT")

    def _insert(self, table: str, columns: Sequence[Sequence[object]]) -> None:
        marks = ",".join("?" * len(columns))
        self._connection.executemany(f"INSERT INTO {quote(table)} VALUES ({marks})", zip(*columns, strict=True))  # noqa: S608

    def _own_name(self, main: str | None) -> Iterator[str]:
        """The main table's own key as a second name for it; stubs speak of tables by their keys."""
        if main is not None and (key := _table_name(main, {})).lower() not in map(str.lower, self.tables):
            self._connection.execute(f"CREATE VIEW {quote(key)} AS SELECT * FROM rows")  # noqa: S608 - quoted
            yield key


_SIZE = ("page_count", "page_size")


def _first_rows(cursor: sqlite3.Cursor, max_rows: int) -> Iterator[list[Any]]:
    left = _MAX_ANSWER_CHARACTERS
    for row in islice(cursor, max_rows):
        yield [_shown(cell) for cell in row]
        left -= sum(len(cell) for cell in row if isinstance(cell, str | bytes))
        if left < 0:
            return


def _shown(cell: Any) -> Any:
    if isinstance(cell, str):
        # PostgreSQL, as a session's database, refuses NUL.
        return cell.replace("\0", "\u2400")
    if isinstance(cell, bytes):
        return cell.hex()
    return plain(cell) if isinstance(cell, float) else cell


def _text(data: bytes) -> str:
    # A blob cast to text may be no UTF-8, which is no reason to lose the answer.
    return data.decode("utf-8", "replace")


def _table_name(key: str, taken: Mapping[str, object]) -> str:
    name = _clean(key) or "rows"
    # SQLite keeps this prefix for itself.
    return _unique(f"t_{name}" if name.lower().startswith("sqlite_") else name, [*taken, "json_each", "json_tree"])


def _clean(name: str) -> str:
    return name.replace("\0", "\ufffd").encode("utf-8", "replace").decode() or "column"


def _unique(name: str, taken: Iterable[str]) -> str:
    # To SQLite `ID` and `id` are one name.
    lowered = {other.lower() for other in taken}
    number, unique = 1, name
    while unique.lower() in lowered:
        number += 1
        unique = f"{name}_{number}"
    return unique

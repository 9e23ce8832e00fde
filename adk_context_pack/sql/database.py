"""Stored tables in an in-memory SQLite database that answers SELECT and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.collations import install_collations, install_dates, without_collations
from adk_context_pack.sql.currencies import check_currencies, mixed_amounts
from adk_context_pack.sql.exact_sum import install_exact_numbers
from adk_context_pack.sql.guard import QueryGuard
from adk_context_pack.sql.number_checks import NumberChecks
from adk_context_pack.sql.number_columns import NUMBERS, use_numbers
from adk_context_pack.sql.number_places import TextColumn
from adk_context_pack.sql.sql_names import quote, quote_dotted_names
from adk_context_pack.sql.table_image import SQLITE_COLUMNS, TableImage, names_in
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

    def as_json(self) -> dict[str, Any]:
        """Returns the fields as values that JSON can hold."""
        return asdict(self)


# SQLite names a column that has no name by its whole expression.
_MAX_HEADER = 200
_MAX_ADVICE = 4
_MAX_ANSWER_CHARACTERS = 4_000_000


class RowDatabase:
    """Opens images of tables and answers queries over them, one at a time.

    Column names are those of the rows, nested ones dotted. Only `SELECT` (with `WITH`, windows, `json_each`) gets
    through: SQLite's own authorizer refuses everything else. Nothing here ends a single long step of SQLite, so text
    that a model wrote runs in a `Worker` only.

    Args:
        images: from a handle to the tables behind it. The tables of the first one need no prefix. Those of the others
            are `handle.table`, and a handle alone is its main table.
    """

    def __init__(self, images: Mapping[str, TableImage]) -> None:
        self._connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._connection.text_factory = _text
        # Sorting may not write to the disk; in memory it is counted. A later change would drop the views below.
        self._connection.execute("PRAGMA temp_store = MEMORY")
        self._handles = [handle.lower() for handle in images]
        self._images = images
        self._names = [name for image in images.values() for name in names_in(image.names)]
        self._texts = dict(_texts(images))
        self._mixed = [found for image in images.values() for found in mixed_amounts(image.names.mixed)]
        self._checks = NumberChecks(self._connection, *_numeric(images, self._texts), self._meanings)
        install_collations(self._connection)
        if any(image.names.exact for image in images.values()):
            install_exact_numbers(self._connection)
        for handle, image in images.items():
            self._attach(handle, image)
        all_names = [image.names for image in images.values()]
        widest = max((len(columns) for names in all_names for columns in names.tables.values()), default=0)
        self._guard = QueryGuard(
            self._connection,
            [*self._names, *self._handles],
            longest_row=max((names.longest_row for names in all_names), default=0),
            most_columns=min(SQLITE_COLUMNS, 2 * widest + 100),
        )

        collations = {text.collation for texts in self._texts.values() for text in texts}
        is_dated = any(name.startswith("dates") for name in collations)
        # Its own limits hold for these functions, too.
        self._dates = install_dates(self._connection, collations) if is_dated else None

    def query(self, sql: str, *, max_rows: int, max_seconds: float) -> QueryAnswer:
        """Returns the result of one SELECT: its first `max_rows` rows and their total.

        Args:
            sql: SQLite's dialect. Dotted column names work with and without quotes.
            max_rows: how many rows to return.
            max_seconds: the time after which the query is stopped, as soon as SQLite's current step ends.

        Raises:
            QueryError: the text is not a SELECT, has a mistake or an unknown name, or met a limit; worded for a model.
        """
        self._guard.start(max_seconds)
        try:
            cursor = self._run(sql)
            headers = (without_collations(self._checks.as_written(item[0])) for item in cursor.description or ())
            columns = [_shown(header[:_MAX_HEADER]) for header in headers]
            if not columns:
                raise QueryError("Only SELECT over the stored rows is allowed.")
            rows = list(_first_rows(cursor, max_rows))
            return QueryAnswer(columns=columns, rows=rows, total=self._total(cursor, len(rows)))
        except (sqlite3.Error, sqlite3.Warning, ValueError, MemoryError) as error:
            raise self._checks.problem() or self._guard.explain(error) from error

    def close(self) -> None:
        """Gives back the memory."""
        if self._dates is not None:
            self._dates.close()
        self._connection.close()

    def _run(self, sql: str) -> sqlite3.Cursor:
        check_currencies(sql, self._mixed, self._handles)
        try:
            return self._execute(use_numbers(sql, self._texts, self._handles))
        except sqlite3.OperationalError as error:
            if not str(error).startswith("no such column: ") or not str(error).endswith(NUMBERS):
                raise
            # What an inner query passes on has the texts alone, which the checks let pass as far as they are numbers.
            return self._execute(sql)

    def _execute(self, sql: str) -> sqlite3.Cursor:
        checked = self._checks.rewrite(sql, self._handles)
        return self._connection.execute(quote_dotted_names(checked, self._names, self._handles))

    def _meanings(self) -> Iterator[tuple[str, int | float]]:
        """Yields each text of the columns of texts that are numbers, and its number."""
        for handle, image in self._images.items():
            for table, texts in image.names.texts.items():
                for text in (TextColumn(**found) for found in texts):
                    if text.numbers and not text.reason:
                        named = f"{quote(text.name)}, {quote(text.numbers)} FROM {quote(handle)}.{quote(table)}"
                        yield from self._connection.execute(f"SELECT DISTINCT {named}")

    def _attach(self, handle: str, image: TableImage) -> None:
        self._connection.execute(f"ATTACH ':memory:' AS {quote(handle)}")
        self._connection.deserialize(image.data, name=handle)
        if "rows" in image.names.tables:
            name = quote(handle)
            self._connection.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM {name}.rows")  # noqa: S608 - quoted

    def _total(self, cursor: sqlite3.Cursor, count: int) -> int | None:
        try:
            for _ in cursor:
                count += 1
        except sqlite3.Error:
            if self._guard.stopped:
                return None
            raise
        return count


def _texts(images: Mapping[str, TableImage]) -> Iterator[tuple[str, list[TextColumn]]]:
    """Yields every name of every table with its columns of texts; names of the first image come last and win."""
    for handle, image in reversed(list(images.items())):
        texts = {table: [TextColumn(**text) for text in found] for table, found in image.names.texts.items()}
        yield from texts.items()
        yield from ((name, texts.get("rows", [])) for name in (*image.names.views, handle))


def _numeric(images: Mapping[str, TableImage], texts: Mapping[str, Iterable[TextColumn]]) -> tuple[frozenset[str], str]:
    """Returns the names of the columns that hold no texts, and advice on those that hold texts."""
    columns = [column for found in texts.values() for column in found]
    hidden = {column.name.lower() for column in columns}
    names = (name.lower() for image in images.values() for table in image.names.tables.values() for name in table)
    with_numbers = dict.fromkeys(f"{quote(c.numbers)} for {quote(c.name)}" for c in columns if c.numbers)
    shown = ", ".join(list(with_numbers)[:_MAX_ADVICE]).replace("`", '"')
    advice = f"Where a column of texts is selected, write that of its numbers: {shown}." if shown else ""
    return frozenset(names) - hidden, advice or "Write CAST(replace(x, ',', '') AS REAL) for the number in a text x."


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
    # A blob cast to text need not be UTF-8, which is not a reason to lose the answer.
    return data.decode("utf-8", "replace")

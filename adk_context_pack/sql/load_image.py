"""Loads tables into SQLite, once, as the server's own process does before it hands them to a child."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from adk_context_pack.sql.cells import Loaded, cells_of, name_currencies
from adk_context_pack.sql.exact_sum import install_collations
from adk_context_pack.sql.sql_names import quote, unique_name
from adk_context_pack.sql.table_image import SQLITE_COLUMNS, TableImage, TableNames, one_line
from adk_context_pack.sql.typed_columns import literal, shown
from adk_context_pack.tables.columns import Column
from adk_context_pack.tables.schema import total_label

_BYTES_A_CHARACTER = 4
_NESTED = frozenset({list, tuple, dict, set, frozenset})
_numbers = itertools.count(1)


def image_of(tables: Mapping[str, Iterable[Column]], *, main: str | None = None) -> TableImage:
    """Loads tables into SQLite and returns them as one image.

    Args:
        tables: from a table's name to its columns.
        main: the table that is called `rows`, while its own name works as well; by default the only one.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None)
    install_collations(connection)
    try:
        names = _Loader(connection).load(tables, main)
        return TableImage(next(_numbers), connection.serialize(), names)
    finally:
        connection.close()


class _Loader:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._names = TableNames()

    def load(self, tables: Mapping[str, Iterable[Column]], main: str | None) -> TableNames:
        if main is None and len(tables) == 1:
            main = next(iter(tables))
        if "rows" in tables:
            main = "rows"
        for key, columns in tables.items():
            self._load(_table_name("rows" if key == main else key, self._names.tables), columns)
        self._add_own_name(main)
        return self._names

    def _load(self, table: str, columns: Iterable[Column]) -> None:
        loaded: list[Loaded] = []
        for column in columns:
            names = [each.name for each in loaded]
            if len(names) >= SQLITE_COLUMNS:
                self._names.notes.append(f"{table} has more than {SQLITE_COLUMNS} columns; the others are left out")
                break
            clean = _clean(column.name)
            found = cells_of(column, unique_name(clean, names), names)
            if found[0].name != clean:
                first = next(other for other in names if other.lower() == clean.lower())
                found[0].notes.insert(
                    0, f"{one_line(clean)} is `{one_line(found[0].name)}` here, beside {one_line(first)}"
                )
            if column.types & _NESTED:
                self._names.nested.append(found[0].name)
            loaded += found[: SQLITE_COLUMNS - len(names)]
        name_currencies(loaded)
        read = [each.column for each in loaded if each.column and each.column.values]
        for place, row in ("last", -1), ("first", 0):
            if label := total_label(read, row):
                condition = f"WHERE {shown(label.name)} <> {literal(label.values[row])}"
                note = f"the {place} row of {table} seems to sum up others: leave it out by {condition}"
                self._names.notes.append(one_line(note, 300))
        self._names.columns[table] = [asdict(each.typed(table)) for each in loaded]
        loaded = loaded or [Loaded("value", "", ())]
        self._names.tables[table] = [each.name for each in loaded]
        self._names.exact |= any(each.is_exact for each in loaded)
        longest = _BYTES_A_CHARACTER * sum(16 + each.longest for each in loaded)
        self._names.longest_row = max(self._names.longest_row, longest)
        self._create(table, loaded)

    def _create(self, table: str, columns: list[Loaded]) -> None:
        declared = ", ".join(f"{quote(each.name)} {each.declared}" for each in columns)
        self._connection.execute(f"CREATE TABLE {quote(table)} ({declared})")
        self._connection.execute("BEGIN")
        try:
            self._insert(table, [each.values for each in columns])
        except UnicodeEncodeError:
            self._connection.execute("ROLLBACK")
            self._connection.execute("BEGIN")
            self._names.notes.append("characters that are not Unicode text (lone surrogates) appear as U+FFFD")
            self._insert(table, [_without_surrogates(each.values) for each in columns])
        self._connection.execute("COMMIT")

    def _insert(self, table: str, columns: Sequence[Sequence[object]]) -> None:
        marks = ",".join("?" * len(columns))
        self._connection.executemany(f"INSERT INTO {quote(table)} VALUES ({marks})", zip(*columns, strict=True))  # noqa: S608

    def _add_own_name(self, main: str | None) -> None:
        # Stubs speak of tables by their keys.
        if main is not None and (key := _table_name(main, {})).lower() not in map(str.lower, self._names.tables):
            self._connection.execute(f"CREATE VIEW {quote(key)} AS SELECT * FROM rows")  # noqa: S608 - quoted
            self._names.views.append(key)


def _table_name(key: str, taken: Mapping[str, object]) -> str:
    name = _clean(key) or "rows"
    # SQLite keeps this prefix for itself.
    return unique_name(f"t_{name}" if name.lower().startswith("sqlite_") else name, [*taken, "json_each", "json_tree"])


def _clean(name: str) -> str:
    return name.replace("\0", "\ufffd").encode("utf-8", "replace").decode() or "column"


def _without_surrogates(values: Sequence[object]) -> Sequence[object]:
    """Cells with lone surrogates replaced by U+FFFD; SQLite keeps UTF-8, which has no form for them."""
    return [
        value.encode("utf-8", "replace").decode() if type(value) is str and not value.isascii() else value
        for value in values
    ]

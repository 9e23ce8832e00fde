"""A whole SQLite database as bytes, which any process can open, and the names in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

SQLITE_COLUMNS = 2_000
"""The most columns that a table of SQLite can have."""


@dataclass(slots=True)
class TableNames:
    """The description that a database needs of an image beside its bytes.

    Attributes:
        tables: from the name of each table to the names of its columns.
        views: second names of the main table.
        notes: differences from the rows as they were, in short sentences.
        nested: columns that hold lists or objects as JSON text.
        columns: from the name of each table to its columns, as the fields of `TypedColumn`.
        longest_row: bytes of the longest row, which a query must still be able to read.
        exact: whether a column needs the collation and aggregates of `exact_sum`.
    """

    tables: dict[str, list[str]] = field(default_factory=dict)
    views: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    columns: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    longest_row: int = 0
    exact: bool = False

    def as_json(self) -> dict[str, Any]:
        """Returns the fields as values that JSON can hold."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class TableImage:
    """A whole SQLite database as bytes.

    Attributes:
        number: tells this image from every other one of the process.
        data: the database.
        names: its tables and columns, and what to know about them.
    """

    number: int
    data: bytes
    names: TableNames


def names_in(names: TableNames) -> Iterator[str]:
    """Yields every name of a table or column in an image."""
    yield from names.tables
    yield from names.views
    for columns in names.tables.values():
        yield from columns


def one_line(text: str, length: int = 60) -> str:
    """Returns a name as it can be set within a sentence: on one line, and not too long."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"

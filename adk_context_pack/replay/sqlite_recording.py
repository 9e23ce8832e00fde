"""Sessions in a SQLite file, of `SqliteSessionService` or of `DatabaseSessionService`, old tables and new."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from adk_context_pack.errors import RecordingError
from adk_context_pack.replay.session_rows import Found, read_session, session_keys

MAGIC = b"SQLite format 3\0"


class SqliteRecording:
    """A SQLite file with ADK sessions, opened for reading only.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Found]:
        """Each session in turn.

        Raises:
            RecordingError: the file is no database of ADK's, or is damaged.
        """
        try:
            with closing(self._open()) as connection:
                select = _Select(connection)
                _check(select)
                for key in session_keys(select):
                    yield read_session(select, key, str(self._path))
        except sqlite3.Error as error:
            raise RecordingError(f"{self._path}: {error}") from None

    def count(self) -> int | None:
        """How many sessions there are; None where that cannot be told."""
        try:
            with closing(self._open()) as connection:
                return int(connection.execute("SELECT COUNT(*) FROM sessions").fetchone()[0])
        except sqlite3.Error:
            return None

    def _open(self) -> sqlite3.Connection:
        # Even a reader writes beside a database (`-shm`) unless it is told that nobody else changes it. A log that is
        # not yet written back (`-wal`) would be overlooked that way, so then the reader only promises not to write.
        log = self._path.with_name(self._path.name + "-wal")
        mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
        connection = sqlite3.connect(f"file:{quote(str(self._path.resolve()))}?{mode}", uri=True)
        connection.row_factory = sqlite3.Row
        return connection


class _Select:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __call__(self, sql: str, values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        for row in self._connection.execute(sql, values):
            yield dict(row)


def _check(select: _Select) -> None:
    tables = {row["name"] for row in select("SELECT name FROM sqlite_master WHERE type = 'table'", {})}
    missing = {"sessions", "events", "app_states", "user_states"} - tables
    if missing:
        raise sqlite3.DatabaseError(f"this is no database of an ADK session service (no table {min(missing)})")

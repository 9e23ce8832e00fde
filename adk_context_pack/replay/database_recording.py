"""Sessions behind a database URL, as `DatabaseSessionService` takes it. Needs SQLAlchemy and the URL's driver."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from adk_context_pack.errors import RecordingError
from adk_context_pack.replay.stored_event import RecordedSession, event_of_row, from_json

Select = Callable[[str, Mapping[str, Any]], Iterable[Mapping[str, Any]]]
"""From an SQL text with `:name` parameters, and their values, to rows."""

Found = RecordedSession | RecordingError

_SESSIONS = "SELECT app_name, user_id, id FROM sessions ORDER BY app_name, user_id, id"
_STATE = "SELECT state FROM sessions WHERE app_name = :app_name AND user_id = :user_id AND id = :id"
_EVENTS = (
    "SELECT * FROM events WHERE app_name = :app_name AND user_id = :user_id AND session_id = :id ORDER BY timestamp"
)
_APP_STATE = "SELECT state FROM app_states WHERE app_name = :app_name"
_USER_STATE = "SELECT state FROM user_states WHERE app_name = :app_name AND user_id = :user_id"


def session_keys(select: Select) -> list[dict[str, str]]:
    """Selects the keys of all sessions of a database."""
    return [dict(row) for row in select(_SESSIONS, {})]


def read_session(select: Select, key: Mapping[str, str], source: str) -> Found:
    """Returns one session of a database, or the error that keeps it from being read. The next one may be fine."""
    try:
        events = [event_of_row(row) for row in select(_EVENTS, key)]
        state = _merged(select, key)
    except RecordingError as error:
        return RecordingError(f"{source}: session {key['id']}: {error}")
    return RecordedSession(
        id=key["id"], app_name=key["app_name"], user_id=key["user_id"], state=state, events=events, source=source
    )


def _merged(select: Select, key: Mapping[str, str]) -> dict[str, Any]:
    # As ADK merges them: what belongs to the app and to the user is stored apart, without its prefix.
    app = {name: key[name] for name in ("app_name",)}
    user = {name: key[name] for name in ("app_name", "user_id")}
    merged = _state(select(_STATE, key))
    merged |= {f"app:{name}": value for name, value in _state(select(_APP_STATE, app)).items()}
    merged |= {f"user:{name}": value for name, value in _state(select(_USER_STATE, user)).items()}
    return merged


def _state(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    for row in rows:
        state = from_json(row["state"])
        return dict(state) if isinstance(state, Mapping) else {}
    return {}


class DatabaseRecording:
    """A database with ADK sessions. Only SELECT statements are sent, so nothing is created or migrated.

    Args:
        url: an SQLAlchemy URL with a synchronous or an asynchronous driver.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    def __iter__(self) -> Iterator[Found]:
        """Yields each session in turn.

        Raises:
            RecordingError: SQLAlchemy or the driver is missing, or the database cannot be reached or is not ADK's.
        """
        name = self._url
        try:
            import sqlalchemy  # noqa: PLC0415 - an optional dependency, of ADK as well

            name = sqlalchemy.make_url(self._url).render_as_string(hide_password=True)
            reader = _reader(sqlalchemy.make_url(self._url))
            try:
                for key in session_keys(reader):
                    yield read_session(reader, key, name)
            finally:
                reader.close()
        except ImportError as error:
            raise RecordingError(f"{name}: reading it needs a package that is not installed: {error.name}") from None
        except Exception as error:
            # A driver's message may hold the address with its password.
            raise RecordingError(f"{name}: the database cannot be read ({type(error).__name__})") from None

    def count(self) -> int | None:
        """Not known beforehand."""
        return None


def _reader(url: Any) -> Any:
    return _AsyncReader(url) if url.get_dialect().is_async else _Reader(url)


class _Reader:
    def __init__(self, url: Any) -> None:
        import sqlalchemy  # noqa: PLC0415 - optional

        self._text = sqlalchemy.text
        self._engine = sqlalchemy.create_engine(url)

    def __call__(self, sql: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        with self._engine.connect() as connection:
            return [dict(row) for row in connection.execute(self._text(sql), dict(values)).mappings()]

    def close(self) -> None:
        self._engine.dispose()


class _AsyncReader:
    def __init__(self, url: Any) -> None:
        import sqlalchemy  # noqa: PLC0415 - optional
        from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415 - optional

        self._text = sqlalchemy.text
        self._loop = asyncio.new_event_loop()
        self._engine = create_async_engine(url)

    def __call__(self, sql: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        return self._loop.run_until_complete(self._rows(sql, values))

    async def _rows(self, sql: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        async with self._engine.connect() as connection:
            result = await connection.execute(self._text(sql), dict(values))
            return [dict(row) for row in result.mappings()]

    def close(self) -> None:
        self._loop.run_until_complete(self._engine.dispose())
        self._loop.close()


MAGIC = b"SQLite format 3\0"


class SqliteRecording:
    """A SQLite file with ADK sessions, opened for reading only.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Found]:
        """Yields each session in turn.

        Raises:
            RecordingError: the file is not a database of ADK's, or is damaged.
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
        """Counts the sessions. Returns None if that is not possible."""
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
        raise sqlite3.DatabaseError(f"not the database of an ADK session service: the table {min(missing)} is missing")

"""Sessions behind a database URL, as `DatabaseSessionService` takes it. Needs SQLAlchemy and the URL's driver."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from adk_context_pack.errors import RecordingError
from adk_context_pack.replay.session_rows import Found, read_session, session_keys


class DatabaseRecording:
    """A database with ADK sessions. Only SELECT statements are sent; nothing is created and nothing migrated.

    Args:
        url: an SQLAlchemy URL with a synchronous or an asynchronous driver.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    def __iter__(self) -> Iterator[Found]:
        """Each session in turn.

        Raises:
            RecordingError: SQLAlchemy or the driver is missing, the database is away, or is none of ADK's.
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

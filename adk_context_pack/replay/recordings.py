"""Opens the recordings that the command line names: databases, and sessions as JSON."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from google.adk.events.event import Event
from google.genai import types
from pydantic import ValidationError

from adk_context_pack.errors import RecordingError
from adk_context_pack.replay.stored_event import RecordedSession, event_of, event_of_row, from_json

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
    app = {"app_name": key["app_name"]}
    user = {**app, "user_id": key["user_id"]}
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

            url: Any = sqlalchemy.make_url(self._url)
            name = url.render_as_string(hide_password=True)
            reader: Any = (_AsyncReader if url.get_dialect().is_async else _Reader)(url)
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


class _File:
    def __init__(self, path: Path) -> None:
        self._path = path


class SqliteRecording(_File):
    """A SQLite file with ADK sessions, opened for reading only."""

    def __iter__(self) -> Iterator[Found]:
        """Yields each session in turn.

        Raises:
            RecordingError: the file is not a database of ADK's, or is damaged.
        """
        try:
            with closing(self._open()) as connection:

                def select(sql: str, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
                    return map(dict, connection.execute(sql, values))

                tables = {row["name"] for row in select("SELECT name FROM sqlite_master WHERE type = 'table'", {})}
                if missing := {"sessions", "events", "app_states", "user_states"} - tables:
                    error = f"not the database of an ADK session service: the table {min(missing)} is missing"
                    raise sqlite3.DatabaseError(error)
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


def session_of_case(data: Mapping[str, Any], source: str) -> RecordedSession:
    """Reads the session of one eval case.

    The newer form of an eval case (`invocation_events`) names the author of each step. The older one (`tool_uses` and
    `tool_responses`) does not, so all of its steps are ascribed to one agent, one call after the other.

    Raises:
        RecordingError: the case has no recorded conversation, or this ADK cannot read it.
    """
    from google.adk.evaluation.eval_case import EvalCase  # noqa: PLC0415 - heavy, and needed for eval sets only

    try:
        case = EvalCase.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise RecordingError(f"an eval case that this ADK cannot read: {'.'.join(map(str, first['loc']))}") from None
    if not case.conversation:
        raise RecordingError(f"eval case {case.eval_id} holds no recorded conversation")
    given = case.session_input
    app = given.app_name if given else ""
    agent = app if app.isidentifier() and app != "user" else "agent"
    events = [event for number, turn in enumerate(case.conversation) for event in _events(turn, agent, number)]
    return RecordedSession(
        id=case.eval_id,
        app_name=app,
        user_id=given.user_id if given else "",
        state=dict(given.state) if given else {},
        events=events,
        source=source,
    )


def _events(turn: Any, agent: str, number: int) -> Iterator[Event]:
    run = turn.invocation_id or f"turn-{number + 1}"
    yield _event("user", turn.user_content, run, role="user")
    data = turn.intermediate_data
    author = agent
    for step in getattr(data, "invocation_events", None) or ():
        if step.content is not None:
            author = step.author or agent
            yield _event(author, step.content, run)
    # Without ids a result is found by its place, so each call has its result behind it.
    uses, results = getattr(data, "tool_uses", None) or (), list(getattr(data, "tool_responses", None) or ())
    for place, use in enumerate(uses):
        yield _event(agent, types.Content(role="model", parts=[types.Part(function_call=use)]), run)
        if place < len(results):
            part = types.Part(function_response=results[place])
            yield _event(agent, types.Content(role="user", parts=[part]), run, role="user")
    for name, parts in getattr(data, "intermediate_responses", None) or ():
        author = name or agent
        yield _event(author, types.Content(role="model", parts=list(parts)), run)
    if turn.final_response is not None:
        yield _event(author, turn.final_response, run)


def _event(author: str, content: types.Content, run: str, role: str | None = None) -> Event:
    results = any(part.function_response for part in content.parts or ())
    role = role or ("user" if results else "model")
    if content.role != role:
        content = content.model_copy(update={"role": role})
    return Event(author=author, content=content, invocation_id=run)


class JsonRecording(_File):
    """A JSON file with one session, a list of sessions, or an eval set, in snake case or camel case."""

    def __iter__(self) -> Iterator[Found]:
        """Yields each session in turn.

        Raises:
            RecordingError: the file is not JSON, or holds neither sessions nor an eval set.
        """
        try:
            data = json.loads(self._path.read_bytes())
        except (ValueError, RecursionError):
            raise RecordingError(f"{self._path}: neither a SQLite database nor JSON") from None
        if isinstance(data, Mapping) and (cases := either(data, "eval_cases", "evalCases")) is not None:
            entries, read = cases, session_of_case
        else:
            entries, read = (data if isinstance(data, list) else [data]), _session
        if not isinstance(entries, Sequence) or not entries or not all(isinstance(each, Mapping) for each in entries):
            raise RecordingError(f"{self._path}: this JSON is neither a session nor an eval set")
        for number, entry in enumerate(entries):
            try:
                yield read(entry, str(self._path))
            except RecordingError as error:
                place = f" (number {number + 1})" if len(entries) > 1 else ""
                yield RecordingError(f"{self._path}{place}: {error}")

    def count(self) -> int | None:
        """Returns 1. Most files hold one session, and a file of many is read in one go."""
        return 1


def either(data: Mapping[str, Any], snake: str, camel: str) -> Any:
    """Returns a field in snake case or camel case, or None if it is missing."""
    return data.get(snake, data.get(camel))


def _session(data: Mapping[str, Any], source: str) -> RecordedSession:
    events = data.get("events")
    if not isinstance(events, list):
        raise RecordingError('this JSON is neither a session (no list "events") nor an eval set')
    state = data.get("state")
    return RecordedSession(
        id=str(data.get("id") or Path(source).stem),
        app_name=str(either(data, "app_name", "appName") or ""),
        user_id=str(either(data, "user_id", "userId") or ""),
        state=state if isinstance(state, Mapping) else {},
        events=[event_of(each) for each in events],
        source=source,
    )


_SUFFIXES = (".json", ".db", ".sqlite", ".sqlite3")
"""The endings of files that `adk web` and ADK's session services write."""


Recording = DatabaseRecording | SqliteRecording | JsonRecording


def files_in(name: str) -> list[str]:
    """Returns the files below a folder that may hold sessions, or `name` itself if it is not a folder.

    Raises:
        RecordingError: the folder holds no such file.
    """
    if "://" in name or not Path(name).is_dir():
        return [name]
    found = sorted(str(path) for path in Path(name).rglob("*") if path.suffix in _SUFFIXES and path.is_file())
    if not found:
        raise RecordingError(f"{name}: no recorded sessions in this folder ({', '.join(_SUFFIXES)})")
    return found


def open_recording(name: str) -> Recording:
    """Opens the recording behind a file name or a database URL.

    Raises:
        RecordingError: the file does not exist, or cannot be opened.
    """
    if "://" in name:
        scheme, _, rest = name.partition("://")
        if scheme.partition("+")[0] != "sqlite":
            return DatabaseRecording(name)
        # sqlite:///relative.db and sqlite:////absolute.db, as SQLAlchemy has them.
        name = unquote(rest.partition("?")[0].removeprefix("/"))
    path = Path(name)
    try:
        with path.open("rb") as file:
            head = file.read(len(MAGIC))
    except OSError as error:
        raise RecordingError(f"{name}: {error.strerror or type(error).__name__}") from None
    return SqliteRecording(path) if head == MAGIC else JsonRecording(path)


def sessions_in(recording: Recording) -> Iterable[Found]:
    """Yields every session of a recording. If the recording fails as a whole, its error is the last item."""
    try:
        yield from recording
    except RecordingError as error:
        yield error
    except OSError as error:
        yield RecordingError(f"{error.filename}: {error.strerror or type(error).__name__}")

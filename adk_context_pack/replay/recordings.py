"""Opens what the command line names: recordings, whose full results are put back, the app, and its artifacts."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import io
import json
import logging
import os
import pickle
import sqlite3
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum, IntEnum
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, zip_longest
from operator import attrgetter
from pathlib import Path
from traceback import extract_tb
from types import SimpleNamespace
from typing import Any, TypeVar
from urllib.parse import quote, unquote, urlsplit

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_snake

from adk_context_pack._adk import Event, EventActions, types
from adk_context_pack._adk.known_tools import kind_of
from adk_context_pack._adk.requests import AppRequests, is_app
from adk_context_pack.conversation.contents import changed, mapped
from adk_context_pack.conversation.token_estimate import Counter
from adk_context_pack.errors import RecordingError, SettingError, StoreError, did_you_mean, must, printable, told_of
from adk_context_pack.reports.token_use import Prices
from adk_context_pack.stores.handles import HANDLE_LENGTH, IN_TEXT, is_entry, stored_result
from adk_context_pack.stores.payload_store import resolve
from adk_context_pack.tables.stub_form import HANDLE, LIMITS, PREVIEW, stored_text

_JSON_COLUMNS = ("content", "grounding_metadata", "custom_metadata", "usage_metadata", "citation_metadata")
_PLAIN_TYPES = {
    "builtins": ("dict", "list", "set", "tuple", "str", "bytes", "int", "float", "bool"),
    "collections": ("OrderedDict", "defaultdict"),
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "uuid": ("UUID",),
}


def event_of(data: Any) -> Event:
    """Reads an event from its JSON, in snake case or camel case, of any release, or raises a `RecordingError`."""
    if not isinstance(data, Mapping):
        raise RecordingError(f"an event is a JSON object, not {type(data).__name__}")
    try:
        # Some releases of ADK refuse what others write.
        found = _known(Event, data)
        if (actions := found.pop("actions", None)) is not None:
            found["actions"] = _known(EventActions, actions) if isinstance(actions, Mapping) else actions
        return Event.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise RecordingError(f"an event has a field that this ADK cannot read: {place}: {first['msg']}") from None


def event_of_row(row: Mapping[str, Any]) -> Event:
    """Reads an event from a row of a table `events`: with `event_data` as JSON, or in columns with pickled actions."""
    if "event_data" in row:
        data = from_json(row["event_data"]) or {}
        return event_of({"id": row["id"], "invocation_id": row["invocation_id"], **data})
    data = {name: value for name, value in row.items() if value is not None and name not in _JSON_COLUMNS}
    data |= {name: from_json(row[name]) for name in _JSON_COLUMNS if row.get(name)}
    data["long_running_tool_ids"] = from_json(row.get("long_running_tool_ids_json") or "[]")
    moment = datetime.fromisoformat(row["timestamp"]) if isinstance(row["timestamp"], str) else row["timestamp"]
    if not isinstance(moment, int | float):
        data["timestamp"] = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    data["actions"] = _actions(row.get("actions"))
    return event_of(data)


def from_json(value: Any) -> Any:
    """Reads a JSON column, which a driver returns as text or as objects, or raises a `RecordingError`."""
    if not isinstance(value, str | bytes):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise RecordingError("a JSON column holds no JSON") from None


def _known(model: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    names = {*model.model_fields, *(field.alias for field in model.model_fields.values())}
    return {key: value for key, value in data.items() if key in names}


def _actions(value: Any) -> Any:
    if not isinstance(value, bytes | bytearray | memoryview):
        return value
    try:
        found = _ActionsUnpickler(io.BytesIO(value)).load()
    except RecordingError:
        raise
    except Exception as exception:
        raise RecordingError(f"an event's pickled actions cannot be read ({type(exception).__name__})") from None
    # Through a dict, since a pickle of another release may lack fields of this one.
    return {**found.__dict__} if isinstance(found, BaseModel) else found


class _ActionsUnpickler(pickle.Unpickler):
    """Reads the actions that ADK 1.x pickled, and nothing that could run: a database may hold anything."""

    def find_class(self, module: str, name: str) -> Any:
        """Returns the class that a pickle names, if it is one of ADK's or plain data."""
        if name in _PLAIN_TYPES.get(module, ()):
            return super().find_class(module, name)
        if module.startswith(("google.adk.", "google.genai.")):
            found = getattr(import_module(module), name, None)
            if isinstance(found, type) and issubclass(found, BaseModel | Enum):
                return found
        raise RecordingError(f"an event's pickled actions name {module}.{name}, which is not read")


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedSession:
    """A session as a file or database, its `source`, holds it. Its state has the `app:` and `user:` keys as well.

    If its agent ran as a tool, it is `within` the session of the run. Where `with_full_results` has put results back,
    `capped_events` are the events as they were recorded, `restored` is the number of these results, and `still_capped`
    has the places of events with a result that cannot be opened in full.
    """

    id: str
    app_name: str = ""
    user_id: str = ""
    state: Mapping[str, Any] = field(default_factory=dict)
    events: list[Event]
    source: str = ""
    within: str = ""
    capped_events: list[Event] = field(default_factory=list)
    restored: int = 0
    still_capped: tuple[int, ...] = ()

    def first_state(self) -> dict[str, Any]:
        """Returns the state before the first event, as far as it can be known: the values that no event has changed."""
        changed = {key for event in self.events for key in event.actions.state_delta}
        return {key: value for key, value in self.state.items() if key not in changed}


Value = TypeVar("Value")
SessionOrError = RecordedSession | RecordingError

_SESSION = "WHERE app_name = :app_name AND user_id = :user_id"
_STATES = {
    "": f"SELECT state FROM sessions {_SESSION} AND id = :id",  # noqa: S608 - no input
    "app:": "SELECT state FROM app_states WHERE app_name = :app_name",
    "user:": f"SELECT state FROM user_states {_SESSION}",  # noqa: S608 - no input
}
"""The state of the app and of the user is stored apart, without the prefix under which ADK merges it."""


def _rows_of(select: Callable[[str, Any], Iterable[Mapping[str, Any]]], source: str) -> Iterator[SessionOrError]:
    stored = f"SELECT * FROM events {_SESSION} AND session_id = :id ORDER BY timestamp"  # noqa: S608 - no input
    for key in select("SELECT app_name, user_id, id FROM sessions ORDER BY 1, 2, 3", {}):
        try:
            events = [event_of_row(row) for row in select(stored, key)]
            rows = [(prefix, from_json(row["state"])) for prefix, sql in _STATES.items() for row in select(sql, key)]
        except RecordingError as error:
            # The next session may be fine.
            yield RecordingError(f"{source}: session {key['id']}: {error}")
            continue
        held = ((prefix, *item) for prefix, of in rows if isinstance(of, Mapping) for item in of.items())
        state = {f"{prefix}{name}": value for prefix, name, value in held}
        yield RecordedSession(**key, state=state, events=events, source=source)


def database_sessions(name: str) -> Iterator[SessionOrError]:
    """Yields each session of a database. Only SELECT statements are sent, so nothing is created or migrated."""
    try:
        import sqlalchemy  # noqa: PLC0415 - an optional dependency, of ADK as well
        from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415 - as above
        from sqlalchemy.util import greenlet_spawn  # noqa: PLC0415 - as above

        url: Any = sqlalchemy.make_url(name)
        name = url.render_as_string(hide_password=True)
        is_async = url.get_dialect().is_async
        engine = create_async_engine(url).sync_engine if is_async else sqlalchemy.create_engine(url)
        # A driver that waits for a loop finds one from within a greenlet alone.
        spawn: Any = greenlet_spawn

        def select(sql: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
            with engine.connect() as connection:
                return [dict(row) for row in connection.execute(sqlalchemy.text(sql), dict(values)).mappings()]

        with closing(asyncio.new_event_loop()) as loop, ExitStack() as stack:
            call: Any = (lambda *run: loop.run_until_complete(spawn(*run))) if is_async else lambda run, *of: run(*of)
            stack.callback(call, engine.dispose)
            yield from _rows_of(lambda sql, values: call(select, sql, values), name)
    except ImportError as error:
        raise RecordingError(f"{name}: reading it needs a package that is not installed: {error.name}") from None
    except Exception as error:
        # A driver's message may hold the address with its password.
        raise RecordingError(f"{name}: the database cannot be read ({type(error).__name__})") from None


def _sqlite_sessions(path: Path) -> Iterator[SessionOrError]:
    # Even a reader writes beside a database (`-shm`) unless it is told that nobody else changes it. A log that is not
    # yet written back (`-wal`) would be overlooked that way, so then the reader only promises not to write.
    log = path.with_name(path.name + "-wal")
    mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?{mode}", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            yield from _rows_of(lambda sql, values: map(dict, connection.execute(sql, values)), str(path))
    except sqlite3.Error as error:
        raise RecordingError(f"{path}: not the readable database of an ADK session service ({error})") from None


def session_of_case(data: Mapping[str, Any], source: str) -> RecordedSession:
    """Reads the session of one eval case."""
    # The newer form of an eval case (`invocation_events`) names the author of each step. The older one (`tool_uses` and
    # `tool_responses`) does not, so all of its steps are ascribed to one agent, one call after the other.
    from google.adk.evaluation.eval_case import EvalCase  # noqa: PLC0415 - heavy, and needed for eval sets only

    try:
        case = EvalCase.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise RecordingError(f"an eval case that this ADK cannot read: {'.'.join(map(str, first['loc']))}") from None
    if not case.conversation:
        raise RecordingError(f"eval case {case.eval_id} holds no recorded conversation")
    given = case.session_input
    app, user, state = (given.app_name, given.user_id, given.state) if given else ("", "", {})
    agent = app if app.isidentifier() and app != "user" else "agent"
    events = [event for number, turn in enumerate(case.conversation) for event in _events(turn, agent, number)]
    for place, event in enumerate(events):
        # By their ids, events give the same handles at each look.
        event.id = str(place)
    return RecordedSession(id=case.eval_id, app_name=app, user_id=user, state=dict(state), events=events, source=source)


def _events(turn: Any, agent: str, number: int) -> Iterator[Event]:
    data = turn.intermediate_data
    told = getattr(data, "invocation_events", None) or ()
    steps = [(each.author or agent, each.content.parts) for each in told if each.content is not None]
    # Without ids a result is found by its place, so each call has its result behind it.
    calls = ([types.Part(function_call=each)] for each in getattr(data, "tool_uses", None) or ())
    results = ([types.Part(function_response=each)] for each in getattr(data, "tool_responses", None) or ())
    steps += [(agent, parts) for parts in chain(*zip_longest(calls, results)) if parts]
    steps += [(name or agent, parts) for name, parts in getattr(data, "intermediate_responses", None) or ()]
    if turn.final_response is not None:
        steps.append((steps[-1][0] if steps else agent, turn.final_response.parts))
    for author, parts in (("user", turn.user_content.parts), *steps):
        role = "user" if author == "user" or any(part.function_response for part in parts or ()) else "model"
        content = types.Content(role=role, parts=parts or [])
        yield Event(author=author, content=content, invocation_id=turn.invocation_id or f"turn-{number + 1}")


def _json_sessions(path: Path) -> Iterator[SessionOrError]:
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{path}: neither a SQLite database nor JSON ({error})") from None
    if isinstance(data, Mapping) and (cases := data.get("eval_cases", data.get("evalCases"))) is not None:
        entries, read = cases, session_of_case
    else:
        entries, read = (data if isinstance(data, list) else [data]), _session
    if not isinstance(entries, Sequence) or not entries or not all(isinstance(each, Mapping) for each in entries):
        raise RecordingError(f"{path}: this JSON is neither a session nor an eval set")
    for number, entry in enumerate(entries):
        try:
            yield read(entry, str(path))
        except RecordingError as error:
            place = f" (number {number + 1})" if len(entries) > 1 else ""
            yield RecordingError(f"{path}{place}: {error}")


def _session(data: Mapping[str, Any], source: str) -> RecordedSession:
    data = {to_snake(str(key)): value for key, value in data.items()}
    events = data.get("events")
    if not isinstance(events, list):
        raise RecordingError('this JSON is neither a session (no list "events") nor an eval set')
    state, found = data.get("state"), [event_of(each) for each in events]
    named: dict[str, Any] = {name: str(data.get(name) or "") for name in ("id", "app_name", "user_id", "within")}
    named["id"] = named["id"] or Path(source).stem
    return RecordedSession(**named, state=state if isinstance(state, Mapping) else {}, events=found, source=source)


_SUFFIXES = (".json", ".db", ".sqlite", ".sqlite3")
"""The endings of files that `adk web` and ADK's session services write."""


def recorded_in(name: str) -> Iterator[SessionOrError]:
    """Yields every session of a file, a database, or the files below a folder. What fails is an error among them."""
    is_folder = "://" not in name and Path(name).is_dir()
    found = (path for path in Path(name).rglob("*") if path.suffix in _SUFFIXES and path.is_file())
    # ADK keeps each version of an artifact in a folder of its own, beside the database.
    files = sorted(str(path) for path in found if path.parent.parent.name != "versions") if is_folder else [name]
    for each in files:
        try:
            yield from open_recording(each)
        except (RecordingError, OSError) as error:
            yield RecordingError(str(error))
    if not files:
        yield RecordingError(f"{name}: no recorded sessions in this folder ({', '.join(_SUFFIXES)})")


def open_recording(name: str) -> Iterator[SessionOrError]:
    """Opens the recording behind a file name or a database URL, or raises a `RecordingError`."""
    if "://" in name:
        scheme, _, rest = name.partition("://")
        if scheme.partition("+")[0] != "sqlite":
            yield from database_sessions(name)
            return
        # sqlite:///relative.db and sqlite:////absolute.db, as SQLAlchemy has them.
        name = unquote(rest.partition("?")[0].removeprefix("/"))
    path = Path(name)
    try:
        with path.open("rb") as file:
            is_sqlite = file.read(16) == b"SQLite format 3\0"
    except OSError as error:
        raise RecordingError(f"{name}: {error.strerror or type(error).__name__}") from None
    yield from _sqlite_sessions(path) if is_sqlite else _json_sessions(path)


def with_full_results(session: RecordedSession, artifact_service: Any = None) -> RecordedSession:
    """Returns a session with full results, as far as they can be opened. The recorded one is not changed.

    They come from its state, its artifacts or a store of the user's own. Its state no longer holds those that are back.
    """
    shown = (each.response or () for event in session.events for each in event.get_function_responses())
    stored = (key for event in session.events for key in event.actions.state_delta)
    if not any(LIMITS in each or PREVIEW in each for each in shown) and not any(map(stored_result, stored)):
        return session
    # Stores are asynchronous, and the caller may run within an event loop.
    with ThreadPoolExecutor(max_workers=1) as worker:
        return worker.submit(asyncio.run, _Restoring(session, artifact_service).session()).result()


class _Restoring:
    def __init__(self, session: RecordedSession, artifact_service: Any) -> None:
        self._recorded = session
        self._artifacts = artifact_service
        self._state = session.first_state()
        self._stored = {found.handle: found for key in session.state if (found := stored_result(key))}
        self._opened: set[str] = set()
        self._restored = 0
        self._capped: list[int] = []

    async def session(self) -> RecordedSession:
        events = [await self._event(place, event) for place, event in enumerate(self._recorded.events)]
        actions = [changed(each.actions, "state_delta", self._left(each.actions.state_delta)) for each in events]
        return replace(
            self._recorded,
            state=self._left(self._recorded.state),
            events=[changed(each, "actions", left) for each, left in zip(events, actions, strict=True)],
            capped_events=self._recorded.events if self._restored else [],
            restored=self._restored,
            still_capped=tuple(self._capped),
        )

    def _left(self, state: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in state.items() if key[-HANDLE_LENGTH:] not in self._opened}

    async def _event(self, place: int, event: Event) -> Event:
        # An entry that has expired since is still in the event that brought it.
        delta = event.actions.state_delta
        self._state |= {key: value for key, value in delta.items() if not is_entry(value, "expired")}
        self._stored |= {found.handle: found for key in delta if (found := stored_result(key))}
        if event.content is None or not event.get_function_responses():
            return event
        new = {id(part): await self._part(place, part) for part in event.content.parts or ()}
        return changed(event, "content", mapped(event.content, lambda part: new[id(part)]))

    async def _part(self, place: int, part: types.Part) -> types.Part:
        response = part.function_response
        if response is None or not (shown := response.response) or kind_of(None, response.name) == "read_back":
            return part
        # Beside a table, a stub may hold previews of texts that are parts of the same result.
        named = [self._stored[each] for each in dict.fromkeys(IN_TEXT.findall(str(shown))) if each in self._stored]
        top = str(shown.get(HANDLE, "")) if LIMITS in shown else str(shown)
        found = [each for each in named if each.handle in top and each.tool_name == response.name]
        if not found and LIMITS not in shown and PREVIEW not in shown:
            return part
        body = None
        with suppress(StoreError):
            # What a store asks ADK's context for. The session of the whole run has the results of agents as tools.
            recorded = self._recorded
            session = replace(recorded, id=recorded.within or recorded.id, state=self._state)
            context = SimpleNamespace(session=session, artifact_service=self._artifacts)
            state = {**recorded.state, **self._state}
            opened = {each.handle: await resolve(state.get(each.key), context) for each in found}
            body = _full(shown, opened) if opened else None
        if body is None:
            self._capped.append(place)
            return part
        self._restored += 1
        self._opened.update(each.handle for each in named)
        return changed(part, "function_response", changed(response, "response", body))


def _full(response: Mapping[str, Any], opened: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the full response, or None if it is not clear what the stored results were part of."""
    if LIMITS in response:
        # The rows were capped first, so that this result is the whole.
        (whole,) = opened.values()
        return whole if isinstance(whole, dict) else {"result": whole}
    shown = stored_text(response.get(PREVIEW))
    if shown and isinstance(whole := opened.get(shown.handle), dict):
        return whole
    used: list[str] = []
    full = _exchanged(response, opened, used)
    return full if len(used) == len(opened) else None


def _exchanged(value: Any, opened: Mapping[str, Any], used: list[str]) -> Any:
    """Returns a value with stored parts in the place of their previews, and adds their handles to `used`."""
    if isinstance(value, str) and (stored := stored_text(value)) and stored.handle in opened:
        used.append(stored.handle)
        return opened[stored.handle]
    if isinstance(value, Mapping):
        return {key: _exchanged(item, opened, used) for key, item in value.items()}
    return [_exchanged(item, opened, used) for item in value] if isinstance(value, list) else value


def in_a_line(error: BaseException) -> str:
    """Returns what failed, and the last line of the user's own code that it came through."""
    own = (each for each in extract_tb(error.__traceback__) if Path(each.filename).is_relative_to(Path.cwd()))
    places = [f" ({each.filename}, line {each.lineno})" for each in own if "site-packages" not in each.filename]
    return " ".join(f"{type(error).__name__}: {error}{places[-1] if places else ''}".split())


def load_object(option: str, name: str | None, read: Callable[[Any], Value | None], expected: str) -> Value | None:
    """Loads what `module:name` names, from the working directory or any installed package. No name gives None.

    The module may be a path, and it may be a function or class that makes what is right. As `adk web` does, it finds an
    app whose name is left out or that is written in YAML, and reads `.env`. `read` returns what an object gives, or
    None if it is not as `expected`, which raises a `SettingError`.
    """
    if name is None:
        return None
    from google.adk.agents.config_agent_utils import from_config  # noqa: PLC0415 - as below
    from google.adk.cli.utils.envs import load_dotenv_for_agent  # noqa: PLC0415 - as below

    module, _, attribute = name.partition(":")
    root, path = Path.cwd(), Path(module.removesuffix(".py")).expanduser().resolve()
    if root not in path.parents:
        root = next(each for each in path.parents if not (each / "__init__.py").exists())
    sys.path.insert(0, str(root))
    module = ".".join(path.relative_to(root).parts)
    try:
        load_dotenv_for_agent(module.replace(".", "/"), str(root))
        config = path / "root_agent.yaml"
        found: Any = from_config(str(config)) if config.exists() else import_module(module)
        if not attribute and hasattr(found, "__path__") and find_spec(f"{module}.agent"):
            found = import_module(f"{module}.agent")
        # Where ADK looks, in its order.
        apps = (getattr(found, each, None) for each in ("app", "root_agent"))
        found = attrgetter(attribute)(found) if attribute else next(filter(read, apps), found)
        if (value := read(found)) is None and callable(found):
            made = found()
            found = asyncio.run(made) if inspect.iscoroutine(made) else made
            value = read(found)
    except (Exception, SystemExit) as error:
        near = did_you_mean(error.name or "", dir(error.obj)) if isinstance(error, AttributeError) else ""
        raise SettingError(f"{option} {name} cannot be loaded: {in_a_line(error)}{near}") from error
    if value is None:
        named = vars(found).items() if inspect.ismodule(found) else ()
        words = expected.lower()
        makers = [each for each, one in named if inspect.isfunction(one) and any(map(words.count, each.split("_")))]
        held = [each for each, one in named if read(one)] or makers
        near = f" (did you mean {name}:{held[-1]}?)" if held else ""
        raise SettingError(f"{option} {name} must be {expected}, and is of type {type(found).__name__}{near}")
    return value


def load_app(options: argparse.Namespace) -> tuple[AppRequests | None, Counter | None, Prices]:
    """Returns the app, the counter and the prices that the options name."""
    an_app = "an app or an agent, such as mypackage.agent:root_agent"
    app = load_object("the app", options.app, lambda found: found if is_app(found) else None, an_app)
    counter = load_object("--counter", options.counter, lambda found: found if callable(found) else None, "a function")
    try:
        int(counter("a text") if counter else 0)
    except Exception as error:
        raise SettingError(f"--counter {options.counter} cannot count a text: {in_a_line(error)}") from error
    with told_of("adk-context-pack", input="--price-input", cached="--price-cached"):
        return app and AppRequests(app), counter, Prices(input=options.price_input, cached=options.price_cached)


def load_artifacts(uri: Any) -> Any:
    """Returns the artifact service that `--artifacts` names by a URI or a folder, a service itself, or None."""
    if not isinstance(uri, str):
        return uri
    # ADK's command line takes long to import.
    from google.adk.cli.service_registry import get_service_registry  # noqa: PLC0415

    parts, where = urlsplit(uri), uri
    if parts.scheme in ("", "file"):
        path = Path(unquote(parts.path) if parts.scheme else uri)
        # ADK would create it.
        must(path.is_dir(), "adk-context-pack", "--artifacts", uri, "a folder that exists, or such as gs://bucket")
        where = path.resolve().as_uri()
    reason = f"ADK knows no artifact service for {parts.scheme}://"
    try:
        service = get_service_registry().create_artifact_service(where)
    except Exception as error:
        service, reason = None, in_a_line(error)
    must(service, "adk-context-pack", "--artifacts", uri, f"such as file:///folder or gs://bucket ({reason})")
    return service


Exit = IntEnum("Exit", {"OK": 0, "OVER_BUDGET": 1, "UNREADABLE": 2, "MISUSED": 64})
"""The exit codes. A budget that is exceeded comes before input that cannot be read. 64 is `EX_USAGE` of sysexits."""


def run(options: argparse.Namespace) -> int:
    """Runs the command of the options and returns its exit code."""
    make = logging.getLogRecordFactory()

    def quiet(*args: Any, **given: Any) -> logging.LogRecord:
        # ADK logs a failing app, and a toolset that cannot be loaded, with up to three tracebacks.
        record = make(*args, **given)
        record.exc_info = None if record.name.startswith("google_adk") else record.exc_info
        return record

    logging.setLogRecordFactory(quiet)
    try:
        return int(options.run(options))
    except SettingError as error:
        sys.stderr.write(f"{error}\n")
        return Exit.MISUSED
    except BrokenPipeError:
        # As with `| head`. Python would write the rest at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    finally:
        logging.setLogRecordFactory(make)


class Sessions:
    """The sessions of the recordings that a command names. `problems` has a line for each that cannot be read."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._names: list[str] = options.sessions
        self._is_shown = sys.stderr.isatty()
        self._artifacts = load_artifacts(options.artifacts)
        self.problems: list[str] = []

    def each(self, see: Callable[[RecordedSession], int]) -> None:
        """Calls `see`, which returns the number of model calls so far, on all sessions, with their full results."""
        done = 0
        try:
            with ExitStack() as stack, warnings.catch_warnings(action="ignore"):
                # ADK's log, and that of the pack, would repeat for each request and each setting.
                for name, level in (("google_adk", logging.CRITICAL), ("adk_context_pack", logging.ERROR)):
                    logger = logging.getLogger(name)
                    stack.callback(logger.setLevel, logger.level)
                    logger.setLevel(level)
                for session in chain.from_iterable(map(recorded_in, self._names)):
                    if isinstance(session, RecordedSession):
                        done += 1
                        calls = see(with_full_results(session, self._artifacts))
                        self._draw(f"sessions: {done:,}, calls: {calls:,}")
                    else:
                        self.tell(session)
        finally:
            self._draw()

    def _draw(self, line: str = "") -> None:
        if self._is_shown:
            sys.stderr.write(f"\r{line}\x1b[K")
            sys.stderr.flush()

    def tell(self, error: RecordingError) -> None:
        """Tells what cannot be read, once."""
        self._draw()
        line = printable(" ".join(str(error).split()))
        if line not in self.problems:
            self.problems.append(line)
            sys.stderr.write(f"{line}\n")

"""An `Event` from what a session service, `adk web` or an eval set has stored of it."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from importlib import import_module
from typing import Any

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from pydantic import BaseModel, ValidationError

from adk_context_pack.errors import RecordingError

_JSON_COLUMNS = ("content", "grounding_metadata", "custom_metadata", "usage_metadata", "citation_metadata")
_PLAIN_COLUMNS = ("id", "invocation_id", "author", "branch", "partial", "turn_complete", "error_code", "error_message")
_PLAIN_TYPES = {
    "builtins": ("dict", "list", "set", "tuple", "str", "bytes", "int", "float", "bool"),
    "collections": ("OrderedDict", "defaultdict"),
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "uuid": ("UUID",),
}


def event_of(data: Any) -> Event:
    """Reads an event from its JSON, in snake case or camel case, of any release.

    Raises:
        RecordingError: the JSON is not an event.
    """
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
    """Reads an event from a row of a table `events`: with `event_data` as JSON, or in columns with pickled actions.

    Raises:
        RecordingError: the row is not an event, or holds a pickle of anything but an event's actions.
    """
    if "event_data" in row:
        data = from_json(row["event_data"]) or {}
        return event_of({"id": row["id"], "invocation_id": row["invocation_id"], **data})
    data = {name: row[name] for name in _PLAIN_COLUMNS if row.get(name) is not None}
    data |= {name: from_json(row[name]) for name in _JSON_COLUMNS if row.get(name)}
    data["long_running_tool_ids"] = from_json(row.get("long_running_tool_ids_json") or "[]")
    data["timestamp"] = _seconds(row["timestamp"])
    data["actions"] = _actions(row.get("actions"))
    return event_of(data)


def from_json(value: Any) -> Any:
    """Reads a JSON column, which a driver returns as text or as objects.

    Raises:
        RecordingError: the text is not JSON.
    """
    if not isinstance(value, str | bytes):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise RecordingError("a JSON column holds no JSON") from None


def _known(model: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    names = {*model.model_fields, *(field.alias for field in model.model_fields.values())}
    return {key: value for key, value in data.items() if key in names}


def _seconds(value: Any) -> float:
    if isinstance(value, int | float):
        return float(value)
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


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
    """A session as it was stored.

    Attributes:
        id: the session's id.
        app_name: the app's name, if it is known.
        user_id: the user's id, if it is known.
        state: the state as it was stored last, `app:` and `user:` keys included.
        events: the events, oldest first.
        source: the file or database it comes from.
        within: the session of the run that it belongs to, if its agent ran as a tool.
        capped_events: the events as they were recorded, where `with_full_results` has put results back in full.
        restored: the number of these results.
        still_capped: the places of events with a capped result that cannot be opened in full.
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

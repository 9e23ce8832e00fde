"""Sessions from the tables of ADK's session services, through any function that runs a SELECT."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from adk_context_pack.errors import RecordingError
from adk_context_pack.replay.recorded_session import RecordedSession
from adk_context_pack.replay.stored_event import event_of_row, from_json

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
    """The keys of all sessions of a database."""
    return [dict(row) for row in select(_SESSIONS, {})]


def read_session(select: Select, key: Mapping[str, str], source: str) -> Found:
    """One session of a database, or why it cannot be read; the next one may be fine."""
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

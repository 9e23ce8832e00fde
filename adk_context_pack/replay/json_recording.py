"""Sessions in a JSON file: as `adk web` and the API export them, or as the cases of an eval set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adk_context_pack.errors import RecordingError
from adk_context_pack.replay.eval_case import session_of_case
from adk_context_pack.replay.recorded_session import RecordedSession
from adk_context_pack.replay.session_rows import Found
from adk_context_pack.replay.stored_event import event_of


class JsonRecording:
    """A JSON file with one session, a list of sessions, or an eval set, in snake case or camel case.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Found]:
        """Each session in turn.

        Raises:
            RecordingError: the file is no JSON, or holds neither sessions nor an eval set.
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
        """One, as a rule; a file of many is read at once anyway."""
        return 1


def either(data: Mapping[str, Any], snake: str, camel: str) -> Any:
    """A field in snake case or in camel case; None where it is missing."""
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

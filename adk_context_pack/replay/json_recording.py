"""Sessions in a JSON file: as `adk web` and the API export them, or as the cases of an eval set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.adk.events.event import Event
from google.genai import types
from pydantic import ValidationError

from adk_context_pack.errors import RecordingError
from adk_context_pack.replay.database_recording import Found
from adk_context_pack.replay.stored_event import RecordedSession, event_of


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


class JsonRecording:
    """A JSON file with one session, a list of sessions, or an eval set, in snake case or camel case.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

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

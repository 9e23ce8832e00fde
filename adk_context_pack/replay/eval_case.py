"""A case of an ADK eval set as the session that it tells of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.adk.events.event import Event
from google.genai import types
from pydantic import ValidationError

from adk_context_pack.errors import RecordingError
from adk_context_pack.replay.recorded_session import RecordedSession


def session_of_case(data: Mapping[str, Any], source: str) -> RecordedSession:
    """The session of one eval case.

    An eval case names the author of each step in its newer form (`invocation_events`). In the older one (`tool_uses`
    and `tool_responses`) it does not, so there all steps are one agent's, with one call after the other.

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

"""A session service that refuses what the pack added to an event gets the event as it would be without the pack.

ADK stores an event by `session_service.append_event` and ends the run with whatever that raises; no callback of any
release from 1.22.0 to 2.13.0 comes between. So the one seam is the method itself: the service in use gets an
`append_event` of its own, which calls the service's, and where that refuses an event with something of the pack's in
its state delta, takes that out, puts the full result back and calls it once more.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.adk.events.event import Event
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

from adk_context_pack._adk.releases import outermost_invocation

logger = logging.getLogger("adk_context_pack")


@dataclass(frozen=True, kw_only=True, eq=False)
class Addition:
    """One state key with a value that is there for convenience, such as a rendered view.

    Attributes:
        key: the state key.
    """

    key: str

    def keys_in(self, delta: Mapping[str, Any]) -> Collection[str]:
        """The keys of a state delta that go with it."""
        return [self.key] if self.key in delta else []

    def taken_out_of(self, part: types.Part) -> types.Part:
        """A part of the event's content as it would be without the addition; the same object where it says nothing."""
        return part

    def was_refused(self, error: Exception) -> None:
        """The event was stored without it."""
        logger.warning("the session service refused the state key %s (%s)", self.key, type(error).__name__)


# Agents that run in parallel store a few events between one and a look at it.
_NEWEST = 16


def guard(context: Any, addition: Addition) -> None:
    """Remembers what is about to be stored until it is, and sees to it that a refusal of it does not end the run.

    A service that lets no method be set on it stays as it is; so do the session services of an `AgentTool`'s child,
    whose additions are in the end stored by its parent's.

    Args:
        context: ADK's context of any kind, of the run in which the addition was written to a state delta.
        addition: what was written.
    """
    try:
        invocation = outermost_invocation(context)
        session = getattr(invocation, "session", None)
        if session is not None and (own := _guard_of(invocation.session_service)) is not None:
            own.remember(session, addition)
    except Exception:
        logger.exception("a session service stays without a guard")


def _guard_of(service: Any) -> AppendGuard | None:
    own = getattr(service.append_event, "__self__", None)
    if isinstance(own, AppendGuard):
        return own
    made = AppendGuard(service)
    try:
        service.append_event = made.append_event
    except (AttributeError, TypeError, ValueError):
        # Slots, or a pydantic model.
        return None
    return made


class AppendGuard:
    """The `append_event` of one session service, for as long as that lives.

    An event with nothing of the pack's in it goes straight through, and so does every answer and every exception that
    is not about an addition. Nothing is held of an event that has been stored, or of a session that is gone.

    Args:
        service: an ADK session service.
    """

    def __init__(self, service: Any) -> None:
        self._service = service
        self._append = service.append_event
        self._waiting: dict[tuple[str, str], tuple[Addition, weakref.ref[Any]]] = {}

    def remember(self, session: Any, addition: Addition) -> None:
        """An addition is on its way into an event of `session`."""
        key = session.id, addition.key
        waiting = self._waiting
        # A run that is cancelled never stores it; the session in its hands ends with it.
        waiting[key] = addition, weakref.ref(session, lambda ref: _forget(waiting, key, ref))

    async def append_event(self, *args: Any, **kwargs: Any) -> Any:
        """The service's own `append_event`, with its arguments and its answer."""
        if not self._waiting:
            return await self._append(*args, **kwargs)
        session, event = _arguments(*args, **kwargs)
        # The dict itself: on its way a service puts another one in its place.
        delta = event.actions.state_delta
        additions = [] if event.partial else self._taken(session.id, delta)
        if not additions:
            return await self._append(*args, **kwargs)
        try:
            return await self._append(*args, **kwargs)
        except Exception as error:
            if await self._is_stored(session, event):
                raise
            if not _take_out(additions, event, session, delta):
                raise
            refused = error
        # What this raises, the run would have met without the pack.
        answer = await self._append(*args, **kwargs)
        for addition in additions:
            addition.was_refused(refused)
        return answer

    def _taken(self, session_id: str, delta: Mapping[str, Any]) -> list[Addition]:
        found = (self._waiting.pop((session_id, key), None) for key in delta)
        # One addition may stand under several keys, as several entries.
        return [addition for addition, _ in filter(None, found)]

    async def _is_stored(self, session: Any, event: Event) -> bool:
        # A service may fail with the event stored, as by a timeout; stored once more, it would be there twice.
        try:
            found = await self._service.get_session(
                app_name=session.app_name,
                user_id=session.user_id,
                session_id=session.id,
                config=GetSessionConfig(num_recent_events=_NEWEST),
            )
        except Exception:
            logger.exception("it could not be told whether an event was stored")
            return True
        return found is None or any(_is_same(stored, event) for stored in found.events[-_NEWEST:])


def _forget(waiting: MutableMapping[tuple[str, str], Any], key: tuple[str, str], ref: weakref.ref[Any]) -> None:
    if key in waiting and waiting[key][1] is ref:
        del waiting[key]


def _arguments(session: Any, event: Event, *_: Any, **__: Any) -> tuple[Any, Event]:
    return session, event


def _is_same(stored: Event, event: Event) -> bool:
    if stored.id == event.id:
        return True
    # Services that give ids of their own.
    calls = [response.id for response in event.get_function_responses()]
    return bool(calls) and calls == [response.id for response in stored.get_function_responses()]


def _take_out(additions: Sequence[Addition], event: Event, session: Any, delta: Mapping[str, Any]) -> bool:
    try:
        content = _without(additions, event.content)
    except Exception:
        # Results may be of any type, and comparing them may fail.
        logger.exception("a full result could not be put back")
        return False
    added = {key for addition in additions for key in addition.keys_in(delta)}
    rest = {key: value for key, value in delta.items() if key not in added}
    event.actions = event.actions.model_copy(update={"state_delta": rest})
    event.content = content
    # Some services add the event to the session in hand before they store it.
    if session.events and session.events[-1] is event:
        session.events.pop()
    for key in added:
        _undo_state(session, key)
    return True


def _without(additions: Sequence[Addition], content: types.Content | None) -> types.Content | None:
    if content is None or not content.parts:
        return content
    parts = content.parts
    for addition in reversed(additions):
        parts = [addition.taken_out_of(part) for part in parts]
    return content.model_copy(update={"parts": parts})


def _undo_state(session: Any, key: str) -> None:
    # ADK writes to the session in hand at once; what stood there before is what the last event says.
    session.state.pop(key, None)
    for event in reversed(session.events):
        if key in event.actions.state_delta:
            session.state[key] = event.actions.state_delta[key]
            return

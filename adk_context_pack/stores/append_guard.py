"""Wraps two methods of the session service in use, around which ADK has no hook.

ADK stores an event with `session_service.append_event`, and whatever that raises ends the run. If the service rejects
an event that holds data of the pack's, the wrapper takes them out, puts the full result back, and tries once more.
After `delete_session` the wrapper removes what the pack kept elsewhere. `ADK_CONTEXT_PACK_WRAP=0` leaves both alone.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.adk.sessions.base_session_service import GetSessionConfig

from adk_context_pack._adk import Event, Session, types
from adk_context_pack._adk.releases import outermost_invocation
from adk_context_pack.errors import logged, logger
from adk_context_pack.stores.byte_cache import Theirs, drop_everywhere, owner_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Addition:
    """One state key that the pack wrote for convenience, such as a rendered view."""

    key: str

    def keys_in(self, delta: Mapping[str, Any]) -> Collection[str]:
        """Returns the keys of a state delta that belong to the addition."""
        return [self.key] if self.key in delta else []

    def taken_out_of(self, part: types.Part) -> types.Part:
        """Returns a part of the event's content without the addition. The same object if it holds nothing of it."""
        return part

    def was_refused(self, error: Exception) -> None:
        """Reports that the event was stored without the addition."""
        logger.warning("the session service refused the state key %s (%s)", self.key, type(error).__name__)


def guard(context: Any, addition: Addition) -> None:
    """Remembers an addition until it is stored, and keeps a refusal of it from ending the run."""
    # The additions of an `AgentTool`'s child are watched at its parent's service, which stores them in the end.
    with logged("a session service stays without a guard", type_only=True):
        session = getattr(outermost_invocation(context), "session", None)
        if session is not None and (own := watched(context)) is not None:
            own.remember(session, addition)


def watched(context: Any) -> AppendGuard | None:
    """Returns the guard of the session service behind ADK's context of any kind, or None if it takes no guard."""
    if os.environ.get("ADK_CONTEXT_PACK_WRAP", "").strip().lower() in {"0", "false", "no", "off"}:
        return None
    invocation = outermost_invocation(context)
    service = invocation.session_service
    made = getattr(getattr(service, "delete_session", None), "__self__", None)
    if not isinstance(made, AppendGuard):
        try:
            made = AppendGuard(service)
            service.delete_session, service.__getstate__ = made.delete_session, made.state_of_a_copy
        except (AttributeError, TypeError, ValueError):
            # Slots, or a pydantic model.
            return None
    made.artifact_service = getattr(invocation, "artifact_service", None)
    return made


class AppendGuard:
    """Wraps `append_event` and `delete_session` of one session service for as long as the service lives.

    An event that holds nothing of the pack's passes unchanged, and so does every answer and every exception that is
    not about an addition. The guard holds nothing of an event that is stored, or of a session that is gone. A copy of
    the service (`copy.copy`, `copy.deepcopy`, pickle) has the plain methods, until the pack adds something there too.
    """

    def __init__(self, service: Any) -> None:
        self.session_service = service
        self._append: Any = None
        self._delete = service.delete_session
        self.artifact_service: Any = None
        self._waiting: dict[tuple[str, ...], tuple[Addition, weakref.ref[Any]]] = {}

    def remember(self, session: Any, addition: Addition) -> None:
        """Notes that an addition is on its way into an event of `session`."""
        if self._append is None:
            self._append, self.session_service.append_event = self.session_service.append_event, self.append_event
        key, waiting = (*owner_of(session), addition.key), self._waiting
        # A cancelled run never stores its event. Its session object ends with it.

        def forget(gone: Any) -> None:
            if key in waiting and waiting[key][1] is gone:
                del waiting[key]

        waiting[key] = addition, weakref.ref(session, forget)

    async def append_event(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the service's own `append_event` with its arguments, and returns its answer."""
        if not self._waiting:
            return await self._append(*args, **kwargs)
        named = dict(zip(("session", "event"), args, strict=False)) | kwargs
        session, event = named["session"], named["event"]
        # The dict itself, since a service may put another one in its place.
        delta = event.actions.state_delta
        taken = () if event.partial else [self._waiting.pop((*owner_of(session), key), None) for key in delta]
        # An addition may have written several keys of the delta.
        additions = [addition for addition, _ in filter(None, taken)]
        try:
            return await self._append(*args, **kwargs)
        except Exception as error:
            may_be_ours = additions and not await self._is_stored(session, event)
            if not may_be_ours or not _take_out(additions, event, session, delta):
                raise
            refused = error
        # The run would get this exception without the pack as well.
        answer = await self._append(*args, **kwargs)
        for addition in additions:
            addition.was_refused(refused)
        return answer

    async def delete_session(self, app_name: str, user_id: str, session_id: str) -> Any:
        """Calls the service's own `delete_session`, and then removes what the pack kept of the session elsewhere."""
        from adk_context_pack.stores.payload_store import forget_stored  # noqa: PLC0415 - sessions are rarely deleted

        session, named = None, {"app_name": app_name, "user_id": user_id, "session_id": session_id}
        with logged("a session could not be read before it is deleted", type_only=True):
            session = await self.session_service.get_session(**named, config=GetSessionConfig(num_recent_events=1))
        answer = await self._delete(**named)
        session = session or Session(app_name=app_name, user_id=user_id, id=session_id)
        if left := await forget_stored(session, self.artifact_service):
            logger.warning("results of a deleted session are still kept: %s", "; ".join(left))
        drop_everywhere(Theirs(app_name, user_id, frozenset([session_id]), is_all=False))
        return answer

    def state_of_a_copy(self) -> Any:
        """Returns what a copy of the service is made from: its state without this guard."""
        kind: Any = type(self.session_service)
        state = kind.__getstate__(self.session_service)
        named, *slots = state if isinstance(state, tuple) else (state,)
        if not isinstance(named, dict):
            return state
        own = {name: named[name] for name in named if name not in ("append_event", "delete_session", "__getstate__")}
        return (own, *slots) if slots else own

    async def _is_stored(self, session: Any, event: Event) -> bool:
        # A service may store an event and then fail, for instance by a timeout. A second try would store it twice.
        named = {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}
        found = None
        with logged("it is unknown whether an event was stored", type_only=True):
            # Agents that run in parallel may store a few events before this look at the newest ones.
            found = await self.session_service.get_session(**named, config=GetSessionConfig(num_recent_events=16))
        # Some services give events ids of their own.
        calls = [response.id for response in event.get_function_responses()] or [event.id]
        events = [] if found is None else found.events[-16:]
        same = [calls == [response.id for response in one.get_function_responses()] for one in events]
        return found is None or any(same) or event.id in [one.id for one in events]


def _take_out(additions: Sequence[Addition], event: Event, session: Any, delta: Mapping[str, Any]) -> bool:
    # Results may be of any type, and comparing them may fail.
    with logged("a full result could not be put back", type_only=True):
        content = event.content
        if content is not None and content.parts:
            parts = content.parts
            for addition in reversed(additions):
                parts = [addition.taken_out_of(part) for part in parts]
            content = content.model_copy(update={"parts": parts})
        added = {key for addition in additions for key in addition.keys_in(delta)}
        rest = {key: value for key, value in delta.items() if key not in added}
        event.actions = event.actions.model_copy(update={"state_delta": rest})
        event.content = content
        # Some services add the event to the session object before they store it.
        if session.events and session.events[-1] is event:
            session.events.pop()
        # ADK writes to the session object at once. The former value is what the last event with the key says.
        for key in added:
            session.state.pop(key, None)
        for former in session.events:
            session.state.update({key: value for key, value in former.actions.state_delta.items() if key in added})
        return True
    return False

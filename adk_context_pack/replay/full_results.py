"""Puts full results back in the place of those that the pack had made smaller when a session was recorded."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from google.adk.events.event import Event
from google.genai import types

from adk_context_pack._adk.known_tools import kind_of
from adk_context_pack._json import json_text
from adk_context_pack.errors import ContextPackError
from adk_context_pack.replay.stored_event import RecordedSession
from adk_context_pack.stores.entries import is_entry
from adk_context_pack.stores.handles import HANDLE_LENGTH, StoredResult, is_result_key, stored_result
from adk_context_pack.stores.opening import resolve
from adk_context_pack.tables.stub_form import HANDLE, LIMITS, PREVIEW, stored_text

_WORD = re.compile(rf"(?<![0-9A-Za-z])[0-9a-z]{{{HANDLE_LENGTH}}}(?![0-9A-Za-z])")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Context:
    """Gives a store what it asks ADK's context for: the session, and the artifact service."""

    session: RecordedSession
    artifact_service: Any


@dataclass(frozen=True, kw_only=True)
class FullResults:
    """Opens the full results behind a recorded session, in its state, its artifacts or a store of the user's own.

    Args:
        artifact_service: ADK's artifact service of the app that was recorded, or None.
    """

    artifact_service: Any = None

    def of(self, session: RecordedSession) -> RecordedSession:
        """Returns the session with full results, as far as they can be opened. The recorded one is not changed.

        Its state no longer holds the results that are back in its events. Its `restored` and `still_capped` say how
        many they are, and which events hold a result that cannot be opened in full.
        """
        if not any(map(_has_traces, session.events)):
            return session
        # Stores are asynchronous, and the caller may run within an event loop.
        with ThreadPoolExecutor(max_workers=1) as worker:
            return worker.submit(asyncio.run, _Restoring(session, self.artifact_service).session()).result()


class _Restoring:
    """Restores one session."""

    def __init__(self, session: RecordedSession, artifact_service: Any) -> None:
        self._recorded = session
        self._artifacts = artifact_service
        self._state = session.first_state()
        self._stored = {found.handle: found for key in session.state if (found := stored_result(key))}
        self._opened: set[str] = set()
        self._restored = 0
        self._capped: list[int] = []

    async def session(self) -> RecordedSession:
        """Returns the restored session."""
        events = [await self._event(place, event) for place, event in enumerate(self._recorded.events)]
        return replace(
            self._recorded,
            state=_without(self._recorded.state, self._opened),
            events=[_forgetting(event, self._opened) for event in events],
            capped_events=self._recorded.events if self._restored else [],
            restored=self._restored,
            still_capped=tuple(self._capped),
        )

    async def _event(self, place: int, event: Event) -> Event:
        # An entry that has expired since is still in the event that brought it.
        delta = event.actions.state_delta
        self._state |= {key: value for key, value in delta.items() if not is_entry(value, "expired")}
        self._stored |= {found.handle: found for key in delta if (found := stored_result(key))}
        parts = (event.content.parts if event.content else None) or []
        if event.content is None or not event.get_function_responses():
            return event
        new = [await self._part(place, part, event) for part in parts]
        if all(one is other for one, other in zip(new, parts, strict=True)):
            return event
        return event.model_copy(update={"content": event.content.model_copy(update={"parts": new})})

    async def _part(self, place: int, part: types.Part, event: Event) -> types.Part:
        response = part.function_response
        if response is None or not response.response or kind_of(None, response.name) == "read_back":
            return part
        found = list(self._behind(response, event))
        if not found and LIMITS not in response.response and PREVIEW not in response.response:
            return part
        try:
            opened = {each.handle: await self._open(each) for each in found}
            body = self._full(response.response, opened) if opened else None
        except ContextPackError:
            body = None
        if body is None:
            self._capped.append(place)
            return part
        self._restored += 1
        # Beside a table, a stub may hold previews of texts that are parts of the same result.
        shown = _WORD.findall(json_text(response.response))
        self._opened.update((*(each.handle for each in found), *(each for each in shown if each in self._stored)))
        return part.model_copy(update={"function_response": response.model_copy(update={"response": body})})

    def _behind(self, response: types.FunctionResponse, event: Event) -> Iterator[StoredResult]:
        """Yields the stored results of the tool that a response is made of."""
        shown = response.response or {}
        text = str(shown.get(HANDLE, "")) if LIMITS in shown else json_text(shown)
        found = [self._stored.get(handle) for handle in dict.fromkeys(_WORD.findall(text))]
        named = [each for each in found if each is not None and each.tool_name == response.name]
        if not named and LIMITS in shown:
            # A stub without room for a handle. Its event has brought it, with a key that no other response names.
            others = json_text([each.response for each in event.get_function_responses()])
            brought = [each for key in event.actions.state_delta if (each := stored_result(key))]
            same = [each for each in brought if each.tool_name == response.name and each.kind == "rows"]
            left = [each for each in same if each.handle not in others]
            named = left if len(left) == 1 else []
        yield from named

    async def _open(self, found: StoredResult) -> Any:
        context = _Context(session=replace(self._recorded, state=self._state), artifact_service=self._artifacts)
        return await resolve(self._state.get(found.key, self._recorded.state.get(found.key)), context)

    def _full(self, response: Mapping[str, Any], opened: Mapping[str, Any]) -> dict[str, Any] | None:
        """Returns the full response, or None if it is not clear what the stored results were part of."""
        if LIMITS in response:
            # The rows were capped first, so that this result is the whole.
            (whole,) = opened.values()
            return whole if isinstance(whole, dict) else {"result": whole}
        shown = stored_text(response.get(PREVIEW))
        whole = opened.get(shown.handle) if shown else None
        if isinstance(whole, dict):
            return whole
        full, used = _exchanged(response, opened)
        return full if used == len(opened) else None


def _exchanged(value: Any, opened: Mapping[str, Any]) -> tuple[Any, int]:
    """Returns a value with stored parts in the place of their previews, and their number."""
    if isinstance(value, str):
        stored = stored_text(value)
        return (opened[stored.handle], 1) if stored and stored.handle in opened else (value, 0)
    if isinstance(value, Mapping):
        items = {key: _exchanged(item, opened) for key, item in value.items()}
        return {key: item for key, (item, _) in items.items()}, sum(used for _, used in items.values())
    if isinstance(value, list):
        found = [_exchanged(item, opened) for item in value]
        return [item for item, _ in found], sum(used for _, used in found)
    return value, 0


def _has_traces(event: Event) -> bool:
    responses = (each.response or {} for each in event.get_function_responses())
    return any(LIMITS in each or PREVIEW in each for each in responses) or any(
        map(is_result_key, event.actions.state_delta)
    )


def _without(state: Mapping[str, Any], handles: set[str]) -> dict[str, Any]:
    return {key: value for key, value in state.items() if key[-HANDLE_LENGTH:] not in handles}


def _forgetting(event: Event, handles: set[str]) -> Event:
    delta = event.actions.state_delta
    left = _without(delta, handles)
    if len(left) == len(delta):
        return event
    return event.model_copy(update={"actions": event.actions.model_copy(update={"state_delta": left})})

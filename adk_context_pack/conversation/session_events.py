"""Reads what a session's events say, each event once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from google.adk.events.event import Event

from adk_context_pack.conversation.memos import GrowingCache
from adk_context_pack.conversation.model_call import ModelCall

Value = TypeVar("Value")
_NAME = "events"


def reading_events(
    call: ModelCall, name: Hashable, make: Callable[[], Value], *, holds_events: bool = False
) -> AbstractContextManager[tuple[Value, Sequence[Event]]]:
    """Returns a context with the value under `name` and the events of the session that it has yet to take in.

        with reading_events(call, "authors", set) as (authors, new):
            authors.update(event.author for event in new)

    Args:
        call: the model call, whose `session_memo` keeps the value.
        name: the same name always goes with the same `make` and the same body.
        make: makes the value for a session without events.
        holds_events: whether the value holds events. The call's `run_memo` keeps it then, since the next run has other
            objects.
    """
    # Several passes read the same events before one model call. One look at them is enough.
    slot = "run events" if holds_events else "session events"
    looked: tuple[GrowingCache[Event], int] | None = call.memo.get(slot)
    if looked is None or looked[1] != len(call.events):
        call.memo[slot] = looked = _cache(call, holds_events=holds_events), len(call.events)
    return looked[0].growing(name, make, call.events)


def _cache(call: ModelCall, *, holds_events: bool) -> GrowingCache[Event]:
    events = call.events
    memo = call.run_memo if holds_events else call.session_memo
    cache: GrowingCache[Event] | None = memo.get(_NAME)
    if cache is None:
        memo[_NAME] = cache = GrowingCache()
    # Some services count ids from one in each session, and a session may be deleted and created again.
    identify = _Same if holds_events else lambda event: (event.id, event.timestamp) if event.id else object()
    # ADK only appends to a session's events, but a service may load no more than the newest of them. Comparing both
    # ends tells this without going through all of them.
    if cache.keys:
        count, first, last = cache.keys
        if len(events) < count or first != identify(events[0]) or last != identify(events[count - 1]):
            cache.forget()
    cache.keys = (len(events), identify(events[0]), identify(events[-1])) if events else ()
    return cache


class _Same:
    """Equal to what holds the same object."""

    __slots__ = ("_event",)

    def __init__(self, event: Event) -> None:
        self._event = event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._event is other._event

    __hash__ = None  # type: ignore[assignment]

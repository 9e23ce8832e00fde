"""What a session's events say, read once: later calls read only the events that came since."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from google.adk.events.event import Event

from adk_context_pack.conversation.model_call import ModelCall

State = TypeVar("State")
_EVENT_BYTES = 50


class _Read(NamedTuple):
    number: int
    first: object
    last: object
    state: Any

    @property
    def bytes(self) -> int:
        """About what it holds in memory."""
        return self.number * _EVENT_BYTES


def fold_events(
    call: ModelCall,
    name: Hashable,
    make: Callable[[], State],
    read: Callable[[State, Iterable[Event]], None],
    *,
    holds_events: bool = False,
) -> State:
    """What `read` made of all events of the session behind `call`.

    Args:
        call: the model call; what was read is kept in its `session_memo`.
        name: the same name always goes with the same `make` and `read`.
        make: what there is before the first event.
        read: takes events in, oldest first; the state is its own to change, and nobody else's.
        holds_events: whether the state holds events. It is kept in the call's `run_memo` then, since the next run has
            other objects.
    """
    events = call.events
    memo: dict[Hashable, Any]
    mark: Callable[[Event], object]
    memo, mark = (call.run_memo, _Identity) if holds_events else (call.session_memo, _mark)
    # Taken out until all is read: a state that took in a part of the events would take it in again.
    done = memo.pop(name, None)
    # ADK only adds to a session's events, but it may load no more than the newest of them.
    if done is None or not _begins(events, done, mark):
        done = _Read(0, None, None, make())
    if len(events) > done.number:
        read(done.state, events[done.number :] if done.number else events)
        done = _Read(len(events), mark(events[0]), mark(events[-1]), done.state)
    memo[name] = done
    return done.state  # type: ignore[no-any-return]


def _begins(events: Sequence[Event], done: _Read, mark: Callable[[Event], object]) -> bool:
    """Whether `events` begins with those that were read."""
    if len(events) < done.number:
        return False
    return not done.number or (done.first == mark(events[0]) and done.last == mark(events[done.number - 1]))


class _Identity:
    def __init__(self, event: Event) -> None:
        self._event = event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self._event is other._event

    __hash__ = None  # type: ignore[assignment]


def _mark(event: Event) -> object:
    # Some services count ids anew in each session, and a session may be deleted and made again.
    return (event.id, event.timestamp) if event.id else object()

"""What a session's events say, read once: later calls of a run read only the events that came since."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple, TypeVar

from google.adk.events.event import Event

from adk_context_pack.model_call import ModelCall

State = TypeVar("State")


class _Read(NamedTuple):
    number: int
    last: Event | None
    state: Any


def fold_events(
    call: ModelCall, name: Hashable, make: Callable[[], State], read: Callable[[State, Iterable[Event]], None]
) -> State:
    """What `read` made of all events of the session behind `call`.

    Args:
        call: the model call; what was read is kept in its `run_memo`.
        name: the same name always goes with the same `make` and `read`.
        make: what there is before the first event.
        read: takes events in, oldest first; the state is its own to change, and nobody else's.
    """
    events = call.events
    done = call.run_memo.get(name)
    # ADK only adds to a session's events; a session that was loaded again has other objects.
    if done is None or len(events) < done.number or (done.number and events[done.number - 1] is not done.last):
        done = _Read(0, None, make())
    if len(events) > done.number:
        read(done.state, events[done.number :] if done.number else events)
        done = _Read(len(events), events[-1], done.state)
    call.run_memo[name] = done
    return done.state  # type: ignore[no-any-return]

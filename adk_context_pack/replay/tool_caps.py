"""Tool results as they would have been, had the pack been there when they were made."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from google.adk.events.event import Event

from adk_context_pack.pack_settings import PackSettings
from adk_context_pack.tools.read_back import READ_BACK
from adk_context_pack.tools.result_reducer import ResultReducer
from adk_context_pack.tools.shadow import UnkeptStore

SettingsFor = Callable[[str], PackSettings | None]
"""From an agent's name to the settings with which the plugin serves it, or None for one that it leaves alone."""


def reducer_of(settings: PackSettings) -> ResultReducer:
    """Returns what reduces tool results with these settings, whose store must not wait (`UnkeptStore` never does)."""
    offered = READ_BACK if settings.read_back else frozenset[str]()
    return ResultReducer(passes=settings.reducing_passes, offered=offered, tools=settings.tools)


def capped(event: Event, reducer: ResultReducer) -> Event:
    """Returns a recorded event with its results reduced as in a run. The same event if none is."""
    if not event.get_function_responses():
        return event
    content = _finished(reducer.reduced_content(event, None))
    return event if content is None else event.model_copy(update={"content": content})


def _finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    # Capping waits for its store alone, and this one answers at once.
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    finally:
        coroutine.close()
    raise RuntimeError("capping waited for something that is not its store")


class CappedEvents:
    """The events of one session with capped results. An event without one is the recorded event itself.

    Attributes:
        events: the events, capped.
    """

    def __init__(self, events: Sequence[Event], settings_for: SettingsFor) -> None:
        self._store = UnkeptStore()
        self._reducers: dict[str, ResultReducer | None] = {}
        self._settings_for = settings_for
        self._keys: list[tuple[int, str]] = []
        self.events = [self._capped(place, event) for place, event in enumerate(events)]
        changed = [place for place, event in enumerate(events) if self.events[place] is not event]
        self._first = changed[0] if changed else len(events)

    def _capped(self, place: int, event: Event) -> Event:
        if event.author not in self._reducers:
            settings = self._settings_for(event.author)
            self._reducers[event.author] = None if settings is None else reducer_of(settings.stored_in(self._store))
        reducer = self._reducers[event.author]
        before = len(self._store.keys)
        found = event if reducer is None else capped(event, reducer)
        self._keys += [(place, key) for key in self._store.keys[before:]]
        return found

    def keys(self, index: int) -> dict[str, str]:
        """Returns the state keys of the full results in the events before the one at `index`."""
        return {key: "" for place, key in self._keys if place < index}

    def reach(self, index: int) -> bool:
        """Returns whether a capped event comes before the event at `index`."""
        return self._first < index

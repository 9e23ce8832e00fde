"""Tool results as they would have been, had the pack been there when they were made."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.events.event import Event
from google.genai import types

from adk_context_pack._adk.requests import contents_for
from adk_context_pack.stores.handles import HANDLE_LENGTH
from adk_context_pack.stores.payload_store import PayloadStore
from adk_context_pack.tools.presets import default_result_passes
from adk_context_pack.tools.read_back import READ_BACK
from adk_context_pack.tools.result_pass import ResultPass
from adk_context_pack.tools.result_reducer import ResultReducer


@dataclass(frozen=True, kw_only=True)
class _NoStore(PayloadStore):
    """Keeps nothing: a recording is only read."""

    async def put(self, *_: Any, **__: Any) -> str:
        return "0" * HANDLE_LENGTH


REPLAYED = _NoStore()
"""The store of passes that run over a recording."""


@dataclass(frozen=True, kw_only=True)
class ToolCaps:
    """Reduces the results of recorded events, with the runner and the passes that reduce them in a run.

    Args:
        passes: the passes over each tool result, in order; by default those of the plugin. They store nothing if their
            `store` is `REPLAYED`.
    """

    passes: tuple[ResultPass, ...] = field(default_factory=lambda: default_result_passes(store=REPLAYED))

    @classmethod
    def of(cls, *, max_rows: int, max_payload_tokens: int) -> ToolCaps:
        """Returns the plugin's passes with these limits.

        Raises:
            SettingError: a limit that cannot work.
        """
        return cls(passes=default_result_passes(max_rows=max_rows, max_tokens=max_payload_tokens, store=REPLAYED))

    def apply(self, event: Event) -> Event:
        """Returns the event with its results capped; the same event where none is."""
        if not event.get_function_responses():
            return event
        reducer = ResultReducer(passes=self.passes, offered=READ_BACK)
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
    """The events of one session with capped results; an event without one is the recorded event itself.

    Args:
        events: the recorded events.
        caps: how results are capped; None caps none.

    Attributes:
        events: the events, capped.
    """

    def __init__(self, events: Sequence[Event], caps: ToolCaps | None) -> None:
        self.events = [caps.apply(event) for event in events] if caps else list(events)
        changed = [place for place, event in enumerate(events) if self.events[place] is not event]
        self._first = changed[0] if changed else len(events)
        self._authors = [(place, events[place].author) for place in changed]
        self._bodies = {
            id(old.function_response.response): new
            for place in changed
            for old, new in zip(_parts(events[place]), _parts(self.events[place]), strict=True)
            if new is not old and old.function_response
        }
        self._exchangeable: bool | None = None

    def reach(self, index: int) -> bool:
        """Returns whether a capped event comes before the event at `index`."""
        return self._first < index

    def contents_for(self, index: int, event: Event, built: list[types.Content]) -> list[types.Content]:
        """Builds the request for `event` from the capped events before it, as ADK does.

        Args:
            index: the number of `event`.
            event: the answer of the model call.
            built: what ADK has built from the recorded events.
        """
        # ADK renders the results of other agents into text, so those it has to build once more. The agent's own it
        # hands over, from 2.4.0 on as the session's objects: they can be exchanged, for a tenth of the time.
        if self._exchangeable is False or any(
            place < index and author != event.author for place, author in self._authors
        ):
            return contents_for(event, self.events[:index])
        exchanged = [self._exchanged(content) for content in built]
        if self._exchangeable is None:
            rebuilt = contents_for(event, self.events[:index])
            self._exchangeable = rebuilt == exchanged
            return rebuilt
        return exchanged

    def _exchanged(self, content: types.Content) -> types.Content:
        parts = content.parts or []
        if not any(part.function_response for part in parts):
            return content
        new = [self._part(part) for part in parts]
        if all(one is other for one, other in zip(new, parts, strict=True)):
            return content
        return content.model_copy(update={"parts": new})

    def _part(self, part: types.Part) -> types.Part:
        response = part.function_response
        found = self._bodies.get(id(response.response)) if response else None
        if found is None or response is None or found.function_response is None:
            return part
        body = {"response": found.function_response.response}
        return part.model_copy(update={"function_response": response.model_copy(update=body)})


def _parts(event: Event) -> list[types.Part]:
    return (event.content.parts if event.content else None) or []

"""A session's events with their tool results capped, and the contents that ADK would build from them."""

from __future__ import annotations

from collections.abc import Sequence

from google.adk.events.event import Event
from google.genai import types

from adk_context_pack._adk.requests import contents_for
from adk_context_pack.replay.tool_caps import ToolCaps


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
        """Whether a capped event stands before the event number `index`."""
        return self._first < index

    def contents_for(self, index: int, event: Event, built: list[types.Content]) -> list[types.Content]:
        """What ADK builds for `event` from the capped events before it.

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

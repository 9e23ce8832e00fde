"""Which tool result answers which call.

By id where there is one; where ADK has taken its own ids away (Gemini), by position and name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from google.genai import types

_Key = str | tuple[str | None]
"""A call's id, or its name alone where it has none."""


class Used(NamedTuple):
    """What is known of a call."""

    name: str | None
    id: str | None


class Place(NamedTuple):
    """Where a part stands: the index of its content, and its own in there."""

    content: int
    part: int


@dataclass(slots=True)
class Pairing:
    """Which result answers which call, in contents that grow; holds nothing of the contents themselves.

    A result goes to the newest open call with its id, so that a reused id finds the call it stands behind; without an
    id to the first open call of its name in the newest content that has one, else to the oldest of all.

    Attributes:
        call_of: the place of each result's call.
        calls: every call, in order.
        results: the tool's name of every result, in order, orphans included.
        orphans: results without a call in these contents.
        tooling: indexes of the contents that hold calls or results.
        answering: how many results a content holds, by its index.
        reach: for each content, the index of the last one that holds a result of its calls, or its own.
    """

    call_of: dict[Place, Place] = field(default_factory=dict)
    calls: dict[Place, Used] = field(default_factory=dict)
    results: dict[Place, str | None] = field(default_factory=dict)
    orphans: list[Place] = field(default_factory=list)
    tooling: set[int] = field(default_factory=set)
    answering: dict[int, int] = field(default_factory=dict)
    reach: list[int] = field(default_factory=list)
    _open: dict[_Key, list[Place]] = field(default_factory=dict)

    def grow(self, contents: Sequence[types.Content]) -> Pairing:
        """Takes in what `contents` has more than when this was last asked, and gives itself back."""
        start = len(self.reach)
        self.reach.extend(range(start, len(contents)))
        for index in range(start, len(contents)):
            for number, part in enumerate(contents[index].parts or ()):
                if (call := part.function_call) is not None:
                    place = Place(index, number)
                    self.calls[place] = Used(call.name, call.id)
                    self.tooling.add(index)
                    self._open.setdefault(call.id or (call.name,), []).append(place)
                elif (result := part.function_response) is not None:
                    self._answer(Place(index, number), result)
        return self

    @property
    def unanswered(self) -> set[Place]:
        """Calls without a result in these contents: they wait, or their result is lost."""
        return {place for places in self._open.values() for place in places}

    def _answer(self, place: Place, result: types.FunctionResponse) -> None:
        self.results[place] = result.name
        self.tooling.add(place.content)
        self.answering[place.content] = self.answering.get(place.content, 0) + 1
        by_name = (result.name,)
        key: _Key = result.id or by_name
        if key not in self._open:
            # A call without an id may be answered with one: ADK strips its own ids, and tools may add theirs.
            key = by_name
        waiting = self._open.get(key)
        if not waiting:
            self.orphans.append(place)
            return
        call = waiting.pop(_newest(waiting) if len(waiting) > 1 else 0)
        if not waiting:
            del self._open[key]
        self.call_of[place] = call
        self.reach[call.content] = max(self.reach[call.content], place.content)


def part_at(contents: Sequence[types.Content], place: Place) -> types.Part:
    """The part that stands at a place."""
    return (contents[place.content].parts or [])[place.part]


def pair(contents: Sequence[types.Content]) -> Pairing:
    """Ties every result among `contents` to its call."""
    return Pairing().grow(contents)


def _newest(waiting: Sequence[Place]) -> int:
    newest = waiting[-1].content
    return next(number for number, call in enumerate(waiting) if call.content == newest)

"""Pure helpers over a request's contents: which result answers which call, and what must move together.

Pairing is by id where there is one; where ADK has taken its own ids away (Gemini), by position and name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from google.genai import types

from adk_context_pack.history.voices import Voice, Voices

_STRONGEST: tuple[Voice, ...] = ("fixed", "user")
"""What makes a group of its own kind, wherever in the group it stands."""


Kind = Literal["user", "relay", "model", "fixed", "exchange"]


class Place(NamedTuple):
    """Where a part stands: the index of its content, and its own in there."""

    content: int
    part: int


@dataclass(frozen=True, slots=True)
class Pairing:
    """Which result answers which call.

    Attributes:
        call_of: the place of each result's call.
        calls: every call, in order.
        results: every result, in order, orphans included.
        unanswered: calls without a result in these contents: they wait, or their result is lost.
        orphans: results without a call in these contents.
    """

    call_of: dict[Place, Place] = field(default_factory=dict)
    calls: dict[Place, types.FunctionCall] = field(default_factory=dict)
    results: dict[Place, types.FunctionResponse] = field(default_factory=dict)
    unanswered: set[Place] = field(default_factory=set)
    orphans: list[Place] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Group:
    """The smallest run of contents that may leave a request together.

    Attributes:
        start: index of the first content.
        stop: index after the last one.
        kind: who speaks; "exchange" for calls with their results and for orphaned results. An exchange with a user's
            message or a fixed content within (a result that came late) counts as that one.
        open: whether a call in it has no result here.
    """

    start: int
    stop: int
    kind: Kind
    open: bool = False


def pair(contents: Sequence[types.Content]) -> Pairing:
    """Ties every result among `contents` to its call.

    A result goes to the newest open call with its id, so that a reused id finds the call it stands behind; without an
    id to the first open call of its name in the newest content that has one, else to the oldest of all.
    """
    pairing = Pairing()
    waiting: dict[str, list[Place]] = {}
    for index, content in enumerate(contents):
        for number, part in enumerate(content.parts or ()):
            if (call := part.function_call) is not None:
                place = Place(index, number)
                pairing.calls[place] = call
                pairing.unanswered.add(place)
                waiting.setdefault(_key(call), []).append(place)
            elif (result := part.function_response) is not None:
                _answer(pairing, waiting, Place(index, number), result)
    return pairing


def _answer(pairing: Pairing, waiting: dict[str, list[Place]], place: Place, result: types.FunctionResponse) -> None:
    pairing.results[place] = result
    # A call without an id may be answered with one: ADK strips its own ids, and tools may add theirs.
    found = waiting.get(_key(result)) or waiting.get(f"name {result.name}")
    if not found:
        pairing.orphans.append(place)
        return
    newest = found[-1].content
    position = next(number for number, call in enumerate(found) if call.content == newest)
    call = found.pop(position)
    pairing.call_of[place] = call
    pairing.unanswered.discard(call)


def _key(part: types.FunctionCall | types.FunctionResponse) -> str:
    return f"id {part.id}" if part.id else f"name {part.name}"


def model_calls(contents: Sequence[types.Content], voices: Voices) -> list[int]:
    """The indexes before which the agent's model was called: each of its turns answers the contents before it."""
    return [
        index
        for index, content in enumerate(contents)
        if content.role == "model" and (not voices.summaries or voices.voice(content) == "model")
    ]


def user_turns(contents: Sequence[types.Content], pairing: Pairing, voices: Voices) -> list[int]:
    """The indexes at which a user's turn starts; relays and function responses start none."""
    answered = {place.content for place in pairing.results}
    return [
        index
        for index, content in enumerate(contents)
        if content.role == "user" and index not in answered and voices.voice(content) == "user"
    ]


def group(contents: Sequence[types.Content], pairing: Pairing, voices: Voices) -> list[Group]:
    """`contents` as groups that cover all of them, in order."""
    reach = list(range(len(contents)))
    for result, call in pairing.call_of.items():
        reach[call.content] = max(reach[call.content], result.content)
    tooling = {place.content for place in pairing.calls} | {place.content for place in pairing.results}
    waiting = {place.content for place in pairing.unanswered}
    groups = []
    start = 0
    while start < len(contents):
        stop, last = start + 1, reach[start]
        while stop <= last:
            last = max(last, reach[stop])
            stop += 1
        inside = range(start, stop)
        spoken = {voices.voice(contents[index]) for index in inside if index not in tooling}
        if stop == start + 1 and spoken:
            kind: Kind = spoken.pop()
        else:
            kind = next((voice for voice in _STRONGEST if voice in spoken), "exchange")
        groups.append(Group(start, stop, kind, not waiting.isdisjoint(inside)))
        start = stop
    return groups

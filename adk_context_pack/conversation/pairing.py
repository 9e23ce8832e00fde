"""Pairs tool results with their calls.

Ids decide if there are any. If ADK has removed its own ids (Gemini), position and name decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.known_tools import APPROVALS, ToolKind, active_skills, kind_in, kind_of
from adk_context_pack.conversation.known_contents import KnownContents, payload_hash, read_events, said_in
from adk_context_pack.conversation.model_call import ModelCall

_Key = str | tuple[str | None]
"""A call's id, or its name alone if it has none."""


class Repeats(list[float]):
    """Holds for each result the newest one before it that the same call gave, -1 if it was read back, or infinity."""

    def __init__(self) -> None:
        super().__init__()
        self._newest: dict[tuple[str | None, int], int] = {}

    def see(self, call: types.Part | None) -> None:
        """Takes in the call of the next result."""
        name, args = said_in(call)[1::2] if call else ("", None)
        key, is_read = (name, payload_hash(args)), kind_of(None, name) == "read_back" and not (args or {}).get("sql")
        self.append(-1 if is_read else self._newest.get(key, inf))
        self._newest[key] = len(self) - 1


class Used(NamedTuple):
    """Holds what is known of a call."""

    name: str | None
    id: str | None


class Place(NamedTuple):
    """Locates a part: the index of its content, and its own index there."""

    content: int
    part: int


@dataclass(slots=True)
class Pairing:
    """Pairs results with calls in contents that grow. It holds nothing of the contents themselves.

    A result with an id answers the newest open call with that id, so that a reused id finds the call right before it.
    A result without one answers the first open call of its name in the newest content that has such a call.

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
        """Takes in the contents that follow those it knows, and returns itself."""
        start = len(self.reach)
        self.reach.extend(range(start, start + len(contents)))
        calls, is_open = self.calls, self._open
        for index, content in enumerate(contents, start):
            for number, part in enumerate(content.parts or ()):
                kind, name, call_id, _ = said_in(part)
                if kind == "call":
                    place = Place(index, number)
                    calls[place] = Used(name, call_id)
                    self.tooling.add(index)
                    is_open.setdefault(call_id or (name,), []).append(place)
                elif kind == "result":
                    self._answer(Place(index, number), name, call_id)
        return self

    @property
    def unanswered(self) -> set[Place]:
        """The calls without a result in these contents: they wait, or their result is lost."""
        return {place for places in self._open.values() for place in places}

    def _answer(self, place: Place, name: str | None, call_id: str | None) -> None:
        index = place.content
        self.results[place] = name
        self.tooling.add(index)
        self.answering[index] = self.answering.get(index, 0) + 1
        # A call without an id may be answered with one: ADK strips its own ids, and tools may add theirs.
        key: _Key = call_id if call_id in self._open else (name,)
        if (waiting := self._open.get(key)) is None:
            self.orphans.append(place)
            return
        newest = waiting[-1].content
        call = waiting.pop(next(number for number, each in enumerate(waiting) if each.content == newest))
        if not waiting:
            del self._open[key]
        self.call_of[place] = call
        self.reach[call.content] = max(self.reach[call.content], index)


def part_at(contents: Sequence[types.Content], place: Place) -> types.Part:
    """Returns the part at a place."""
    return (contents[place.content].parts or [])[place.part]


def repeats_of(pairing: Pairing, known: KnownContents) -> Repeats:
    """Returns which results were read again, as far as it is known from earlier calls and for those that are new."""

    def take(repeats: Repeats, places: Sequence[Place]) -> None:
        for place in places:
            asked = pairing.call_of.get(place)
            repeats.see(part_at(known.contents, asked) if asked else None)

    return known.cache.grow(("repeats",), Repeats, list(pairing.results), take)


def waiting_calls(pairing: Pairing, call: ModelCall) -> set[Place]:
    """Returns the places of calls that nothing may be taken from: unanswered ones, and those that wait for somebody.

    If ADK has removed the ids, the newest calls of a name count as waiting.
    """
    found = pairing.unanswered | {place for place, made in pairing.calls.items() if made.name in APPROVALS}
    names = read_events(call, "waiting", _Waiting, _Waiting.take).names
    if not names:
        return found
    unnamed = Counter(names.values())
    for place in reversed(pairing.calls):
        made = pairing.calls[place]
        if made.id in names:
            found.add(place)
        elif made.id is None and unnamed[made.name] > 0:
            unnamed[made.name] -= 1
            found.add(place)
    return found


class _Waiting:
    """Collects the names of waiting calls, by id."""

    def __init__(self) -> None:
        self._long_running: dict[str, str | None] = {}
        self._asked: dict[str, str | None] = {}

    @property
    def names(self) -> dict[str, str | None]:
        return self._long_running | self._asked

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            # Fields are read from the dicts of the models, since this runs for each event of a session.
            fields = event.__dict__
            actions = fields["actions"].__dict__
            asks = {*actions["requested_tool_confirmations"], *actions["requested_auth_configs"]}
            for result in event.get_function_responses() if self._long_running or self._asked else ():
                # A long-running tool's first result is its receipt. The user posts the result that ends the waiting. A
                # tool that asked runs once more, and its result is like any other.
                if event.author == "user":
                    self._long_running.pop(result.id or "", None)
                if result.id not in asks:
                    self._asked.pop(result.id or "", None)
            if asks or fields["long_running_tool_ids"]:
                named = {used.id: used.name for used in event.get_function_calls()}
                named |= {used.id: used.name for used in event.get_function_responses()}
                self._long_running.update({waits: named.get(waits) for waits in event.long_running_tool_ids or ()})
                self._asked.update({waits: named.get(waits) for waits in asks})


def pinned_results(
    request: LlmRequest, call: ModelCall, pairing: Pairing, *, turn_start: int, keep_tools: Collection[str] = ()
) -> set[Place]:
    """Returns the places of the results that no pass may shorten or leave out.

    These are the instructions of each skill that ADK counts as active for the agent, what the running turn loaded of a
    skill's resources, and the results of the tools in `keep_tools`.
    """
    active = active_skills(call.state, call.agent_name)
    if not active and not keep_tools:
        return set()
    kinds = {name: kind for name, kind in _kinds(request, pairing).items() if kind in ("instructions", "resource")}
    contents = request.contents or []
    return {
        place
        for place, name in pairing.results.items()
        if name in keep_tools
        or (name in kinds and _holds(part_at(contents, place), kinds[name], active, place.content >= turn_start))
    }


def lasting_tools(request: LlmRequest, pairing: Pairing, *, shortened: Collection[ToolKind]) -> frozenset[str]:
    """Returns the names of the tools in a request whose results are not worth clearing.

    These are catalogs, since to find something again costs more than a dozen calls in which it is read from the
    provider's cache, and what another pass makes small.
    """
    lasting = {"catalog", *shortened}
    return frozenset(name for name, kind in _kinds(request, pairing).items() if name and kind in lasting)


def _kinds(request: LlmRequest, pairing: Pairing) -> Mapping[str | None, ToolKind | None]:
    return {name: kind_in(request.tools_dict, name) for name in set(pairing.results.values())}


def _holds(part: types.Part, kind: ToolKind | None, active: Collection[str], in_turn: bool) -> bool:  # noqa: FBT001
    response = part.function_response.response if part.function_response else None
    if not isinstance(response, dict) or response.get("skill_name") not in active:
        return False
    return in_turn if kind == "resource" else "instructions" in response

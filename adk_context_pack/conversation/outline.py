"""Outlines a request's contents: who speaks, which turns and calls there are, what belongs together.

Roles do not tell who speaks in a content of the user role. Relays, function responses, dynamic instructions and the old
form of compaction summaries all have it. The session's events tell. Ids decide which result answers which call if there
are any. If ADK has removed its own ids (Gemini), position and name decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Literal, NamedTuple

from adk_context_pack._adk import Event, LlmRequest, types
from adk_context_pack._adk.instruction import is_labelled
from adk_context_pack._adk.known_tools import APPROVALS, ToolKind, active_skills, kind_in, kind_of
from adk_context_pack._adk.releases import QUOTE_BEGIN
from adk_context_pack.conversation.contents import MADE_OF, REMOVED, known_contents, payload_hash, read_events, said_in
from adk_context_pack.conversation.model_call import ModelCall

Voice = Literal["user", "relay", "model", "fixed"]
"""`fixed` is what nobody said in this conversation and no pass may drop: summaries, instructions, what is unknown."""

_RELAYS = ("For context", "What other agents did, quoted", QUOTE_BEGIN)
"""The beginnings of relayed blocks: as ADK writes them, as `CastNarrative` retells them, as notes in their place."""


def spoken(content: types.Content) -> int:
    """Returns a hash of what is said in a content, the same before and after old media make way for references."""
    said = []
    # A plain loop, since this runs for each content of a session.
    for part in content.parts or ():
        text = part.text
        said.append(None if text is None or text.startswith(REMOVED) else text)
    return hash(tuple(said))


class Voices(NamedTuple):
    """Describes what a session says about its speakers, for one model call.

    `user` has the hashes of the texts of each user message, in order and only ever more, with the seconds that the
    first such message was later than the event before it. It is None without events to ask. `summaries` are ADK's.
    """

    user: Mapping[int, float] | None
    summaries: tuple[str, ...]

    @classmethod
    def of(cls, call: ModelCall) -> Voices:
        """Returns the speakers of the session behind `call`."""
        known: tuple[Voices, int] | None = call.memo.get("speakers")
        if known is None or known[1] != len(call.events):
            said: _Said = read_events(call, "voices", lambda: ({}, [], [0.0]), _take_said)
            user: Mapping[int, float] = said[0]
            if call.user_content is not None and (key := spoken(call.user_content)) not in user:
                user = {**user, key: 0.0}
            voices = cls(user if call.events else None, tuple(said[1]))
            call.memo["speakers"] = known = voices, len(call.events)
        return known[0]

    def is_relay(self, content: types.Content) -> bool:
        """Tells whether a content that holds no function response relays what another agent did."""
        # Few begin like a relay, and only those have to be compared with what users said.
        parts = content.parts
        text = parts[0].text if parts else None
        return text is not None and text.startswith(_RELAYS) and self.voice(content) == "relay"

    def voice(self, content: types.Content, said: int | None = None) -> Voice:
        """Returns who speaks in a content that holds no function response. `said` is the hash of what is said."""
        # Up to 2.6.3 the summary follows "[model] said: ". Later releases give it a content of its own.
        if self.summaries and content.parts and (content.parts[-1].text or "").endswith(self.summaries):
            return "fixed"
        if content.role == "model":
            return "model"
        if content.role != "user":
            return "fixed"
        if self.user is not None and (spoken(content) if said is None else said) in self.user:
            return "user"
        first = (content.parts[0].text if content.parts else None) or ""
        if first.startswith(_RELAYS):
            return "relay"
        return "fixed" if self.user is not None or is_labelled(first) else "user"


_Said = tuple[dict[int, float], list[str], list[float]]


def _take_said(said: _Said, events: Iterable[Event]) -> None:
    """Collects what users said, what ADK summed up, and the time of the last event."""
    user, summaries, times = said
    for event in events:
        # Fields are read from the dict of the model, since this runs for each event of a session.
        fields = event.__dict__
        if fields["author"] == "user" and (content := fields["content"]) is not None:
            user.setdefault(spoken(content), fields["timestamp"] - (times[0] or fields["timestamp"]))
        times[0] = fields["timestamp"]
        if (compaction := fields["actions"].compaction) is not None and (summary := compaction.compacted_content):
            summaries += [part.text for part in summary.parts or () if part.text]


_Key = str | tuple[str | None]
"""A call's id, or its name alone if it has none."""
_Asked = tuple[str | None, int] | None
"""A call's name and a hash of its arguments, or None if it reads back."""


class Place(NamedTuple):
    """Locates a part: the index of its content, and its own index there."""

    content: int
    part: int


def part_at(contents: Sequence[types.Content], place: Place) -> types.Part:
    """Returns the part at a place."""
    return (contents[place.content].parts or [])[place.part]


def waiting_calls(outline: Outline, call: ModelCall) -> set[Place]:
    """Returns the places of calls that nothing may be taken from: unanswered ones, and those that wait for somebody.

    If ADK has removed the ids, the newest calls of a name count as waiting.
    """
    found = outline.unanswered | {place for place, (name, _) in outline.calls.items() if name in APPROVALS}
    kept: _Waiting = read_events(call, "waiting", lambda: ({}, {}), _take_waiting)
    if not (names := kept[0] | kept[1]):
        return found
    unnamed = Counter(names.values())
    for place in reversed(outline.calls):
        name, call_id = outline.calls[place]
        if call_id in names:
            found.add(place)
        elif call_id is None and unnamed[name] > 0:
            unnamed[name] -= 1
            found.add(place)
    return found


_Waiting = tuple[dict[str, str | None], dict[str, str | None]]


def _take_waiting(names: _Waiting, events: Iterable[Event]) -> None:
    """Collects the names of calls that run long and of those that asked somebody, by id."""
    long_running, asked = names
    for event in events:
        # Fields are read from the dicts of the models, since this runs for each event of a session.
        fields = event.__dict__
        actions = fields["actions"].__dict__
        asks = {*actions["requested_tool_confirmations"], *actions["requested_auth_configs"]}
        for result in event.get_function_responses() if long_running or asked else ():
            # A long-running tool's first result is its receipt. The user posts the result that ends the waiting. A tool
            # that asked runs once more, and its result is like any other.
            if event.author == "user":
                long_running.pop(result.id or "", None)
            if result.id not in asks:
                asked.pop(result.id or "", None)
        if asks or fields["long_running_tool_ids"]:
            named = {used.id: used.name for used in event.get_function_calls()}
            named |= {used.id: used.name for used in event.get_function_responses()}
            long_running.update({waits: named.get(waits) for waits in event.long_running_tool_ids or ()})
            asked.update({waits: named.get(waits) for waits in asks})


def pinned_results(
    request: LlmRequest, call: ModelCall, outline: Outline, keep_tools: Collection[str] = ()
) -> set[Place]:
    """Returns the places of the results that no pass may shorten or leave out.

    These are the instructions of each skill that ADK counts as active for the agent, what the running turn loaded of a
    skill's resources, and the results of the tools in `keep_tools`.
    """
    active, found, turn_start = active_skills(call.state, call.agent_name), set[Place](), (outline.turns or [0])[-1]
    kinds = _kinds(request, outline) if active else {}
    for place, name in outline.results.items() if active or keep_tools else ():
        if name in keep_tools:
            found.add(place)
        elif (kind := kinds.get(name)) in ("instructions", "resource"):
            response = said_in(part_at(request.contents, place))[3]
            if isinstance(response, dict) and response.get("skill_name") in active:
                is_held = place.content >= turn_start if kind == "resource" else "instructions" in response
                if is_held:
                    found.add(place)
    return found


def lasting_tools(request: LlmRequest, outline: Outline, *, shortened: Collection[ToolKind]) -> frozenset[str]:
    """Returns the names of the tools in a request whose results are not worth clearing.

    These are catalogs, since to find something again costs more than a dozen calls in which it is read from the
    provider's cache, and what another pass makes small.
    """
    lasting = {"catalog", *shortened}
    return frozenset(name for name, kind in _kinds(request, outline).items() if name and kind in lasting)


def _kinds(request: LlmRequest, outline: Outline) -> Mapping[str | None, ToolKind | None]:
    return {name: kind_in(request.tools_dict, name) for name in set(outline.results.values())}


GroupKind = Literal["user", "relay", "model", "fixed", "exchange"]
Step = tuple[int, int, int, float]


class Group(NamedTuple):
    """Describes the smallest run of contents that may leave a request together.

    Attributes:
        start: index of the first content.
        stop: index after the last one.
        kind: who speaks. "exchange" for calls with their results and for orphaned results. An exchange that holds a
            user's message or a fixed content (because a result arrived late) counts as that one.
        open: whether a call in it has no result here.
    """

    start: int
    stop: int
    kind: GroupKind
    open: bool = False


@dataclass(slots=True)
class Outline:
    """Holds the outline of contents that grow. It holds nothing of the contents themselves.

    A result with an id answers the newest open call with that id, so that a reused id finds the call right before it.
    A result without one answers the first open call of its name in the newest content that has such a call.

    Attributes:
        speakers: what the session says about its speakers.
        voices: who speaks in each content. It means nothing for a content that holds a result.
        turns: the indexes at which a user's turn starts. Relays and function responses start none.
        steps: for each of the agent's own turns, which answers the contents before it, its index, the results before
            it and before its user's turn, and how long the user paused.
        call_of: the place of each result's call.
        calls: the name and the id of every call, in order.
        results: the tool's name of every result, in order, orphans included.
        repeats: for each result the newest one before that the same call gave, -1 if it was read back, or infinity.
        orphans: results without a call in these contents.
        tooling: indexes of the contents that hold calls or results.
        answering: indexes of the contents that hold results.
        reach: for each content, the index of the last one that holds a result of its calls, or its own.
    """

    speakers: Voices
    voices: list[Voice] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    call_of: dict[Place, Place] = field(default_factory=dict)
    calls: dict[Place, tuple[str | None, str | None]] = field(default_factory=dict)
    results: dict[Place, str | None] = field(default_factory=dict)
    repeats: list[float] = field(default_factory=list)
    orphans: list[Place] = field(default_factory=list)
    tooling: set[int] = field(default_factory=set)
    answering: set[int] = field(default_factory=set)
    reach: list[int] = field(default_factory=list)
    _before_turn: int = 0
    _pause: float = 0.0
    _users: set[int] = field(default_factory=set)
    _others: set[int] = field(default_factory=set)
    _groups: list[Group] = field(default_factory=list)
    _open: dict[_Key, list[tuple[Place, _Asked]]] = field(default_factory=dict)
    _newest: dict[_Asked, int] = field(default_factory=dict)

    def fits(self, voices: Voices) -> bool:
        """Tells whether the session still says the same about the speakers so far, and adopts what it adds."""
        known, user = self.speakers, voices.user
        if voices is not known:
            is_alike = voices.summaries == known.summaries and (user is None) == (known.user is None)
            if not is_alike or not (user is None or (self._users <= user.keys() and self._others.isdisjoint(user))):
                return False
            self.speakers = voices
        return True

    def grow(self, contents: Sequence[types.Content]) -> Outline:
        """Takes in the contents that follow those it knows, and returns itself."""
        voices = self.speakers
        for index, content in enumerate(contents, len(self.voices)):
            before = len(self.results)
            self.reach.append(index)
            for number, part in enumerate(content.parts or ()):
                kind, name, call_id, value = said_in(part)
                if kind == "call":
                    self.calls[place := Place(index, number)] = name, call_id
                    self.tooling.add(index)
                    is_read = kind_of(None, name) == "read_back" and not (value or {}).get("sql")
                    asked = None if is_read else (name, payload_hash(value))
                    self._open.setdefault(call_id or (name,), []).append((place, asked))
                elif kind == "result":
                    self._answer(Place(index, number), name, call_id)
            voice: Voice = "model"
            # Most contents need not be read for that.
            if content.role == "user" and index in self.answering:
                voice = "fixed"
            elif content.role != "model" or voices.summaries:
                voice = voices.voice(content, said := spoken(content))
                if voice == "user":
                    pause = 0.0 if said in self._users else (voices.user or {}).get(said, 0.0)
                    self._pause = max(self._pause, pause)
                    self._before_turn = before
                    self.turns.append(index)
                if voice != "model":
                    (self._users if voice == "user" else self._others).add(said)
            self.voices.append(voice)
            if voice == "model":
                self.steps.append((index, before, self._before_turn, self._pause))
                self._pause = 0.0
        return self

    @property
    def next_step(self) -> Step:
        """The same as one of `steps`, for the call that is about to be made."""
        return len(self.voices), len(self.results), self._before_turn, self._pause

    @property
    def unanswered(self) -> set[Place]:
        """The calls without a result in these contents: they wait, or their result is lost."""
        return {place for waiting in self._open.values() for place, _ in waiting}

    def _answer(self, place: Place, name: str | None, call_id: str | None) -> None:
        self.results[place] = name
        self.answering.add(place.content)
        self.tooling.add(place.content)
        # A call without an id may be answered with one: ADK strips its own ids, and tools may add theirs.
        key: _Key = call_id if call_id in self._open else (name,)
        if (waiting := self._open.get(key)) is None:
            self.orphans.append(place)
            self.repeats.append(inf)
            return
        newest = waiting[-1][0].content
        call, asked = waiting.pop(next(number for number, (each, _) in enumerate(waiting) if each.content == newest))
        if not waiting:
            del self._open[key]
        self.call_of[place] = call
        self.reach[call.content] = max(self.reach[call.content], place.content)
        self.repeats.append(-1 if asked is None else self._newest.get(asked, inf))
        self._newest[asked] = len(self.repeats) - 1

    @property
    def groups(self) -> list[Group]:
        """The contents as groups that cover all of them, in order. Do not change the list."""
        groups, voices, reach, tooling = self._groups, self.voices, self.reach, self.tooling
        start = groups[-1].stop if groups else 0
        if start < len(reach):
            # Only an open group can still get a result, and so become longer.
            del groups[next((number for number, one in enumerate(groups) if one.open), len(groups)) :]
            start = groups[-1].stop if groups else 0
            waiting = {place.content for place in self.unanswered}
        while start < len(reach):
            stop, last = start + 1, reach[start]
            if last == start:
                # Most groups are one content.
                kind: GroupKind = "exchange" if start in tooling else voices[start]
                groups.append(Group(start, stop, kind, start in waiting))
                start = stop
                continue
            while stop <= last:
                last = max(last, reach[stop])
                stop += 1
            is_open = bool(waiting) and not waiting.isdisjoint(range(start, stop))
            spoken = {voices[index] for index in range(start, stop) if index not in tooling}
            # A group is of the strongest kind in it, wherever in the group that is.
            kind = "fixed" if "fixed" in spoken else "user" if "user" in spoken else "exchange"
            groups.append(Group(start, stop, kind, is_open))
            start = stop
        return groups


def outline_of(call: ModelCall, contents: Sequence[types.Content]) -> Outline:
    """Returns the outline of one of the lists of contents that the passes of `call` work on."""
    voices = Voices.of(call)
    known = known_contents(call, contents)
    outline: Outline | None = known.cache.peek("outline")
    if outline is not None and not outline.fits(voices):
        # Sums by category depend on the speakers as well.
        known.cache.values.clear()
    for shorter, before, _ in call.memo.get(MADE_OF, ()):
        if shorter is contents:
            known.cache.keep("outline", outline := outline_of(call, before))
            return outline
    return known.cache.grow("outline", partial(Outline, voices), contents, Outline.grow)

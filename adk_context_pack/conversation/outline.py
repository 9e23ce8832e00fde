"""Outlines a request's contents: who speaks, which turns and calls there are, what belongs together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

from google.genai import types

from adk_context_pack.conversation.known_contents import MADE_OF, known_contents
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.pairing import Pairing
from adk_context_pack.conversation.voices import Voice, Voices, spoken

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


def grow_groups(groups: list[Group], pairing: Pairing, voices: Sequence[Voice]) -> None:
    """Makes the groups of the first contents of `pairing` cover all of them, in order."""
    # Only an open group can still get a result, and so become longer.
    del groups[next((number for number, one in enumerate(groups) if one.open), len(groups)) :]
    start = groups[-1].stop if groups else 0
    waiting = {place.content for place in pairing.unanswered}
    reach, tooling = pairing.reach, pairing.tooling
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
        spoken = {voices[index] for index in range(start, stop) if index not in pairing.tooling}
        # A group is of the strongest kind in it, wherever in the group that is.
        kind = "fixed" if "fixed" in spoken else "user" if "user" in spoken else "exchange"
        groups.append(Group(start, stop, kind, is_open))
        start = stop


class Outline:
    """Holds the outline of contents that grow.

    Attributes:
        pairing: which result answers which call.
        voices: who speaks in each content. It means nothing for a content that holds a result.
        calls: the indexes of the agent's own turns. Each of them answers the contents before it.
        turns: the indexes at which a user's turn starts. Relays and function responses start none.
        steps: for each of `calls`, its index, the results before it and before its turn, and how long the user paused.
    """

    def __init__(self, voices: Voices) -> None:
        self.pairing = Pairing()
        self.voices: list[Voice] = []
        self.calls: list[int] = []
        self.turns: list[int] = []
        self.steps: list[Step] = []
        self._results = self._before_turn = 0
        self._pause = 0.0
        self._speakers = voices
        self._users: set[int] = set()
        self._others: set[int] = set()
        self._groups: list[Group] = []

    def fits(self, voices: Voices) -> bool:
        """Tells whether the session still says the same about the speakers so far, and adopts what it adds."""
        known, user = self._speakers, voices.user
        if voices is not known:
            is_alike = voices.summaries == known.summaries and (user is None) == (known.user is None)
            if not is_alike or not (user is None or (self._users <= user.keys() and self._others.isdisjoint(user))):
                return False
            self._speakers = voices
        return True

    def grow(self, contents: Sequence[types.Content]) -> Outline:
        """Takes in the contents that follow those it knows, and returns itself."""
        start, voices = len(self.voices), self._speakers
        self.pairing.grow(contents)
        answering, has_summaries = self.pairing.answering, bool(voices.summaries)
        for index, content in enumerate(contents, start):
            # Three contents of four need not be read for that.
            if content.role == "model" and not has_summaries:
                voice: Voice = "model"
            elif content.role == "user" and index in answering:
                voice = "fixed"
            else:
                voice = voices.voice(content, said := spoken(content))
                if voice == "user" and said not in self._users:
                    self._pause = max(self._pause, (voices.user or {}).get(said, 0.0))
                if voice != "model":
                    (self._users if voice == "user" else self._others).add(said)
            self.voices.append(voice)
            if voice == "model":
                self.calls.append(index)
                self.steps.append((index, self._results, self._before_turn, self._pause))
                self._pause = 0.0
            elif voice == "user":
                self.turns.append(index)
                self._before_turn = self._results
            if index in answering:
                self._results += answering[index]
        return self

    @property
    def next_step(self) -> Step:
        """The same as one of `steps`, for the call that is about to be made."""
        return len(self.voices), self._results, self._before_turn, self._pause

    @property
    def groups(self) -> list[Group]:
        """The contents as groups that cover all of them, in order. Do not change the list."""
        if not self._groups or self._groups[-1].stop < len(self.voices):
            grow_groups(self._groups, self.pairing, self.voices)
        return self._groups


def outline_of(call: ModelCall, contents: Sequence[types.Content]) -> Outline:
    """Returns the outline of one of the lists of contents that the passes of `call` work on."""
    voices = Voices.of(call)
    known = known_contents(call, contents)
    outline: Outline | None = known.cache.peek("outline")
    if outline is not None and not outline.fits(voices):
        # Sums by category depend on the speakers as well.
        known.cache.values.clear()
        known.run_cache.values.clear()
    for shorter, before, _ in call.memo.get(MADE_OF, ()):
        if shorter is contents:
            known.cache.keep("outline", outline := outline_of(call, before))
            return outline
    return known.cache.grow("outline", partial(Outline, voices), contents, Outline.grow)

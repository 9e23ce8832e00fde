"""What a request's contents are: who speaks, which turns and calls there are, what belongs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from google.genai import types

from adk_context_pack.conversation.contents import texts_of
from adk_context_pack.conversation.known_contents import known_contents
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.pairing import Pairing
from adk_context_pack.conversation.voices import Voice, Voices

_STRONGEST: tuple[Voice, ...] = ("fixed", "user")
"""What makes a group of its own kind, wherever in the group it stands."""


GroupKind = Literal["user", "relay", "model", "fixed", "exchange"]


class Group(NamedTuple):
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
    kind: GroupKind
    open: bool = False


def grow_groups(groups: list[Group], pairing: Pairing, voices: Sequence[Voice]) -> None:
    """Makes `groups` cover all contents of `pairing`, in order.

    Args:
        groups: the groups of the same contents when there were fewer of them, or none; changed in place.
        pairing: the contents' calls and results.
        voices: who speaks in each content; not asked for those with calls or results.
    """
    # Only an open group can still get a result, and so become longer.
    settled = next((number for number, one in enumerate(groups) if one.open), len(groups))
    del groups[settled:]
    start = groups[-1].stop if groups else 0
    waiting = {place.content for place in pairing.unanswered}
    reach = pairing.reach
    while start < len(reach):
        stop, last = start + 1, reach[start]
        while stop <= last:
            last = max(last, reach[stop])
            stop += 1
        is_open = bool(waiting) and not waiting.isdisjoint(range(start, stop))
        groups.append(Group(start, stop, _kind(range(start, stop), pairing, voices), is_open))
        start = stop


def _kind(inside: range, pairing: Pairing, voices: Sequence[Voice]) -> GroupKind:
    if len(inside) == 1:
        return "exchange" if inside[0] in pairing.tooling else voices[inside[0]]
    spoken = {voices[index] for index in inside if index not in pairing.tooling}
    return next((voice for voice in _STRONGEST if voice in spoken), "exchange")


def sizes_of(groups: Sequence[Group], sums: Sequence[int]) -> list[int]:
    """The tokens of each group, from the sums of the contents' tokens up to each of them."""
    return [sums[one.stop] - sums[one.start] for one in groups]


class Outline:
    """The outline of contents that grow.

    Args:
        voices: what the session says about its speakers.

    Attributes:
        voices_known: stands for this outline's voices, for what is kept beside it.
        pairing: which result answers which call.
        voices: who speaks in each content; without meaning for one that holds a result.
        calls: the indexes before which the agent's model was called: each of its turns answers the contents before it.
        turns: the indexes at which a user's turn starts; relays and function responses start none.
        steps: for each model call, its index, how many results stand before it, and how many before its turn began.
    """

    def __init__(self, voices: Voices) -> None:
        self.pairing = Pairing()
        self.voices: list[Voice] = []
        self.calls: list[int] = []
        self.turns: list[int] = []
        self.steps: list[tuple[int, int, int]] = []
        self._results = self._before_turn = 0
        self.voices_known = object()
        self._session = voices
        self._heard: set[int] = set()
        self._unheard: set[int] = set()
        self._groups: list[Group] = []

    def fits(self, voices: Voices) -> bool:
        """Whether the session still says the same about the speakers so far; takes over what it says about others."""
        fits = (
            voices.summaries == self._session.summaries
            and (voices.user is None) == (self._session.user is None)
            and (voices.user is None or (self._heard <= voices.user and self._unheard.isdisjoint(voices.user)))
        )
        if fits:
            self._session = voices
        return fits

    def grow(self, contents: Sequence[types.Content]) -> Outline:
        """Takes in what `contents` has more than when this was last asked, and gives itself back."""
        start = len(self.voices)
        self.pairing.grow(contents)
        answering, has_summaries = self.pairing.answering, bool(self._session.summaries)
        for index in range(start, len(contents)):
            content = contents[index]
            # Three contents of four need not be read for that.
            if content.role == "model" and not has_summaries:
                voice: Voice = "model"
            elif content.role == "user" and index in answering:
                voice = "fixed"
            else:
                voice = self._session.voice(content)
                (self._heard if voice == "user" else self._unheard).add(hash(texts_of(content)))
            self.voices.append(voice)
            if voice == "model":
                self.calls.append(index)
                self.steps.append((index, self._results, self._before_turn))
            elif voice == "user":
                self.turns.append(index)
                self._before_turn = self._results
            if index in answering:
                self._results += self.pairing.answering[index]
        return self

    @property
    def next_step(self) -> tuple[int, int, int]:
        """The same for the call that is about to be made."""
        return len(self.voices), self._results, self._before_turn

    @property
    def groups(self) -> list[Group]:
        """The contents as groups that cover all of them, in order; not the caller's to change."""
        grow_groups(self._groups, self.pairing, self.voices)
        return self._groups


def outline_of(call: ModelCall, contents: Sequence[types.Content]) -> Outline:
    """The outline of one of the lists of contents that the passes of `call` come across."""
    voices = Voices.of(call)
    return known_contents(call, contents).grower("outline", lambda: Outline(voices), lambda found: found.fits(voices))

"""Decides what leaves a history that would be over its budget, by a pure function that moves in large steps.

It follows the history as it grew, one model call after another. At a call whose request would be over the budget, the
oldest groups leave until much less remains than would fit. Then nothing moves until the budget is reached again. The
same history gives the same cuts in every process, and between two cuts each request begins with the one before. A
marker says what was left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Self

from google.genai import types

from adk_context_pack._json import shorten
from adk_context_pack.conversation.calibration import Calibration
from adk_context_pack.conversation.contents import text_part, user_content
from adk_context_pack.conversation.outline import Group, GroupKind
from adk_context_pack.conversation.pairing import Pairing

MAX_TOKENS = 100
"""The most tokens of a marker. The estimate of the longest one is below."""

_NAMES = 4


def without(
    contents: Sequence[types.Content], groups: Sequence[Group], dropped: Collection[int], marker: str
) -> list[types.Content]:
    """Returns `contents` without the dropped groups.

    `marker` takes the place of the first gap. A short one fills each gap that would leave a turn of the model first, or
    right after another one, since Gemini accepts a call only after a turn of the user's role.
    """
    left: list[types.Content] = []
    first = gap = False
    for index, one in enumerate(groups):
        if index in dropped:
            gap = True
            continue
        if gap:
            needed = contents[one.start].role == "model" and (not left or left[-1].role == "model")
            if needed or not first:
                left.append(user_content([text_part("[Something else was left out here.]" if first else marker)]))
            first, gap = True, False
        left.extend(contents[one.start : one.stop])
    return left


def marker_text(
    groups: Sequence[Group], dropped: Collection[int], pairing: Pairing, *, opener: str, ledger: str = ""
) -> str:
    """Returns a few words that say what was left out, how to find it, and which identifiers were in it.

    It depends only on what was left out, so that it stays the same until the next cut.
    """
    stays = {index for number, one in enumerate(groups) if number not in dropped for index in range(one[0], one[1])}
    turns = sum([groups[number].kind == "user" for number in dropped])
    called = (call.name or "?" for (content, _), call in pairing.calls.items() if content not in stays)
    calls = Counter(shorten(name.replace("\n", " "), 30) for name in called)
    said = [f"{turns} user turn{'s' * (turns != 1)}"] * bool(turns)
    if calls:
        # The ledger names tools as well, and whatever the marker names can be searched for.
        shown = sorted(calls, key=lambda name: (f"{name}: " in ledger, name))
        names = ", ".join(shown[:_NAMES]) + ", …" * (len(calls) > _NAMES)
        said.append(f"{calls.total()} tool call{'s' * (calls.total() != 1)} ({names})")
    what = ", ".join(said) or f"{groups[-1].stop - len(stays)} messages"
    found = f" Use {opener} to find what was said, called or returned there." if opener else ""
    named = f" Named there: {ledger}." if ledger else ""
    return f"[Earlier conversation left out to save space: {what}.{found}{named}]"


_WITHIN_TURNS: tuple[frozenset[GroupKind], ...] = (frozenset({"exchange", "relay"}), frozenset({"model"}))
"""The kinds of content that leave the remaining turns, in this order. The user's words never do."""


@dataclass(kw_only=True)
class BudgetCut:
    """Finds the cut for one history and one budget.

    Args:
        groups: the history.
        again: for each group with a result that was read again, the group that held it before, or -1.
        sizes: the estimated tokens of each group.
        calls: the groups that a model call made, and before which its request ended.
        pinned: the groups that stay.
        fixed: estimated tokens of what is sent with every call.
        budget: the most tokens that a request may have.
        target: the share of the room in the budget that a cut leaves filled.
        keep_turns: how many of the newest turns lose calls and results only.
        marker: the tokens of the marker where something was left out.
        calibration: what the estimates are worth.
        is_fresh: whether the newest request starts a new chain, so that it may leave more room than others must.

    Attributes:
        dropped: the groups that leave.
        total: tokens of the request with the groups that were followed.
    """

    groups: Sequence[Group]
    again: Mapping[int, int]
    sizes: Sequence[int]
    calls: Collection[int]
    pinned: AbstractSet[int]
    fixed: int
    budget: int
    target: float
    keep_turns: int
    marker: int
    calibration: Calibration
    is_fresh: bool = False

    def __post_init__(self) -> None:
        """Begins with a request without contents."""
        # The first figure of all mostly counts instruction and declarations, so it is the best one for them.
        self.standing = self.total = self.fixed * self.calibration.factor
        self.dropped: set[int] = set()
        self._most = self.marker
        self._weights: list[float] = []
        self._turns: list[list[int]] = [[]]
        self._next_turn = self._needy = 0
        self._next_groups: dict[frozenset[GroupKind], int] = {}

    def find(self) -> Self:
        """Follows the history to its end, and returns itself."""
        unit, sent, answered, in_users_words = max(1.0, self.calibration.factor), -1, 0, True
        for index, (start, _, kind, _) in enumerate(self.groups):
            if index in self.calls:
                steady = self.total <= self.budget or not self._shrink(index)
                self._reweigh(answered, index, sent, unit, steady=steady)
                unit, sent, answered = max(1.0, self.calibration.factor), start, index
            if kind == "user" and not in_users_words and self._turns[-1]:
                self._turns.append([])
            in_users_words = kind == "user"
            self._turns[-1].append(index)
            before = self.again.get(index, index)
            is_lost = before in self.dropped and before >= self._turns[-1][0]
            if is_lost or (before < 0 and not self.dropped.isdisjoint(self._turns[-1])):
                self._needy = len(self._turns)
            # Content that no provider has counted yet weighs at least what is estimated, however little earlier
            # contents weighed.
            self._weights.append(weight := self.sizes[index] * unit)
            self.total += weight
        self._shrink(len(self.groups), is_fresh=self.is_fresh)
        return self

    def _reweigh(self, start: int, stop: int, sent: int, unit: float, *, steady: bool) -> None:
        """Corrects the weights of what the call at group `stop` answered, since the provider has counted it."""
        scale = self.calibration.scale(sent, self.groups[stop].start, sum(self.sizes[start:stop]), steady=steady)
        for index in () if scale == unit else range(start, stop):
            weight = self.sizes[index] * scale
            if index not in self.dropped:
                self.total += weight - self._weights[index]
            self._weights[index] = weight

    def _shrink(self, stop: int, *, is_fresh: bool = False) -> bool:
        """Cuts the request with the groups before `stop` if it fills more room than it may. Returns whether it did."""
        goal = self.standing + self.target * max(self.budget - self.standing, 0)
        limit = goal if is_fresh else self.budget
        if self.total <= limit:
            return False
        # An agent that reads again what has left its running turn would do so without end. Names give way to results.
        is_needy, before = self._needy == len(self._turns), len(self.dropped)
        marker = MAX_TOKENS if is_needy else self._most
        self.total += (marker - self.marker) * bool(self.dropped)
        self.marker = marker
        while self.total > goal and self._next_turn < len(self._turns) - self.keep_turns:
            for index in self._turns[self._next_turn]:
                self._drop(index)
            self._next_turn += 1
        newest = stop - 1
        while newest > 0 and self.groups[newest].kind == "fixed":
            newest -= 1
        goal = limit if is_needy else goal
        for kinds in _WITHIN_TURNS if self.total > limit else ():
            index = self._next_groups.get(kinds, 0)
            while self.total > goal and index < newest:
                if self.groups[index].kind in kinds:
                    self._drop(index)
                index += 1
            self._next_groups[kinds] = index
            if self.total <= limit:
                break
        return len(self.dropped) > before

    def _drop(self, index: int) -> None:
        if index not in self.pinned and index not in self.dropped:
            if not self.dropped:
                self.total += self.marker
            self.dropped.add(index)
            self.total -= self._weights[index]

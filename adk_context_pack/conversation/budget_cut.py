"""Decides what leaves a history that would be over its budget, by a pure function that moves in large steps.

It follows the history as it grew, one model call after another. At a call whose request would be over the budget, the
oldest groups leave until much less remains than would fit. Then nothing moves until the budget is reached again. The
same history gives the same cuts in every process, and between two cuts each request begins with the one before. A
marker says what was left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass

from google.genai import types

from adk_context_pack._json import shorten
from adk_context_pack.conversation.calibration import Calibration
from adk_context_pack.conversation.contents import text_part, user_content
from adk_context_pack.conversation.outline import Group, GroupKind, settled_groups
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
        names = ", ".join(sorted(calls)[:_NAMES]) + ", …" * (len(calls) > _NAMES)
        said.append(f"{calls.total()} tool call{'s' * (calls.total() != 1)} ({names})")
    what = ", ".join(said) or f"{groups[-1].stop - len(stays)} messages"
    found = f" Use {opener} to find what was said, called or returned there." if opener else ""
    named = f" Named there: {ledger}." if ledger else ""
    return f"[Earlier conversation left out to save space: {what}.{found}{named}]"


_WITHIN_TURNS: tuple[frozenset[GroupKind], ...] = (frozenset({"exchange", "relay"}), frozenset({"model"}))
"""The kinds of content that leave the remaining turns, in this order. The user's words never do."""


@dataclass(kw_only=True, slots=True)
class BudgetCut:
    """Finds the cut for one history and one budget.

    Attributes:
        groups: the history.
        sizes: the estimated tokens of each group.
        calls: the groups that a model call made, and before which its request ended.
        pinned: the groups that stay.
        fixed: estimated tokens of what is sent with every call.
        budget: the most tokens that a request may have.
        target: the share of the room in the budget that a cut leaves filled.
        keep_turns: how many of the newest turns lose calls and results only.
        marker: the tokens of the marker where something was left out.
        calibration: what the estimates are worth.
        walk: how far an earlier call followed this history. See `CutWalk.fits`.
        is_fresh: whether the newest request starts a new chain, so that it may leave more room than others must.
    """

    groups: Sequence[Group]
    sizes: Sequence[int]
    calls: Collection[int]
    pinned: AbstractSet[int]
    fixed: int
    budget: int
    target: float
    keep_turns: int
    marker: int
    calibration: Calibration
    walk: CutWalk | None = None
    is_fresh: bool = False

    def find(self) -> CutWalk:
        """Follows the history to its end, and returns what leaves it.

        Afterwards `walk` is how far a later call need not follow it again.
        """
        walk = self.walk if self.walk and self.walk.fits(self) else CutWalk(self.fixed, self.calibration)
        walk.pinned = self.pinned
        for is_end, stop in ((False, settled_groups(self.groups)), (True, len(self.groups))):
            sizes, calls, weights = self.sizes, self.calls, walk.weights
            for index in range(walk.stop, stop):
                start, _, kind, _ = self.groups[index]
                if index in calls:
                    steady = walk.total <= self.budget or not self._shrink(walk, index)
                    self._reweigh(walk, index, steady=steady)
                    walk.sent, walk.answered = start, index
                if kind == "user" and not walk.in_users_words and walk.turns[-1]:
                    walk.turns.append([])
                walk.in_users_words = kind == "user"
                walk.turns[-1].append(index)
                # Content that no provider has counted yet weighs at least what is estimated, however little earlier
                # contents weighed.
                weight = sizes[index] * walk.unit
                weights.append(weight)
                walk.total += weight
            walk.stop = stop
            if not is_end:
                self.walk, walk = walk, walk.copy()
        self._shrink(walk, len(self.groups), is_fresh=self.is_fresh)
        return walk

    def _reweigh(self, walk: CutWalk, stop: int, *, steady: bool) -> None:
        """Corrects the weights of what the call at group `stop` answered, since the provider has counted it."""
        calibration = walk.calibration
        start = walk.answered
        estimate = sum(self.sizes[start:stop])
        scale = calibration.scale(walk.sent, self.groups[stop].start, estimate, steady=steady)
        walk.unit = max(1.0, calibration.factor)
        for index in range(start, stop):
            weight = self.sizes[index] * scale
            if index not in walk.dropped:
                walk.total += weight - walk.weights[index]
            walk.weights[index] = weight

    def _shrink(self, walk: CutWalk, stop: int, *, is_fresh: bool = False) -> bool:
        """Cuts the request with the groups before `stop` if it fills more room than it may. Returns whether it did."""
        goal = walk.standing + self.target * max(self.budget - walk.standing, 0)
        limit = goal if is_fresh else self.budget
        if walk.total <= limit:
            return False
        before = len(walk.dropped)
        while walk.total > goal and walk.next_turn < len(walk.turns) - self.keep_turns:
            for index in walk.turns[walk.next_turn]:
                self._drop(walk, index)
            walk.next_turn += 1
        for kinds in _WITHIN_TURNS:
            if walk.total > limit:
                self._shrink_turns(walk, kinds, stop, goal)
        return len(walk.dropped) > before

    def _shrink_turns(self, walk: CutWalk, kinds: frozenset[GroupKind], stop: int, goal: float) -> None:
        newest = stop - 1
        while newest > 0 and self.groups[newest].kind == "fixed":
            newest -= 1
        index = walk.next_groups.get(kinds, 0)
        while walk.total > goal and index < newest:
            if self.groups[index].kind in kinds:
                self._drop(walk, index)
            index += 1
        walk.next_groups[kinds] = index

    def _drop(self, walk: CutWalk, index: int) -> None:
        if index in self.pinned:
            walk.spared.add(index)
        elif index not in walk.dropped:
            if not walk.dropped:
                walk.total += self.marker
            walk.dropped.add(index)
            walk.total -= walk.weights[index]


class CutWalk:
    """Holds how far a `BudgetCut` followed a history, and what left it on the way.

    Attributes:
        dropped: the groups that leave.
        total: tokens of the request with the groups before `stop`.
        stop: the number of groups that were followed.
    """

    def __init__(self, fixed: int, calibration: Calibration) -> None:
        self.fixed = fixed
        self.calibration = calibration.copy()
        # The first figure of all mostly counts instruction and declarations, so it is the best one for them.
        self.standing = self.total = fixed * calibration.factor
        self.unit = max(1.0, calibration.factor)
        self.stop = self.answered = self.next_turn = 0
        self.sent = -1
        self.in_users_words = True
        self.dropped: set[int] = set()
        self.spared: set[int] = set()
        self.pinned: AbstractSet[int] = frozenset()
        self.weights: list[float] = []
        self.turns: list[list[int]] = [[]]
        self.next_groups: dict[frozenset[GroupKind], int] = {}

    def copy(self) -> CutWalk:
        """Returns one that holds the same and can go further."""
        other = copy(self)
        other.calibration = self.calibration.copy()
        other.dropped, other.spared = self.dropped.copy(), self.spared.copy()
        other.weights, other.next_groups = self.weights.copy(), self.next_groups.copy()
        other.turns = [*self.turns[:-1], self.turns[-1].copy()]
        return other

    def fits(self, cut: BudgetCut) -> bool:
        """Tells whether following the first groups of `cut` would give the same."""
        freed, bound = self.pinned - cut.pinned, cut.pinned - self.pinned
        return (
            self.fixed == cut.fixed
            and self.stop <= len(cut.groups)
            and self.spared.isdisjoint(freed)
            and self.dropped.isdisjoint(bound)
            and self.calibration.continues_as(cut.calibration, self.sent)
        )

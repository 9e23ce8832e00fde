"""Where the cut through a history stands: a pure function of the history, which moves in large steps.

The history is gone through as it grew, one model call after another. At a call whose request would be over the budget,
the oldest groups go until much less is left than would fit; then nothing moves until the budget is reached again. The
same history gives the same cuts in every process, and between two of them each request begins with the one before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from google.genai import types

from adk_context_pack.conversation.calibration import Calibration
from adk_context_pack.conversation.contents import text_part, user_content
from adk_context_pack.conversation.outline import Group, GroupKind
from adk_context_pack.conversation.pairing import Pairing

_WITHIN_TURNS: tuple[frozenset[GroupKind], ...] = (frozenset({"exchange", "relay"}), frozenset({"model"}))
"""What goes within the turns that stay, in this order; the user's words never do."""


@dataclass(kw_only=True, slots=True)
class BudgetCut:
    """One history, one budget.

    Attributes:
        groups: the history.
        sizes: the estimated tokens of each group.
        calls: the groups before which the agent's model was called.
        pinned: the groups that stay.
        fixed: estimated tokens of what is sent with every call.
        budget: the most tokens that a request may have.
        target: the share of the room in the budget that a cut leaves filled.
        keep_turns: how many of the newest turns lose calls and results only.
        marker: what the marker costs that stands where something was left out.
        calibration: what the estimates are worth.
        dropped: the groups that go.
        total: tokens of the newest request, after the cut.
    """

    groups: Sequence[Group]
    sizes: Sequence[int]
    calls: Collection[int]
    pinned: Collection[int]
    fixed: int
    budget: int
    target: float
    keep_turns: int
    marker: int
    calibration: Calibration
    dropped: set[int] = field(default_factory=set)
    total: float = 0.0
    _unit: float = 1.0
    _standing: float = 0.0
    _weights: list[float] = field(default_factory=list)
    _turns: list[list[int]] = field(default_factory=lambda: [[]])
    _next_turn: int = 0
    _next_groups: dict[frozenset[GroupKind], int] = field(default_factory=dict)

    def find(self) -> BudgetCut:
        """Goes through the history and fills in `dropped` and `total`."""
        # The first figure of all is mostly instruction and declarations, so it is the best one for them.
        self._standing = self.total = self.fixed * self.calibration.factor
        self._unit = max(1.0, self.calibration.factor)
        sent, answered = -1, 0
        spoke: GroupKind = "user"
        sizes, calls, weights, turn = self.sizes, self.calls, self._weights, self._turns[-1]
        for index, (start, _, kind, _) in enumerate(self.groups):
            if index in calls:
                steady = self.total <= self.budget or not self._shrink(index)
                self._reweigh(answered, index, sent, steady=steady)
                sent, answered = start, index
            if kind == "user" != spoke and turn:
                turn = []
                self._turns.append(turn)
            spoke = kind
            turn.append(index)
            # What no provider has counted yet has the prior's weight at least, whatever its like weighed before.
            weight = sizes[index] * self._unit
            weights.append(weight)
            self.total += weight
        self._shrink(len(self.groups))
        return self

    def _reweigh(self, start: int, stop: int, sent: int, *, steady: bool) -> None:
        """The call at group `stop` was answered: what was new in it has now been counted by the provider."""
        if self.calibration.is_settled and self._unit == self.calibration.factor:
            return
        estimate = sum(self.sizes[start:stop])
        scale = self.calibration.scale(sent, self.groups[stop].start, estimate, steady=steady)
        self._unit = max(1.0, self.calibration.factor)
        for index in range(start, stop):
            weight = self.sizes[index] * scale
            if index not in self.dropped:
                self.total += weight - self._weights[index]
            self._weights[index] = weight

    def _shrink(self, stop: int) -> bool:
        """Cuts the request that holds the groups before `stop`, if it is over the budget."""
        if self.total <= self.budget:
            return False
        before = len(self.dropped)
        goal = self._goal()
        while self.total > goal and self._next_turn < len(self._turns) - self.keep_turns:
            for index in self._turns[self._next_turn]:
                self._drop(index)
            self._next_turn += 1
        for kinds in _WITHIN_TURNS:
            if self.total > self.budget:
                self._shrink_turns(kinds, stop, goal)
        return len(self.dropped) > before

    def _shrink_turns(self, kinds: frozenset[GroupKind], stop: int, goal: float) -> None:
        newest = stop - 1
        while newest > 0 and self.groups[newest].kind == "fixed":
            newest -= 1
        index = self._next_groups.get(kinds, 0)
        while self.total > goal and index < newest:
            if self.groups[index].kind in kinds:
                self._drop(index)
            index += 1
        self._next_groups[kinds] = index

    def _drop(self, index: int) -> None:
        if index in self.pinned or index in self.dropped:
            return
        if not self.dropped:
            self.total += self.marker
        self.dropped.add(index)
        self.total -= self._weights[index]

    def _goal(self) -> float:
        return self._standing + self.target * max(self.budget - self._standing, 0)


MAX_TOKENS = 100
"""What a marker may cost; the estimate of the longest is below."""

_NAMES = 4
_NAME_LENGTH = 30
_AGAIN = "[Something else was left out here.]"


def without(
    contents: Sequence[types.Content], groups: Sequence[Group], dropped: Collection[int], marker: str
) -> list[types.Content]:
    """`contents` without the dropped groups.

    `marker` stands at the first gap, and a short one wherever a gap would leave a turn of the model first, or right
    behind another one: Gemini takes a call only behind a turn of the user's role.
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
                left.append(user_content([text_part(_AGAIN if first else marker)]))
            first, gap = True, False
        left.extend(contents[one.start : one.stop])
    return left


def marker_text(groups: Sequence[Group], dropped: Collection[int], pairing: Pairing, *, findable: bool) -> str:
    """What was left out, in one sentence, and how to find it.

    It depends on what was left out alone, so that it stays the same until the next cut.
    """
    stays = {index for number, one in enumerate(groups) if number not in dropped for index in range(one[0], one[1])}
    turns = sum([groups[number].kind == "user" for number in dropped])
    names = Counter([call.name for (content, _), call in pairing.calls.items() if content not in stays])
    calls: Counter[str] = Counter()
    for name, count in names.items():
        calls[_short(name)] += count
    what = ", ".join(_parts(turns, calls)) or f"{groups[-1].stop - len(stays)} messages"
    found = " Use search_history to find what was said, called or returned there." if findable else ""
    return f"[Earlier conversation left out to save space: {what}.{found}]"


def _parts(turns: int, calls: Counter[str]) -> Iterator[str]:
    if turns:
        yield f"{turns} user {'turn' if turns == 1 else 'turns'}"
    if calls:
        names = ", ".join(sorted(calls)[:_NAMES]) + (", …" if len(calls) > _NAMES else "")
        yield f"{calls.total()} tool {'call' if calls.total() == 1 else 'calls'} ({names})"


def _short(name: str | None) -> str:
    text = (name or "?").replace("\n", " ")
    return text if len(text) <= _NAME_LENGTH else f"{text[:_NAME_LENGTH]}…"

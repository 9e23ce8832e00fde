"""Removes the oldest parts of a conversation from a request that would not fit its budget.

A pure function decides what leaves, and moves in large steps. It follows the history as it grew, one model call after
another. At a call whose request would be over the budget, the oldest groups leave until much less remains than would
fit. Then nothing moves until the budget is reached again. The same history gives the same cuts in every process, and
between two cuts each request begins with the one before. A marker says what was left out.
"""

from __future__ import annotations

from array import array
from bisect import bisect
from collections import Counter as Tally
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from math import inf
from operator import attrgetter
from typing import ClassVar, Self

from adk_context_pack._adk import LlmRequest, types
from adk_context_pack._adk.known_tools import openers_in
from adk_context_pack._json import shorten
from adk_context_pack.conversation import outline as outlines
from adk_context_pack.conversation import token_estimate as estimates
from adk_context_pack.conversation.contents import copies_of, known_contents, text_part, user_content, whole_of
from adk_context_pack.conversation.ledger import arguments_in, ledger_text
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.outline import Group, GroupKind, Outline, outline_of, waiting_calls
from adk_context_pack.conversation.token_estimate import Calibration, Counter, ProviderChain, TokenMeter, meter_of
from adk_context_pack.errors import a_number, at_least, counted, logger, names, positive, valid_counter
from adk_context_pack.passes.context_pass import ContextPass

MAX_TOKENS = 100
"""The most tokens of a marker. The estimate of the longest one is below."""

_NAMES = 4


def without(
    contents: Sequence[types.Content], groups: Sequence[Group], dropped: Collection[int], marker: str
) -> list[types.Content]:
    """Returns `contents` without the dropped groups."""
    # `marker` takes the place of the first gap. A short one fills each gap that would leave a turn of the model first,
    # or right after another one, since Gemini accepts a call only after a turn of the user's role.
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
    groups: Sequence[Group], dropped: Collection[int], outline: Outline, *, opener: str, ledger: str = ""
) -> str:
    """Returns a few words that say what was left out, how to find it, and which identifiers were in it."""
    # It depends only on what was left out, so that it stays the same until the next cut.
    stays = {index for number, one in enumerate(groups) if number not in dropped for index in range(one[0], one[1])}
    turns = sum([groups[number].kind == "user" for number in dropped])
    called = (name or "?" for (content, _), (name, _) in outline.calls.items() if content not in stays)
    calls = Tally(shorten(name.replace("\n", " "), 30) for name in called)
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
    """Finds the groups that leave for one history and one budget, and the tokens of the request without them.

    For each group with a result that was read again, `again` has the group that held it before, or -1. `calls` are the
    groups that a model call made, and before which its request ended. The request of a chain that `is_fresh` may leave
    more room than others must. All sizes are tokens as estimated, and `calibration` says what these are worth.
    """

    groups: Sequence[Group]
    again: Mapping[int, int]
    sizes: Sequence[int]
    calls: Collection[int]
    pinned: AbstractSet[int]
    fixed: int
    rules: FitTokenBudget
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
                steady = self.total <= self.rules.max_tokens or not self._shrink(index)
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
            # Content that no provider has counted yet weighs at least its estimate, whatever earlier contents weighed.
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
        budget = self.rules.max_tokens
        goal = self.standing + self.rules.cut_to * max(budget - self.standing, 0)
        limit = goal if is_fresh else budget
        if self.total <= limit:
            return False
        # An agent that reads again what has left its running turn would do so without end. Names give way to results.
        is_needy, before = self._needy == len(self._turns), len(self.dropped)
        marker = MAX_TOKENS if is_needy else self._most
        self.total += (marker - self.marker) * bool(self.dropped)
        self.marker = marker
        while self.total > goal and self._next_turn < len(self._turns) - self.rules.keep_turns:
            for index in self._turns[self._next_turn]:
                self._drop(index)
            self._next_turn += 1
        newest = next((index for index in range(stop - 1, 0, -1) if self.groups[index].kind != "fixed"), 0)
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


@dataclass(frozen=True, kw_only=True)
class FitTokenBudget(ContextPass):
    """Keeps a request within `max_tokens` by leaving out its oldest whole turns, then its oldest calls with results.

    These always stay: the system instruction, the user's current message, ADK's compaction summary and dynamic
    instruction, the newest group, calls that wait (for a result, a confirmation or credentials), and whatever the
    session's events do not explain. A short user content says where something was left out, and names `read_back`
    if the agent has that tool. Where these rules cannot meet the budget, the request is as small as they allow, and the
    log and the report say so.

    Everything that is sent counts: system instruction, tool declarations, contents, media. The figures that the
    provider gave for the session's own calls of this agent and model correct the estimates. Before the first figure,
    and for what is new, the estimate is on the high side.

    Args:
        max_tokens: the budget, in tokens.
        keep_turns: how many of the newest turns are not left out as a whole. If that is not enough, their oldest calls
            with results are left out, then what the agent said in them. The user's messages stay.
        keep_tools: tools whose calls and results stay whatever their age, for plans and other instructions. The skills
            that ADK counts as active stay without being named.
        max_ledger_tokens: the most tokens for the identifiers of what was left out (ids, codes, e-mail addresses,
            paths, dates, amounts), each with its tool: half of the room up to 400, then a third. 0 lists none.
        cut_to: the share of the room in the budget that a cut leaves filled, above 0 and below 1. Less means fewer
            cuts, and so fewer cache misses, but less history right after one.
        counter: a tokenizer, from text to tokens. Without one, tokens are estimated and calibrated.

    Cost to the prompt cache: one miss at each cut. The place of a cut depends on the history alone and moves in large
    steps. In between, each request begins with the one before it, across processes and restarts.

    ADK's own compaction by `token_threshold` reads the size of the last prompt, which this pass keeps small. Set the
    threshold below `max_tokens`, or compact by `compaction_interval`.
    """

    cuts_history = True
    max_tokens: int
    keep_turns: int = 1
    cut_to: float = 0.5
    keep_tools: Collection[str] = field(default=())
    max_ledger_tokens: int = 800
    counter: Counter | None = None
    _checks: ClassVar = {
        **dict.fromkeys(("max_tokens", "keep_turns"), positive),
        "max_ledger_tokens": partial(at_least, minimum=0),
        "cut_to": partial(a_number, is_right=lambda share: 0 < share < 1, expected="a number above 0 and below 1"),
        "keep_tools": names,
        "counter": valid_counter,
    }

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` within the budget, or the same object if it fits."""
        if (chain := call.memo.get(estimates.CHAIN)) is not None:
            call.note(f"began a new chain, since the provider kept {chain.kept:,} tokens")
        if (walk := self._walk(request, call)) is None:
            return request
        contents, meter = request.contents, meter_of(call, self.counter)
        outline, result = outline_of(call, contents), contents
        if dropped := walk.dropped:
            marker = self._marker(request, call, outline, walk)
            result = without(contents, outline.groups, dropped, marker)
        gone = meter.contents(contents) - meter.contents(result)
        # If little is gone, the marker could be longer than the text that it replaces.
        if gone < 2 * walk.marker and estimates.characters(result) > estimates.characters(contents):
            gone = 0
        if gone > 0:
            call.note(f"left out {counted(len(walk.dropped), 'group')}, {gone} tokens")
        if walk.total > self.max_tokens:
            over = f"about {round(walk.total)} tokens are left where {self.max_tokens} are allowed"
            call.note(f"over budget: {over}")
            logger.warning("the request of agent %s cannot be made smaller: %s", call.agent_name, over)
        if orphans := outline.orphans:
            call.note(f"left {counted(len(orphans), 'result')} without a call as found")
        # A marker may weigh more than what was left out.
        return request.model_copy(update={"contents": result}) if gone > 0 else request

    def leaves_history(self, request: LlmRequest, call: ModelCall) -> bool:
        """Returns whether the request is over the budget, so that history leaves it."""
        walk = self._walk(request, call)
        return walk is not None and bool(walk.dropped)

    def begins_chain(self, request: LlmRequest, call: ModelCall, chain: ProviderChain) -> bool:
        """Returns whether the chain would exceed the budget, and a new one would be much smaller."""
        # More than is estimated, so that the provider's count of what is new stays within the budget.
        tokens = chain.kept + 4 / 3 * sum(meter_of(call, self.counter).sizes(chain.new))
        if not chain.kept or tokens <= self.max_tokens:
            return False
        walk = self._walk(request, call)
        # What began the chain at this size would begin the next one so, whatever the estimates say.
        return max(walk.total if walk else 0, chain.began) <= 0.75 * tokens

    def _walk(self, request: LlmRequest, call: ModelCall) -> BudgetCut | None:
        """Returns what leaves the request, or None for a request that surely fits."""
        meter = meter_of(call, self.counter)
        prior = meter.request(request)
        # The provider's figures can raise an estimate only so far, and a request far below the budget needs none.
        if prior * estimates.HIGHEST_FACTOR <= self.max_tokens or (
            prior <= self.max_tokens and not estimates.is_heard(call, self.counter)
        ):
            return None
        return self._cut(request, call, meter, outline_of(call, request.contents or [])).find()

    def _cut(self, request: LlmRequest, call: ModelCall, meter: TokenMeter, outline: Outline) -> BudgetCut:
        contents, groups = request.contents, outline.groups
        counted, own = meter.sizes(contents), [index for index, *_ in outline.steps]
        made = set(own)
        sizes = [sum(counted[start:stop]) for start, stop, _, _ in groups]
        fixed = {index for index, one in enumerate(groups) if one.kind == "fixed"}
        standing = sum(meter.fixed(request))
        waiting = {_group_at(groups, place.content) for place in waiting_calls(outline, call)}
        pinned = fixed | waiting | self._pinned(request, call, outline, sizes)
        # Providers read the turn after a call without a result as a part of the same one.
        ends_in_call = {i for i in pinned if groups[i].open and contents[groups[i].stop - 1].role == "model"}
        pinned |= {i + 1 for i in ends_in_call if i + 1 < len(groups)}
        # ADK may have moved the user's current message out of the newest turns.
        current = (_group_at(groups, place) for place in copies_of(contents, call.user_content))
        pinned |= set(islice((group for group in current if groups[group].kind == "user"), 1))
        # The figures of the chain before count other requests than would be made smaller now.
        is_fresh = (chain := call.memo.get(estimates.CHAIN)) is not None and chain.is_new
        is_heard = not is_fresh and estimates.is_heard(call, self.counter)
        # Up to a 64th of the budget, so that a dynamic instruction of changing length moves no cut.
        step = max(self.max_tokens // 64, 1)
        known = standing, standing + sum(sizes[index] for index in fixed)
        least, all_fixed = (-(-tokens // step) * step for tokens in known)
        # A small budget has better uses than the names of what is gone, and a new chain must be much smaller.
        room = max(self.max_tokens - least, 0)
        ledger = max(room // 3, min(room // 2, 400)) if chain is None else self.max_tokens // 5
        held = [_group_at(groups, place.content) for place in outline.results]
        return BudgetCut(
            groups=groups,
            again={at: -1 if n < 0 else held[int(n)] for at, n in zip(held, outline.repeats, strict=True) if n != inf},
            sizes=[0 if index in fixed else size for index, size in enumerate(sizes)],
            calls={index for index, one in enumerate(groups) if one.start in made},
            pinned=pinned,
            fixed=all_fixed,
            rules=self,
            marker=MAX_TOKENS + min(self.max_ledger_tokens, ledger),
            calibration=Calibration.of(call, request, own, meter) if is_heard else Calibration({}),
            is_fresh=is_fresh,
        )

    def _pinned(self, request: LlmRequest, call: ModelCall, outline: Outline, sizes: Sequence[int]) -> set[int]:
        """Returns the groups that hold active instructions, and says so in the report if they crowd the budget."""
        places = outlines.pinned_results(request, call, outline, self.keep_tools)
        pinned = {_group_at(outline.groups, place.content) for place in places}
        tokens = sum(sizes[index] for index in pinned)
        if tokens > self.max_tokens / 2:
            text = f"instructions that stay whole take about {tokens} of {self.max_tokens} tokens"
            call.note(text)
            logger.warning("in the request of agent %s, %s", call.agent_name, text)
        return pinned

    def _marker(self, request: LlmRequest, call: ModelCall, outline: Outline, walk: BudgetCut) -> str:
        groups, opener, taken = outline.groups, openers_in(request).history, arguments_in(request)
        # Names come from the results that stood there before notes did.
        known = known_contents(call, whole_of(call, request.contents))
        left = array("I", [i for number in sorted(walk.dropped) for i in range(*groups[number][:2])])
        most = walk.marker - MAX_TOKENS
        kept: tuple[array[int], str] | None = known.cache.peek(name := ("marker", self, opener, taken, most))
        if kept is None or kept[0] != left:
            users = {index for index in left if outline.voices[index] == "user"}
            names = ledger_text(known.contents, left, users=users, max_tokens=most, taken=taken)
            kept = left, marker_text(groups, walk.dropped, outline, opener=opener, ledger=names)
            known.cache.keep(name, kept)
        return kept[1]


def _group_at(groups: Sequence[Group], content: int) -> int:
    """Returns the group that holds the content at an index. Groups cover all contents."""
    return bisect(groups, content, key=attrgetter("start")) - 1

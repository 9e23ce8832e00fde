"""Removes the oldest parts of a conversation from a request that would not fit its budget."""

from __future__ import annotations

from array import array
from bisect import bisect
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from math import inf
from operator import attrgetter
from typing import Any, ClassVar

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.known_tools import openers_in
from adk_context_pack.conversation.budget_cut import MAX_TOKENS, BudgetCut, marker_text, without
from adk_context_pack.conversation.calibration import CHAIN, HIGHEST_FACTOR, Calibration, ProviderChain, is_heard
from adk_context_pack.conversation.contents import copies_of
from adk_context_pack.conversation.known_contents import KnownContents, known_contents, whole_of
from adk_context_pack.conversation.ledger import arguments_in, ledger_text
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.outline import Group, Outline, outline_of
from adk_context_pack.conversation.pairing import pinned_results, repeats_of, waiting_calls
from adk_context_pack.conversation.token_estimate import Counter
from adk_context_pack.conversation.tokens import TokenMeter, characters, meter_of
from adk_context_pack.errors import a_number, at_least, counted, logger, names, positive, valid_counter
from adk_context_pack.passes.context_pass import ContextPass

_CROWDED = 0.5
"""The share of the budget above which the report mentions what active instructions take."""
_WORTH = 0.75
"""The largest share of a chain's tokens with which a new chain is worth beginning."""
_UNCOUNTED = 4 / 3
"""The factor for the estimate of new contents, so that the provider's count stays within the budget."""


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
            paths, dates, amounts), each with its tool, and no more than half of the room for contents. 0 lists none.
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
        if (chain := call.memo.get(CHAIN)) is not None:
            call.note(f"began a new chain, since the provider kept {chain.kept:,} tokens")
        if (walk := self._walk(request, call)) is None:
            return request
        contents, meter = request.contents, meter_of(call, self.counter)
        outline, result = outline_of(call, contents), contents
        if dropped := walk.dropped:
            # Names come from the results that stood there before notes did.
            marker = self._marker(request, outline, walk, known_contents(call, whole_of(call, contents)))
            result = without(contents, outline.groups, dropped, marker)
        gone = meter.contents(contents) - meter.contents(result)
        # If little is gone, the marker could be longer than the text that it replaces.
        if gone < 2 * walk.marker and characters(result) > characters(contents):
            gone = 0
        if gone > 0:
            call.note(f"left out {counted(len(walk.dropped), 'group')}, {gone} tokens")
        if walk.total > self.max_tokens:
            over = f"about {round(walk.total)} tokens are left where {self.max_tokens} are allowed"
            call.note(f"over budget: {over}")
            logger.warning("the request of agent %s cannot be made smaller: %s", call.agent_name, over)
        if orphans := outline.pairing.orphans:
            call.note(f"left {counted(len(orphans), 'result')} without a call as found")
        # A marker may weigh more than what was left out.
        return request.model_copy(update={"contents": result}) if gone > 0 else request

    def leaves_history(self, request: LlmRequest, call: ModelCall) -> bool:
        """Returns whether the request is over the budget, so that history leaves it."""
        walk = self._walk(request, call)
        return walk is not None and bool(walk.dropped)

    def begins_chain(self, request: LlmRequest, call: ModelCall, chain: ProviderChain) -> bool:
        """Returns whether the chain would exceed the budget, and a new one would be much smaller."""
        tokens = chain.kept + _UNCOUNTED * sum(meter_of(call, self.counter).sizes(chain.new))
        if not chain.kept or tokens <= self.max_tokens:
            return False
        walk = self._walk(request, call)
        # What began the chain at this size would begin the next one so, whatever the estimates say.
        return max(walk.total if walk else 0, chain.began) <= _WORTH * tokens

    def _walk(self, request: LlmRequest, call: ModelCall) -> BudgetCut | None:
        """Returns what leaves the request, or None for a request that surely fits."""
        contents = request.contents or []
        meter = meter_of(call, self.counter)
        prior = meter.request(request)
        # The provider's figures can raise an estimate only so far, and a request far below the budget needs none.
        if prior * HIGHEST_FACTOR <= self.max_tokens or (prior <= self.max_tokens and not is_heard(call, self.counter)):
            return None
        return self._cut(request, call, meter, outline_of(call, contents)).find()

    def _cut(self, request: LlmRequest, call: ModelCall, meter: TokenMeter, outline: Outline) -> BudgetCut:
        contents, groups = request.contents, outline.groups
        counted, made = meter.sizes(contents), set(outline.calls)
        sizes = [sum(counted[start:stop]) for start, stop, _, _ in groups]
        fixed = {index for index, one in enumerate(groups) if one.kind == "fixed"}
        standing = sum(meter.fixed(request))
        waiting = {_group_at(groups, place.content) for place in waiting_calls(outline.pairing, call)}
        pinned = fixed | waiting | self._pinned(request, call, outline, sizes)
        # Providers read the turn after a call without a result as a part of the same one.
        ends_in_call = {i for i in pinned if groups[i].open and contents[groups[i].stop - 1].role == "model"}
        pinned = pinned | {i + 1 for i in ends_in_call if i + 1 < len(groups)} | _current(contents, groups, call)
        # The figures of the chain before count other requests than would be made smaller now.
        is_fresh = (chain := call.memo.get(CHAIN)) is not None and chain.is_new
        # Up to a 64th of the budget, so that a dynamic instruction of changing length moves no cut.
        step = max(self.max_tokens // 64, 1)
        known = standing, standing + sum(sizes[index] for index in fixed)
        least, all_fixed = (-(-tokens // step) * step for tokens in known)
        # A small budget has better uses than the names of what is gone, and a new chain must be much smaller.
        ledger = max(self.max_tokens - least, 0) // 2 if chain is None else self.max_tokens // 5
        # The next batch of notes changes nothing of what is known of the whole results.
        repeats = repeats_of(outline.pairing, known_contents(call, whole_of(call, contents)))
        held = [_group_at(groups, place.content) for place in outline.pairing.results]
        return BudgetCut(
            groups=groups,
            again={at: -1 if n < 0 else held[int(n)] for at, n in zip(held, repeats, strict=True) if n != inf},
            sizes=[0 if index in fixed else size for index, size in enumerate(sizes)],
            calls={index for index, one in enumerate(groups) if one.start in made},
            pinned=pinned,
            fixed=all_fixed,
            budget=self.max_tokens,
            target=self.cut_to,
            keep_turns=self.keep_turns,
            marker=MAX_TOKENS + min(self.max_ledger_tokens, ledger),
            calibration=Calibration.of(call, request, outline.calls, meter)
            if not is_fresh and is_heard(call, self.counter)
            else Calibration({}),
            is_fresh=is_fresh,
        )

    def _pinned(self, request: LlmRequest, call: ModelCall, outline: Outline, sizes: Sequence[int]) -> set[int]:
        """Returns the groups that hold active instructions, and says so in the report if they crowd the budget."""
        turn_start = outline.turns[-1] if outline.turns else 0
        places = pinned_results(request, call, outline.pairing, turn_start=turn_start, keep_tools=self.keep_tools)
        contents = {place.content for place in places}
        if not contents:
            return set()
        pinned = {_group_at(outline.groups, index) for index in contents}
        tokens = sum(sizes[index] for index in pinned)
        if tokens > self.max_tokens * _CROWDED:
            text = f"instructions that stay whole take about {tokens} of {self.max_tokens} tokens"
            call.note(text)
            logger.warning("in the request of agent %s, %s", call.agent_name, text)
        return pinned

    def _marker(self, request: LlmRequest, outline: Outline, walk: BudgetCut, known: KnownContents) -> str:
        groups, opener, taken = outline.groups, openers_in(request).history, arguments_in(request)
        left = array("I", [i for number in sorted(walk.dropped) for i in range(*groups[number][:2])])
        most = walk.marker - MAX_TOKENS
        kept: tuple[array[int], str] | None = known.cache.peek(name := ("marker", self, opener, taken, most))
        if kept is None or kept[0] != left:
            users = {index for index in left if outline.voices[index] == "user"}
            cache = known.run_cache.kept(("ledger", taken), dict[int, Sequence[Any]])
            names = ledger_text(known.contents, left, users=users, max_tokens=most, cache=cache, taken=taken)
            kept = left, marker_text(groups, walk.dropped, outline.pairing, opener=opener, ledger=names)
            known.cache.keep(name, kept)
        return kept[1]


def _current(contents: Sequence[types.Content], groups: Sequence[Group], call: ModelCall) -> set[int]:
    """Returns the group of the user's current message, which ADK may have moved out of the newest turns."""
    message = call.user_content
    places = copies_of(contents, message) if message is not None else ()
    found = (_group_at(groups, place) for place in places)
    return set(islice((group for group in found if groups[group].kind == "user"), 1))


def _group_at(groups: Sequence[Group], content: int) -> int:
    """Returns the group that holds the content at an index. Groups cover all contents."""
    return bisect(groups, content, key=attrgetter("start")) - 1

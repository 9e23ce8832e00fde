"""Replaces the bodies of older tool results by short notes, in batches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import NamedTuple

from google.adk.models.llm_request import LlmRequest

from adk_context_pack._adk.known_tools import offers
from adk_context_pack.conversation.clearing import ClearingEditor, is_note
from adk_context_pack.conversation.known_contents import KnownContents, known_contents
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.outline import Outline, outline_of
from adk_context_pack.conversation.pairing import Pairing, Place, lasting_tools, part_at, pinned_results, waiting_calls
from adk_context_pack.conversation.tokens import Counter, meter_of, valid_counter
from adk_context_pack.errors import at_least, names
from adk_context_pack.passes.context_pass import ContextPass, own_passes


@dataclass(frozen=True, kw_only=True)
class ClearToolResults(ContextPass):
    """Replaces the bodies of older tool results by notes that say what was there.

    A note names the tool, the size, the outcome (status or error, counts, short values), identifiers that were in the
    result, and the handle if the result has one. The call and its result stay where they are, paired, and the session
    keeps the body. What the model has not answered yet, results of waiting calls, results with media and orphans stay
    as they are.

    Args:
        keep_results: how many of the newest results always stay.
        keep_in_turn: how many of the newest results of the running turn stay, where that is more. A turn's answer
            needs more of them than the next turn does. None for `keep_results`.
        min_tokens: results smaller than this stay.
        exclude_tools: tools whose results stay.
        clear_args: whether the arguments of a cleared result's call are cleared as well, if they have `min_tokens`.
            Calls that carry a thought signature keep them.
        max_ledger_tokens: the most tokens for the identifiers in one note (ids, codes, e-mail addresses, paths, dates,
            amounts), and no more than a third of the result. 0 lists none. They depend on the result alone.
        counter: a tokenizer, from text to tokens. Without one, tokens are estimated.

    Cost to the prompt cache: a batch is cleared at the model call at which it saves at least as many tokens as follow
    it and must be read once more. Until the next batch each request begins with the one before it. The history alone
    decides when, so that another process decides alike. With `keep_results=0` little follows the results of a finished
    turn, so they are cleared as soon as the next turn begins, at almost no cost. Each result that is kept beyond its
    turn is sent in full once more.
    """

    keep_results: int = 3
    keep_in_turn: int | None = None
    min_tokens: int = 200
    exclude_tools: Collection[str] = field(default=())
    clear_args: bool = False
    max_ledger_tokens: int = 12
    counter: Counter | None = None

    def __post_init__(self) -> None:
        """Checks the settings."""
        super().__post_init__()
        at_least(self, "keep_results", self.keep_results, 0)
        if self.keep_in_turn is not None:
            at_least(self, "keep_in_turn", self.keep_in_turn, 0)
        at_least(self, "min_tokens", self.min_tokens, 1)
        at_least(self, "max_ledger_tokens", self.max_ledger_tokens, 0)
        object.__setattr__(self, "exclude_tools", names(self, "exclude_tools", self.exclude_tools))
        valid_counter(self, self.counter)

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` with older results as notes, or the same object where nothing is worth clearing."""
        contents = request.contents or []
        meter = meter_of(call, self.counter)
        if max(meter.sizes(contents), default=0) < self.min_tokens:
            return request
        outline = outline_of(call, contents)
        pairing, results = outline.pairing, list(outline.pairing.results)
        if len(results) <= self.keep_results:
            return request
        known = known_contents(call, contents)
        findable = offers(request.tools_dict, "search_history")
        editor = ClearingEditor(known, meter, findable=findable, max_ledger_tokens=self.max_ledger_tokens)
        excluded = self._excluded(request, call, pairing)
        with known.growing(("clearable", self, findable, excluded), list[int], items=results) as (sizes, new):
            whole = meter.sizes(contents)
            for place in new:
                # Most results need not be weighed by themselves, since their contents are too small already.
                size = self._size(place, pairing, editor, excluded) if whole[place.content] >= self.min_tokens else 0
                sizes.append(size if size and editor.is_worth_it(place, size) else 0)
        clearable = sizes
        if waiting := waiting_calls(pairing, call):
            sizes = [
                0 if pairing.call_of.get(place) in waiting else size for place, size in zip(results, sizes, strict=True)
            ]
        turn_start = outline.turns[-1] if outline.turns else 0
        if pinned := pinned_results(request, call, pairing, turn_start=turn_start):
            sizes = [0 if place in pinned else size for place, size in zip(results, sizes, strict=True)]
        if not any(sizes):
            return request
        sums = _Sums([0, *accumulate(sizes)], [0, *accumulate(meter.sizes(contents))], results)
        # What a waiting call or an active skill holds back now was not held back at earlier calls.
        name = ("batches", self, findable, excluded) if sizes is clearable else None
        cleared = self._cleared(outline, sums, known, name)
        for place, size in zip(results[:cleared], sizes, strict=False):
            if size and editor.clear_result(place, size) and self.clear_args:
                editor.clear_args(pairing.call_of[place], self.min_tokens)
        if not editor.count:
            return request
        call.note(f"cleared {editor.count} tool results, {editor.saved} tokens")
        return request.model_copy(update={"contents": editor.contents()})

    def leaves_history(self, request: LlmRequest, call: ModelCall) -> bool:
        """Returns whether there are results old and large enough to be cleared at this call or a later one."""
        contents = request.contents or []
        meter = meter_of(call, self.counter)
        sizes = meter.sizes(contents)
        if max(sizes, default=0) < self.min_tokens:
            return False
        outline = outline_of(call, contents)
        _, there, before_turn = outline.next_step
        old = max(0, min(there - self.keep_results, max(before_turn, there - self._kept_in_turn)))
        pairing, turn_start = outline.pairing, outline.turns[-1] if outline.turns else 0
        excluded = self._excluded(request, call, pairing)
        pinned = pinned_results(request, call, pairing, turn_start=turn_start)
        # Most results need not be weighed again, since their contents are too small already.
        results = (
            part_at(contents, place).function_response
            for place in islice(pairing.results, old)
            if sizes[place.content] >= self.min_tokens and place not in pinned
        )
        return any(
            result.name not in excluded and meter.payload(result.response) >= self.min_tokens
            for result in results
            if result is not None
        )

    def _excluded(self, request: LlmRequest, call: ModelCall, pairing: Pairing) -> frozenset[str]:
        shortened = {kind for each in own_passes(call.context) for kind in each.shortens}
        return lasting_tools(request, pairing, shortened=shortened).union(self.exclude_tools)

    def _size(self, place: Place, pairing: Pairing, editor: ClearingEditor, excluded: Collection[str]) -> int:
        """Returns the tokens of a result that may be cleared, or 0 for one that stays whatever its age."""
        result = editor.result(place)
        size = editor.meter.payload(result.response)
        stays = (
            size < self.min_tokens
            or place not in pairing.call_of
            or result.name in excluded
            or getattr(result, "parts", None)
            or is_note(result.response)
        )
        return 0 if stays else size

    def _cleared(self, outline: Outline, sums: _Sums, known: KnownContents, name: Hashable) -> int:
        """Returns how many of the oldest results are cleared. What earlier calls cleared is kept under `name`."""
        batches = self._followed(known.peek(name) or _Batches(), outline.steps, sums)
        if name is not None:
            known.keep(name, batches)
        return self._followed(batches, (*outline.steps, outline.next_step), sums).cleared

    def _followed(self, batches: _Batches, steps: Sequence[tuple[int, int, int]], sums: _Sums) -> _Batches:
        """Returns what model calls clear, which depends on all calls before them.

        At each call the results that may go are cleared if they weigh at least as much as what follows the first of
        them and was sent before. That is what the provider has to read once more.
        """
        gains, contents, results = sums
        keep, keep_in_turn = self.keep_results, self._kept_in_turn
        done, cleared, before, sent = batches
        for now, there, before_turn in islice(steps, done, None):
            limit = min(there - keep, before)
            if limit > cleared and gains[limit] > gains[cleared]:
                limit = min(limit, max(there - keep_in_turn, before_turn))
                gain = gains[limit] - gains[cleared] if limit > cleared else 0
                # Results that stay in any case come before the first that goes.
                first = bisect_right(gains, gains[cleared], cleared) - 1
                if gain and gain >= contents[sent] - contents[results[first].content] - gain:
                    cleared = limit
            sent, before = now, there
        return _Batches(len(steps), cleared, before, sent)

    @property
    def _kept_in_turn(self) -> int:
        return max(self.keep_results, self.keep_in_turn or 0)


class _Sums(NamedTuple):
    """Running totals of tokens.

    Attributes:
        results: those of the results that may be cleared, before each result and of all.
        contents: those of the contents, before each content and of all.
        places: the places of all results.
    """

    results: Sequence[int]
    contents: Sequence[int]
    places: Sequence[Place]


class _Batches(NamedTuple):
    """Holds what the first model calls of a history cleared.

    Attributes:
        calls: the number of these calls.
        cleared: how many of the oldest results they cleared.
        results: how many results there were at the last of them.
        sent: the number of contents that it sent.
    """

    calls: int = 0
    cleared: int = 0
    results: int = 0
    sent: int = 0

"""Bodies of older tool results give way to short notes, in batches that stay put."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._settings import at_least, names
from adk_context_pack.context_pass import ContextPass
from adk_context_pack.history.cleared_note import is_note
from adk_context_pack.history.clearing_editor import ClearingEditor
from adk_context_pack.history.groups import Pairing, Place, model_calls, pair, user_turns
from adk_context_pack.history.voices import Voices
from adk_context_pack.history.waiting import waiting_calls
from adk_context_pack.model_call import ModelCall
from adk_context_pack.tokens import Counter, TokenMeter, meter_of, valid_counter


@dataclass(frozen=True, kw_only=True)
class ClearToolResults(ContextPass):
    """Replaces the bodies of older tool results by a note that says what was there.

    The note names the tool, the size, what came of the call (status or error, counts, short values), and the handle
    if the result has one. The call and its result stay where they are, paired; the session keeps the body. What the
    model has not answered yet, results of waiting calls, results with media and orphans stay as they are.

    Args:
        keep_results: how many of the newest results always stay.
        keep_in_turn: how many of the newest results of the running turn stay, where that is more; a turn's answer
            needs more of them than the next turn does. None for `keep_results`.
        min_tokens: results smaller than this stay.
        exclude_tools: tools whose results stay.
        clear_args: whether the arguments of a cleared result's call go, too, if they have `min_tokens`. Calls that
            carry a thought signature keep them.
        counter: a tokenizer of one's own, from text to tokens; without one, tokens are estimated.

    Cost to the prompt cache: a batch is cleared at the model call at which it takes away at least as many tokens as
    must be sent anew behind it. Until the next batch each request begins with the one before it. When that is
    depends on the history alone, so that it comes out the same in another process. With `keep_results=0` little
    stands behind the results of a finished turn, so they go as soon as the next turn begins, at almost no cost; each
    result that is kept beyond its turn is sent in full once more.
    """

    keep_results: int = 3
    keep_in_turn: int | None = None
    min_tokens: int = 200
    exclude_tools: Collection[str] = field(default=())
    clear_args: bool = False
    counter: Counter | None = None

    def __post_init__(self) -> None:
        """Checks the settings."""
        super().__post_init__()
        at_least(self, "keep_results", self.keep_results, 0)
        if self.keep_in_turn is not None:
            at_least(self, "keep_in_turn", self.keep_in_turn, 0)
        at_least(self, "min_tokens", self.min_tokens, 1)
        object.__setattr__(self, "exclude_tools", names(self, "exclude_tools", self.exclude_tools))
        valid_counter(self, self.counter)

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """`request` with older results as notes; the same object where nothing is worth clearing."""
        contents = request.contents or []
        pairing = pair(contents)
        if len(pairing.results) <= self.keep_results:
            return request
        meter = meter_of(call, self.counter)
        editor = ClearingEditor(contents, meter, findable="search_history" in (request.tools_dict or {}))
        results = list(pairing.results)
        sizes = self._sizes(results, pairing, waiting_calls(pairing, call), editor)
        if not any(sizes):
            return request
        cleared = self._cleared(_history(contents, pairing, Voices.of(call), meter), results, sizes)
        for place, size in zip(results[:cleared], sizes, strict=False):
            if size and editor.clear_result(place, size) and self.clear_args:
                editor.clear_args(pairing.call_of[place], self.min_tokens)
        if not editor.count:
            return request
        call.note(f"cleared {editor.count} tool results, {editor.saved} tokens")
        return request.model_copy(update={"contents": editor.contents()})

    def _sizes(
        self, results: Iterable[Place], pairing: Pairing, waiting: Collection[Place], editor: ClearingEditor
    ) -> list[int]:
        """The tokens of each result that may go; 0 for those that stay whatever their age."""
        found = []
        for place in results:
            result = pairing.results[place]
            stays = (
                pairing.call_of.get(place, place) in waiting
                or place not in pairing.call_of
                or result.name in self.exclude_tools
                or getattr(result, "parts", None)
                or is_note(result.response)
            )
            size = 0 if stays else editor.meter.payload(result.response)
            found.append(size if size >= self.min_tokens and editor.is_worth_it(place, size) else 0)
        return found

    def _cleared(self, history: _History, results: Sequence[Place], sizes: Sequence[int]) -> int:
        """How many of the oldest results are cleared, found by going through all model calls of the history.

        At each call the results that may go are cleared if they weigh at least as much as what was sent before and
        stands behind the first of them: that is what the provider must read anew.
        """
        gains = [0, *accumulate(sizes)]
        cleared = 0
        for sent, now, turn in history.steps:
            there = bisect_left(results, (now,))
            in_turn = max(there - self._kept_in_turn, bisect_left(results, (turn,)))
            limit = min(there - self.keep_results, in_turn, bisect_left(results, (sent,)))
            gain = gains[limit] - gains[cleared] if limit > cleared else 0
            if gain == 0:
                continue
            first = next(index for index in range(cleared, limit) if sizes[index])
            if gain >= history.tokens[sent] - history.tokens[results[first].content] - gain:
                cleared = limit
        return cleared

    @property
    def _kept_in_turn(self) -> int:
        return max(self.keep_results, self.keep_in_turn or 0)


class _History(NamedTuple):
    """The model calls of a history: for each, what had been sent before it, what it sent, and where its turn began."""

    steps: list[tuple[int, int, int]]
    tokens: list[int]


def _history(contents: Sequence[types.Content], pairing: Pairing, voices: Voices, meter: TokenMeter) -> _History:
    turns = user_turns(contents, pairing, voices)
    steps = []
    sent = 0
    for now in (*model_calls(contents, voices), len(contents)):
        begun = bisect_left(turns, now)
        steps.append((sent, now, turns[begun - 1] if begun else 0))
        sent = now
    return _History(steps, [0, *accumulate(map(meter.content, contents))])

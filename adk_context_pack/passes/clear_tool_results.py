"""Makes tool results shorter: as notes in place of older or repeated bodies, or with tables as CSV."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, islice
from math import inf
from operator import is_not, sub
from typing import Any, ClassVar, NamedTuple

from adk_context_pack._adk import LlmRequest, types
from adk_context_pack._adk.known_tools import DECLARED, kind_in, openers_in, takes_references
from adk_context_pack.conversation import contents as messages
from adk_context_pack.conversation import outline as outlines
from adk_context_pack.conversation.clearing import ClearingEditor, compacted, is_shortened
from adk_context_pack.conversation.contents import KEY, KnownContents, known_contents, said_in, shortened, whole_of
from adk_context_pack.conversation.ledger import arguments_in
from adk_context_pack.conversation.model_call import ModelCall, Weighed
from adk_context_pack.conversation.outline import Outline, Place, Step, outline_of, part_at, waiting_calls
from adk_context_pack.conversation.token_estimate import Counter, least_cached, meter_of
from adk_context_pack.errors import a_number, at_least, counted, names, positive, valid_counter
from adk_context_pack.passes.context_pass import ContextPass, own_passes
from adk_context_pack.reports.call_report import ADDED_TOOLS

_SURE = 0.7  # The share of estimated savings that a batch may spend. Estimates are high, most of all those of JSON.
_SPENT = 0.55  # The same for what was saved so far, which is all in JSON.
_RISK = 0.037  # What a session may cost more if it ends with a batch, as estimated: at most 4 % of what it has cost.
_DECLARING = "read again where read_back is declared"
_CACHED_SECONDS = 600  # Anthropic keeps a prompt for 5 minutes after its last use, OpenAI for 5 to 10.


@dataclass(frozen=True, kw_only=True)
class ClearToolResults(ContextPass):
    """Replaces the bodies of older tool results by notes that say what was there.

    A note gives the size, the outcome (status or error, counts, short values), identifiers that were in the result, and
    the handle if it has one. The call and its result stay where they are, paired, and the session keeps the body. What
    the model has not answered yet, results of waiting calls, results with media and orphans stay as they are.

    Args:
        keep_results: how many of the newest results always stay.
        keep_in_turn: how many of the newest results of the running turn stay, if that is more. A turn's answer
            needs more of them than the next turn does. None for `keep_results`.
        min_tokens: results smaller than this stay.
        exclude_tools: tools whose results stay.
        clear_args: whether the arguments of a cleared result's call are cleared as well, if they have `min_tokens`.
            Calls that carry a thought signature keep them.
        max_ledger_tokens: the most tokens for the identifiers in one note (ids, codes, e-mail addresses, paths, dates),
            twice as many if `max_tokens` is 10,000 or less, and no more than a third of the result. 0 lists none. A
            note on a result that was made smaller also keeps up to 60 tokens of what that says of all rows.
        counter: a tokenizer, from text to tokens. Without one, tokens are estimated.
        cached_price: the price of a token that the provider finds in its cache, as a share of that of another one.
        max_tokens: contents of more than half of these tokens are cleared whatever that costs, since a budget would
            leave out more. None for no such limit.

    Cost to the prompt cache: a batch is cleared at the model call at which that pays. By then, to send its results in
    as many further calls as there were would cost at least as much as to read what follows them once more. Where the
    plugin declares `read_back` for the first batch, this one also pays for the declaration and for the whole prefix.
    Since the session may end with this call, it spends no more than `CompactResults` has saved and 4 % of what the
    session has cost, unless the provider reads all again in any case: after a pause of 10 minutes (or as long as the
    app's own cache lasts), or with the first result that needs `read_back`. The history alone decides when, so that
    another process decides alike. No batch leaves a request too small for the provider's cache, if that is known. With
    `keep_results=0` results of a finished turn are cleared as soon as the next one begins, at almost no cost, since
    little follows them. Once an agent reads again what has left its running turn, no more leaves that turn.
    """

    cuts_history = needs_results = True
    keep_results: int = 3
    keep_in_turn: int | None = None
    min_tokens: int = 200
    exclude_tools: Collection[str] = field(default=())
    clear_args: bool = False
    max_ledger_tokens: int = 12
    counter: Counter | None = None
    cached_price: float = 0.1
    max_tokens: int | None = None
    _checks: ClassVar = {
        "keep_results": partial(at_least, minimum=0),
        "keep_in_turn": partial(at_least, minimum=0, optional=True),
        "min_tokens": positive,
        "max_ledger_tokens": partial(at_least, minimum=0),
        "exclude_tools": names,
        "counter": valid_counter,
        "max_tokens": partial(positive, optional=True),
        "cached_price": partial(a_number, is_right=lambda share: 0 <= share <= 1, expected="a number from 0 to 1"),
    }

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` with older results as notes, or the same object if nothing is worth clearing."""
        if (cut := self._cut(request, call)) is None:
            return request
        editor, outline, gains = cut
        for place, gain in gains:
            if gain:
                editor.clear_result(place, gain)
                if self.clear_args:
                    editor.clear_args(outline.call_of[place], self.min_tokens)
        call.note(f"cleared {counted(editor.count, 'tool result')}, {editor.saved} tokens")
        return shortened(request, editor.contents(), call, (self, editor.taken))

    def leaves_history(self, request: LlmRequest, call: ModelCall) -> bool:
        """Returns whether results are cleared at this call. `apply` then clears the same ones."""
        cut = self._cut(request, call, offered=True)
        call.memo[str(id(self))] = cut and (len(cut[1].results), len(cut[2]))
        return cut is not None

    def _cut(self, request: LlmRequest, call: ModelCall, *, offered: bool = False) -> _Cut | None:
        """Returns what is cleared at this call, or None for nothing."""
        contents, meter = request.contents or [], meter_of(call, self.counter)
        asked: tuple[int, int] | None = call.memo.get(str(id(self)), (0, 0))
        sizes = meter.sizes(contents)
        if asked is None or max(sizes, default=0) < self.min_tokens:
            return None
        outline = outline_of(call, contents)
        results = list(outline.results)
        if len(results) <= self.keep_results:
            return None
        # In steps, so that an instruction of changing length moves no cut.
        fixed = sum(meter.fixed(request)) + DECLARED
        fixed |= (1 << max(fixed.bit_length() - 4, 0)) - 1
        if offered and not openers_in(request).history:
            call.memo[_DECLARING] = fixed
        known, whole, taken = known_contents(call, contents), whole_of(call, contents), arguments_in(request)
        limits = self.max_ledger_tokens, self.max_tokens
        editor = ClearingEditor(known, meter, limits=limits, whole=whole, taken=taken)
        shortened = {kind for each in own_passes(call.context) for kind in each.shortens}
        excluded = outlines.lasting_tools(request, outline, shortened=shortened).union(self.exclude_tools)
        weigh = partial(self._weigh, editor, outline, excluded)
        gains = known.cache.grow(("clearable", self, excluded, taken), _Gains, results, weigh)
        waiting = waiting_calls(outline, call)
        pinned = outlines.pinned_results(request, call, outline)
        stays = [place in pinned or outline.call_of.get(place) in waiting for place in results]
        free = [0 if held else gain for held, gain in zip(stays, gains, strict=True)]
        if not any(free):
            return None
        fixed, is_late = call.memo.get(_DECLARING, fixed), _DECLARING in call.memo
        lasting = max(_CACHED_SECONDS, getattr(getattr(request, "cache_config", None), "ttl_seconds", 0))
        totals = [[0, *accumulate(each)] for each in (free, sizes, map(sub, meter.sizes(whole), sizes))]
        opened = gains.opened if is_late or call.memo.get(ADDED_TOOLS) else -1
        least = least_cached(request, call, meter)
        sums = _Sums(totals[0], totals[1], totals[2], results, outline.repeats, fixed, is_late, opened, lasting, least)
        # What a waiting call or an active skill holds back now was not held back at earlier calls.
        name = None if any(stays) else ("batches", self, excluded, taken, fixed, is_late, lasting, least)
        cleared = asked[1] if asked[0] == len(results) else self._cleared(outline, sums, known, name)
        return (editor, outline, list(zip(results[:cleared], free, strict=False))) if cleared else None

    def _weigh(
        self, editor: ClearingEditor, outline: Outline, excluded: Collection[str], gains: _Gains, new: Sequence[Place]
    ) -> None:
        sizes = editor.meter.sizes(editor.given)
        for place in new:
            if gains.opened == inf and is_shortened(editor.result(place).response):
                gains.opened = place.content
            # Most results need not be weighed by themselves, since their contents are too small already.
            call = outline.call_of.get(place)
            is_large = call is not None and sizes[place.content] >= self.min_tokens
            size = editor.size(place, self.min_tokens, excluded) if is_large else 0
            gains.append(editor.gain(place, size) if size else 0)

    def _cleared(self, outline: Outline, sums: _Sums, known: KnownContents, name: Hashable) -> int:
        """Returns how many of the oldest results are cleared. What earlier calls cleared is kept under `name`."""
        batches = self._followed(known.cache.peek(name) or _Batches(), outline.steps, sums)
        if name is not None:
            known.cache.keep(name, batches)
        return self._followed(batches, (*outline.steps, outline.next_step), sums).cleared

    def _followed(self, batches: _Batches, steps: Sequence[Step], sums: _Sums) -> _Batches:
        """Returns what model calls clear, which depends on all calls before them.

        At each call the results that may go are cleared if that pays, and if they have been sent so often that to
        wait for more of them costs no less.
        """
        gains, contents, spared, results, again, fixed, is_late, opened, lasting, least = sums
        keep, keep_in_turn = self.keep_results, max(self.keep_results, self.keep_in_turn or 0)
        done, cleared, before, sent, held, ahead, needy = batches
        for calls, (now, there, before_turn, pause) in enumerate(islice(steps, done, None), done + 1):
            # The provider reads all again after a long pause, and if `read_back` is declared for something else.
            is_cold = calls == 1 or pause > lasting or (is_late and not cleared and sent <= opened < now)
            cached, declares = 1.0 if is_cold else self.cached_price, is_late and not cleared and opened >= now
            ahead += spared[now] - spared[sent] + cached * (spared[sent] + gains[cleared] - DECLARED * (cleared > 0))
            ahead += _RISK * (contents[now] - contents[sent] + cached * (fixed + contents[sent] - gains[cleared]))
            # An agent that reads again what has left its running turn would do so without end if more were to leave.
            if cleared > before_turn and any(number < cleared for number in again[before:there]):
                needy = before_turn
            in_turn = before_turn if needy == before_turn else max(there - keep_in_turn, before_turn)
            limit = min(there - keep, before, in_turn)
            if limit > cleared and (gain := gains[limit] - gains[cleared]):
                # Results that stay in any case come before the first that goes, and after the last one.
                first = results[bisect_right(gains, gains[cleared], cleared) - 1].content
                last = results[bisect_left(gains, gains[limit], cleared) - 1].content
                kept = fixed + contents[first] - gains[cleared]
                read_again = contents[sent] - contents[first] - gain + (declares or kept < least) * kept
                held += cached * gain
                waited = held >= (1 - cached) * (contents[sent] - contents[last + 1])
                dear, saved = (1 - cached) * read_again, cached * (gain - DECLARED * declares)
                # The session may end with this call.
                pays = saved * (calls + 1) >= dear and (opened < now or dear <= _SPENT * ahead + _SURE * saved)
                # A provider reads in full at each call what is too little for its cache, and the history grows.
                whole = fixed + contents[now] - gains[cleared]
                is_too_little = least > whole - gain > self.cached_price * max(whole, least)
                # A batch that makes no room would only cost.
                room = min(2 * (whole - fixed), whole - fixed + 4 * gain, 64 * gain)
                crowded = self.max_tokens is not None and room > self.max_tokens
                if crowded or (waited and pays and not is_too_little):
                    ahead += saved - dear
                    cleared, held = limit, 0.0
            sent, before = now, there
        return _Batches(len(steps), cleared, before, sent, held, ahead, needy)


_Cut = tuple[ClearingEditor, Outline, Sequence[tuple[Place, int]]]
"""An editor, the outline, and the oldest results, each with the tokens that it saves or 0 if it stays."""


class _Sums(NamedTuple):
    """Running totals of tokens: what notes would save of results, those of contents, and what compact forms spare.

    `again` says which results were read again, and `is_late` whether the first batch makes the provider read what is
    fixed again, to declare `read_back`. The content `opened` has the first result that needs it, or is -1 if the agent
    has a tool of its own. The provider forgets a prompt after `lasting` seconds, and caches none of fewer tokens than
    `least`.
    """

    results: Sequence[int]
    contents: Sequence[int]
    spared: Sequence[int]
    places: Sequence[Place]
    again: Sequence[float]
    fixed: int
    is_late: bool
    opened: float
    lasting: float
    least: int


class _Batches(NamedTuple):
    """Holds how many of the oldest results the first model calls of a history cleared, and what the last one sent.

    `held` is what it has cost since the last batch to send results that could have been cleared, and `ahead` what these
    calls have cost less than without any pass, in the price of a token that is not cached. `needy` counts the results
    before the newest turn in which the agent read again what had left it.
    """

    calls: int = 0
    cleared: int = 0
    results: int = 0
    sent: int = 0
    held: float = 0
    ahead: float = 0
    needy: int = -1


class _Gains(list[int]):
    """Holds what notes would save of each result, and the content with the first result that needs `read_back`."""

    opened: float = inf


@dataclass(frozen=True, kw_only=True)
class KeepNewestResult(ContextPass):
    """Puts a short note in place of older results that a newer one repeats.

    A result is repeated if the same tool returns the same content for the same arguments. The call and its result stay
    paired. Results of waiting calls and orphans are left alone.

    Args:
        min_tokens: results smaller than this stay.
        exclude_tools: tools whose results stay.
        counter: a tokenizer, from text to tokens. Without one, tokens are estimated.

    Cost to the prompt cache: when a result is repeated, everything behind the older one misses the cache once.
    """

    cuts_history = needs_results = True
    min_tokens: int = 100
    exclude_tools: Collection[str] = field(default=())
    counter: Counter | None = None
    _checks: ClassVar = {"min_tokens": positive, "exclude_tools": names, "counter": valid_counter}

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` with notes for repeated results, or the same object if none is repeated."""
        contents = request.contents or []
        outline = outline_of(call, contents)
        if len(outline.call_of) < 2:  # noqa: PLR2004 - one result repeats nothing
            return request
        editor = ClearingEditor(known_contents(call, contents), meter_of(call, self.counter))
        waiting = waiting_calls(outline, call)

        def said(place: Place) -> list[Any]:
            return [said_in(part_at(contents, each))[3] for each in (outline.call_of[place], place)]

        alike: dict[tuple[str | None, int], list[Place]] = defaultdict(list)
        for place, asked in reversed(outline.call_of.items()):
            name = outline.results[place]
            size = 0 if asked in waiting else editor.size(place, self.min_tokens, self.exclude_tools)
            # Only results of the same size are worth comparing.
            newer = alike[name, size]
            if size and any(said(place) == said(other) for other in newer):
                editor.put_result(place, size, {KEY: f"the same as the newer result of {name} for the same arguments"})
            elif size:
                newer.append(place)
        if not editor.count:
            return request
        call.note(f"left out {counted(editor.count, 'repeated result')}, {editor.saved} tokens")
        return shortened(request, editor.contents(), call, self)


@dataclass(frozen=True, kw_only=True)
class CompactResults(ContextPass):
    r"""Shows tables in tool results as CSV, and JSON in texts as what it holds.

        {"orders": [{"id": 1, "at": {"city": "Oslo"}, "paid": true}, {"id": 2, "at": {"city": "Bergen"}, "paid": …
        {"orders": {"csv": "id,at.city\n1,Oslo\n2,Bergen", "every_row": {"paid": true}}}

    A table is a list or a mapping of objects of which most have the same keys. `every_row` has what is the same in all
    of them, `key` the column of a mapping's keys. With odd rows, lists or groups a table has `columns`, and `rows` or
    `groups`. Each value stays as it was: texts that read as numbers have quotes, and JSON in a text is opened only if
    it would be written alike. Results stay as they are that would become little shorter, or were made smaller when the
    tool returned, those of ADK's and the pack's own tools, and all where an agent writes references into results.

    Args:
        min_tokens: smaller results stay.
        exclude_tools: tools whose results stay.

    Cost to the prompt cache: none. What a result becomes depends on the result alone, save that it stays whole until a
    request has the 2,048 or 4,096 tokens from which on some providers cache.
    """

    needs_results = keeps_all = True
    min_tokens: int = 200
    exclude_tools: Collection[str] = field(default=())
    _checks: ClassVar = {"min_tokens": positive, "exclude_tools": names}

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` with shorter results, or the same object if there are none."""
        contents = request.contents or []
        # The plugin asks other passes what they make of the same contents before any pass runs.
        asked = (shown for shown, whole, by in call.memo.get(messages.MADE_OF, ()) if whole is contents and by is self)
        if (shown := next(asked, None)) is None:
            sizes = (meter := meter_of(call)).sizes(contents)
            if max(sizes, default=0) < self.min_tokens or takes_references(call.context):
                return request

            def take(made: Weighed, new: Sequence[types.Content]) -> None:
                part_of = partial(self._part, tools=request.tools_dict)
                for index, content in enumerate(new, len(contents) - len(new)):
                    if sizes[index] >= self.min_tokens and (short := messages.mapped(content, part_of)) is not content:
                        made[index] = short
                        made.bytes += 4 * sizes[index]

            made = known_contents(call, contents).cache.grow(("compacted", self), Weighed, contents, take)
            # A request that is too small for the provider's cache is read in full at each call.
            least, before = least_cached(request, call, meter), accumulate(sizes, initial=sum(meter.fixed(request)))
            whole = bisect_left([*before], least) if least > 1536 else 0  # noqa: PLR2004 - 1,024 are soon reached
            shown = [made.get(index, old) if index >= whole else old for index, old in enumerate(contents)]
            if not any(map(is_not, shown, contents)):
                return request
        call.note(f"wrote the results of {counted(sum(map(is_not, shown, contents)), 'content')} with tables as CSV")
        return shortened(request, shown, call, self)

    def _part(self, part: types.Part, tools: Mapping[str, Any]) -> types.Part:
        result = part.function_response
        if result is None or result.name in self.exclude_tools or kind_in(tools, result.name) is not None:
            return part
        response = result.response
        if not response or part.thought_signature or is_shortened(response):
            return part
        if (short := compacted(response)) is response:
            return part
        return messages.changed(part, "function_response", messages.changed(result, "response", short))

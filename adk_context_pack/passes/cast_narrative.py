"""The narrative caster: what other agents did, retold as one short, attributed, fenced account."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, ClassVar, NamedTuple

from google.adk.models.llm_request import LlmRequest

from adk_context_pack._adk.known_tools import READ_BACK, openers_in
from adk_context_pack.conversation.contents import text_length, text_part, user_content
from adk_context_pack.conversation.known_contents import known_contents
from adk_context_pack.conversation.model_call import OFFERED, ModelCall
from adk_context_pack.errors import at_least, counted, positive
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.passes.narrative import Narrative, QuoteLimits, ResultTexts
from adk_context_pack.relays.relayed_blocks import RelayedBlock, find_relayed, relays_key
from adk_context_pack.stores.codec import OFF_LOOP_BYTES


class _Account(NamedTuple):
    """Retells a run of blocks, or a part of it.

    Attributes:
        start: the place of the first block, counted from the beginning of the run.
        stop: the place after the last one.
        parts: texts, and media and code where they came.
        shortened: how many texts are not shown whole.
    """

    start: int
    stop: int
    parts: Sequence[Any]
    shortened: int


@dataclass(slots=True)
class _Accounts:
    """Holds the accounts of a session for later calls.

    Attributes:
        key: what tells that a request has the same relays, or 0 if nothing does.
        placed: the accounts, with the places of what they retell in the contents.
        of_runs: the accounts of each run of blocks, by the hash of what they were made of.
    """

    key: int = 0
    placed: list[_Account] = field(default_factory=list)
    of_runs: dict[int, list[_Account]] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """About how many bytes of memory they take."""
        return sum(700 + len(part) for made in self.of_runs.values() for one in made for part in one.parts)


@dataclass(frozen=True, kw_only=True)
class CastNarrative(QuoteLimits, ContextPass):
    """Retells each run of relayed blocks as one user content: one preamble, one fence, one entry for each action.

    An entry names the agent, and what it said, or which tool it called with which arguments and what came of it. A call
    and its result are one entry. Small results are quoted whole, as compact JSON with tables as columns and rows. Of a
    larger one the entry quotes what the plugin would show: totals and counts over all rows, outlines of texts. Of the
    largest it gives status, error text, counts and shapes. Beside that stand the size of the whole and its handle if it
    has one. Where the agent has a tool for it, whatever is shortened names the event that this tool opens. The fence is
    there on releases without one, too. Media and code stay as they are, where they came. A block whose retelling would
    be larger than ADK's own words stays as ADK wrote it.

    Args:
        max_said_chars: the longest text of what an agent said or thought. A longer one is cut, with a mark that says
            how much is missing.
        max_args_chars: the longest rendering of a call's arguments (compact JSON).
        max_result_chars: the longest description of a result that is not quoted.
        max_error_chars: the longest error text of a result that is not quoted whole.
        max_result_tokens: the most estimated tokens that are quoted of a result, whole or in part. 0 describes every
            result.
        max_quoted_tokens: the estimated tokens of all results that one account quotes whole. The older ones come first,
            since what was already sent must not change.

    Cost to the prompt cache: none, save that a call's entry is completed when its result arrives. What an entry says,
    and which blocks are retold, depends only on what stands before it in the session.
    """

    _checks: ClassVar = {
        **dict.fromkeys(("max_said_chars", "max_args_chars", "max_result_chars", "max_error_chars"), positive),
        **dict.fromkeys(("max_result_tokens", "max_quoted_tokens"), partial(at_least, minimum=0)),
    }

    def is_long(self, request: LlmRequest) -> bool:
        """Tells whether there may be large results to sum up, or a long history."""
        return super().is_long(request) or sum(map(text_length, request.contents)) >= OFF_LOOP_BYTES

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` with runs of relayed blocks retold, or the same object if there are none."""
        if (key := relays_key(request.contents, call)) is None or not (accounts := self._retold(request, call, key)):
            return request
        contents = list(request.contents)
        for start, stop, parts, _ in reversed(accounts):
            shown = [text_part(part) if isinstance(part, str) else part for part in parts]
            contents[start:stop] = [user_content(shown)]
        call.note(f"retold {counted(sum(one.stop - one.start for one in accounts), 'block')} as {len(accounts)}")
        return request.model_copy(update={"contents": contents})

    def leaves_history(self, request: LlmRequest, call: ModelCall) -> bool:
        """Returns whether an account shortens something, so that its reader needs to open events."""
        if (key := relays_key(request.contents, call)) is None:
            return False
        # Without the way back an account is shorter, and so may pay if it would not with it.
        return any(one.shortened for way in (READ_BACK, "") for one in self._retold(request, call, key, way))

    def _retold(self, request: LlmRequest, call: ModelCall, key: int, way: str = "") -> list[_Account]:
        """Returns the accounts for an agent that opens history in some way, with the places of what they retell."""
        contents = request.contents
        openers = openers_in(request, offered=call.memo.get(OFFERED, ()))
        openers = openers._replace(history=openers.history or way)
        known, slot = known_contents(call, contents), ("accounts", self, openers)
        before: _Accounts = known.run_cache.peek(slot) or known.cache.kept(slot, _Accounts)
        if key and key == before.key:
            return before.placed
        empty = Narrative(call.run_memo.setdefault(f"result texts {self}", ResultTexts(self)), openers)
        now = _Accounts(key)
        for _, group in groupby(enumerate(find_relayed(contents, call)), key=lambda each: each[1].position - each[0]):
            run = [block for _, block in group]
            start = run[0].position
            marks = ((block.event.id, block.event.timestamp) for block in run)
            made_of = hash((*known.hashes[start : start + len(run)], *marks))
            made = before.of_runs[made_of] if made_of in before.of_runs else list(_accounts(run, empty))
            now.placed += [one._replace(start=start + one.start, stop=start + one.stop) for one in made]
            now.of_runs[made_of] = made
        known.run_cache.keep(slot, now)
        # Media must not outlive the run.
        texts = {n: made for n, made in now.of_runs.items() if all(isinstance(p, str) for a in made for p in a.parts)}
        known.cache.keep(slot, now if texts == now.of_runs else _Accounts(of_runs=texts))
        return now.placed


def _accounts(run: Sequence[RelayedBlock], empty: Narrative) -> Iterator[_Account]:
    """Yields the accounts of those parts of a run that are worth retelling.

    Decided block by block, looking back only: were it decided for the run as a whole, a block already sent as ADK
    wrote it would be retold when the run grows, and the provider's cached prefix would break. Only a call that still
    waits for its result is decided together with it.
    """
    narrative = empty.of()
    start, size, pays = 0, 0, False
    for place, block in enumerate(run):
        length = text_length(block.content)
        narrative.add(block)
        if pays and narrative.length > size + length:
            before = empty.of(*run[start:place])
            yield _Account(start, place, before.parts(), before.shortened)
            start, size, narrative, pays = place, 0, empty.of(block), False
        size += length
        pays = pays or narrative.length < size
        if not pays and not any(narrative.waiting.values()):
            start, size, narrative = place + 1, 0, empty.of()
    if pays:
        yield _Account(start, len(run), narrative.parts(), narrative.shortened)

"""The narrative caster: what other agents did, retold as one short, attributed, fenced account."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.known_tools import READ_BACK, Openers, openers_in
from adk_context_pack.conversation.contents import text_length
from adk_context_pack.conversation.known_contents import known_contents
from adk_context_pack.conversation.model_call import OFFERED, ModelCall
from adk_context_pack.errors import at_least, counted, positive
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.relays.narrative import Narrative, QuoteLimits, ResultTexts, WrittenLengths
from adk_context_pack.relays.relayed_blocks import RelayedBlock, Relays, find_relayed, relays_of

_Cast = tuple[list[RelayedBlock], Narrative]


@dataclass(frozen=True, kw_only=True)
class CastNarrative(ContextPass):
    """Retells each run of relayed blocks as one user content: one preamble, one fence, one entry for each action.

    An entry names the agent, and what it said, or which tool it called with which arguments and what came of it. A call
    and its result are one entry. Small results are quoted whole, as compact JSON with tables as columns and rows. Of a
    larger one the entry quotes what is left when long texts, then long lists, are cut. Of the largest it gives status,
    error text, counts and shapes. Beside that stand the size of the whole and its handle if it has one. Where the
    agent has a tool for it, whatever is shortened names the event that this tool opens. The fence is there on
    releases without one, too. Media and code stay as they are, where they came. A block whose retelling would be larger
    than ADK's own words stays as ADK wrote it.

    Args:
        max_said_chars: the longest text of what an agent said or thought. A longer one is cut, with a mark that says
            how much is missing.
        max_args_chars: the longest rendering of a call's arguments (compact JSON).
        max_result_chars: the longest description of a result that is not quoted, or text of one quoted in part.
        max_error_chars: the longest error text of a result that is not quoted whole.
        max_result_tokens: the most estimated tokens that are quoted of a result, whole or in part. 0 describes every
            result.
        max_quoted_tokens: the estimated tokens of all results that one account quotes whole. The older ones come first,
            since what was already sent must not change.

    Cost to the prompt cache: none, save that a call's entry is completed when its result arrives. What an entry says,
    and which blocks are retold, depends only on what stands before it in the session.
    """

    max_said_chars: int = 2000
    max_args_chars: int = 300
    max_result_chars: int = 300
    max_error_chars: int = 500
    max_result_tokens: int = 1000
    max_quoted_tokens: int = 8000

    def __post_init__(self) -> None:
        """Checks the settings."""
        super().__post_init__()
        for setting in ("max_said_chars", "max_args_chars", "max_result_chars", "max_error_chars"):
            positive(self, setting, getattr(self, setting))
        for setting in ("max_result_tokens", "max_quoted_tokens"):
            at_least(self, setting, getattr(self, setting), 0)

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` with runs of relayed blocks retold, or the same object if there are none."""
        relays = relays_of(request.contents, call)
        if relays is None or not (casts := self._casts(request, call, _openers(request, call), relays)):
            return request
        contents = list(request.contents)
        for blocks, narrative in reversed(casts):
            contents[blocks[0].position : blocks[-1].position + 1] = [narrative.to_content()]
        call.note(f"retold {counted(sum(len(blocks) for blocks, _ in casts), 'block')} as {len(casts)}")
        return request.model_copy(update={"contents": contents})

    def leaves_history(self, request: LlmRequest, call: ModelCall) -> bool:
        """Returns whether an account shortens something, so that its reader needs to open events."""
        if (relays := relays_of(request.contents, call)) is None:
            return False
        openers = _openers(request, call)
        # Without the way back an account is shorter, and so may pay if it would not with it.
        ways = (openers.history,) if openers.history else (READ_BACK, "")
        return any(
            narrative.shortened
            for way in ways
            for _, narrative in self._casts(request, call, openers._replace(history=way), relays)
        )

    def _casts(self, request: LlmRequest, call: ModelCall, openers: Openers, relays: Relays) -> list[_Cast]:
        # The plugin asks `leaves_history` right before it runs the pass over the same contents.
        slot = f"casts {id(self)} {openers}"
        known: tuple[list[types.Content], list[_Cast]] | None = call.memo.get(slot)
        if known is None or known[0] is not request.contents:
            call.memo[slot] = known = request.contents, self._found(request.contents, call, openers, relays)
        return known[1]

    def _found(self, contents: list[types.Content], call: ModelCall, openers: Openers, relays: Relays) -> list[_Cast]:
        # In the tool loop of an agent that others handed over to, nothing is relayed that the call before did not have.
        kept = known_contents(call, contents).texts(("casts", self, openers))
        before: tuple[Relays, list[_Cast]] | None = kept.get("casts")
        if before is not None and relays.repeats(before[0]):
            return before[1]
        lengths = self.max_said_chars, self.max_args_chars, self.max_result_chars, self.max_error_chars
        limits = QuoteLimits(*lengths, self.max_result_tokens, self.max_quoted_tokens)
        texts: ResultTexts | None = call.run_memo.get(("result texts", limits))
        if texts is None:
            sizes = call.session_memo.setdefault(("result sizes", limits), WrittenLengths())
            call.run_memo["result texts", limits] = texts = ResultTexts(limits, sizes)
        empty = Narrative(texts, openers)
        runs = groupby(enumerate(find_relayed(contents, call)), key=lambda each: each[1].position - each[0])
        casts = [cast for _, run in runs for cast in _casts([block for _, block in run], empty)]
        kept["casts"] = relays, casts
        return casts


def _openers(request: LlmRequest, call: ModelCall) -> Openers:
    return openers_in(request, offered=call.memo.get(OFFERED, ()))


def _casts(run: Sequence[RelayedBlock], empty: Narrative) -> Iterator[_Cast]:
    """Yields the parts of a run that are worth retelling, each with its account.

    Decided block by block, looking back only: were it decided for the run as a whole, a block already sent as ADK
    wrote it would be retold when the run grows, and the provider's cached prefix would break. Only a call that still
    waits for its result is decided together with it.
    """
    taken: list[RelayedBlock] = []
    narrative = empty.of()
    size = 0
    pays = False
    for block in run:
        length = text_length(block.content)
        narrative.add(block)
        if pays and narrative.length > size + length:
            yield taken, empty.of(*taken)
            taken, size, narrative = [], 0, empty.of(block)
            pays = False
        taken.append(block)
        size += length
        pays = pays or narrative.length < size
        if not pays and not narrative.is_waiting:
            taken, size, narrative = [], 0, empty.of()
    if pays:
        yield taken, narrative

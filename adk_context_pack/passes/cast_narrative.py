"""The narrative-casting rewriter: what other agents did, retold as one short, attributed, fenced account."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from google.adk.models.llm_request import LlmRequest

from adk_context_pack.conversation.contents import text_length
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.errors import positive
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.relays.narrative import Limits, Narrative
from adk_context_pack.relays.relayed_blocks import RelayedBlock, find_relayed


@dataclass(frozen=True, kw_only=True)
class CastNarrative(ContextPass):
    """Retells each run of relayed blocks as one user content: one preamble, one fence, one short line for each action.

    A line names the agent, and what it said, or which tool it called with which arguments and what came of it: the
    status, the error text, counts and shapes instead of bodies. A call and its result are one line. The fence is there
    on releases without one, too. Media and code stay as they are, where they came. A block whose retelling would be
    larger than ADK's own words stays as ADK wrote it.

    Args:
        max_said_chars: the longest text of what an agent said or thought; a longer one is cut, with a mark that says
            how much is missing.
        max_args_chars: the longest rendering of a call's arguments (compact JSON).
        max_result_chars: the longest description of a result.
        max_error_chars: the longest error text.

    Cost to the prompt cache: none, save that a call's line is completed when its result arrives. What a line says, and
    which blocks are retold, depends on what stands before it in the session alone.
    """

    max_said_chars: int = 2000
    max_args_chars: int = 300
    max_result_chars: int = 300
    max_error_chars: int = 500

    def __post_init__(self) -> None:
        """Checks the settings."""
        super().__post_init__()
        for setting in ("max_said_chars", "max_args_chars", "max_result_chars", "max_error_chars"):
            positive(self, setting, getattr(self, setting))

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """`request` with runs of relayed blocks retold; the same object where there are none."""
        blocks = find_relayed(request.contents, call)
        limits = Limits(self.max_said_chars, self.max_args_chars, self.max_result_chars, self.max_error_chars)
        casts = [cast for run in _runs(blocks) for cast in _casts(run, limits)]
        if not casts:
            return request
        contents = list(request.contents)
        for blocks, narrative in reversed(casts):
            contents[blocks[0].position : blocks[-1].position + 1] = [narrative.to_content()]
        call.note(f"retold {sum(len(blocks) for blocks, _ in casts)} blocks as {len(casts)}")
        return request.model_copy(update={"contents": contents})


def _runs(blocks: Sequence[RelayedBlock]) -> Iterator[list[RelayedBlock]]:
    run: list[RelayedBlock] = []
    for block in blocks:
        if run and block.position != run[-1].position + 1:
            yield run
            run = []
        run.append(block)
    if run:
        yield run


def _casts(run: Sequence[RelayedBlock], limits: Limits) -> Iterator[tuple[list[RelayedBlock], Narrative]]:
    """The parts of a run that are worth retelling, each with its account.

    Decided block by block, looking back only: were it decided for the run as a whole, a block already sent as ADK
    wrote it would be retold when the run grows, and the provider's cached prefix would break. Only a call that still
    waits for its result is decided together with it.
    """
    told: list[RelayedBlock] = []
    narrative = Narrative(limits)
    size = 0
    pays = False
    for block in run:
        length = text_length(block.content)
        narrative.tell(block)
        if pays and narrative.length > size + length:
            yield told, _retell(told, limits)
            told, size, narrative = [], 0, _retell([block], limits)
            pays = False
        told.append(block)
        size += length
        pays = pays or narrative.length < size
        if not pays and not narrative.is_waiting:
            told, size, narrative = [], 0, Narrative(limits)
    if pays:
        yield told, narrative


def _retell(blocks: Sequence[RelayedBlock], limits: Limits) -> Narrative:
    narrative = Narrative(limits)
    for block in blocks:
        narrative.tell(block)
    return narrative

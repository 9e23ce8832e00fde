"""Whether a part of an agent's history leaves its request, so that it needs a tool to find it again."""

from __future__ import annotations

from collections.abc import Sequence

from google.adk.models.llm_request import LlmRequest

from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.outline import outline_of
from adk_context_pack.conversation.pairing import part_at
from adk_context_pack.conversation.tokens import TokenMeter
from adk_context_pack.passes.clear_tool_results import ClearToolResults
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.passes.fit_token_budget import FitTokenBudget

# Estimates are set right by the provider's figures later than this is asked, and rarely by more than this. Being early
# costs one declaration; being late would cost the cached prefix a second time.
_EARLY = 0.5


def history_leaves(request: LlmRequest, call: ModelCall, passes: Sequence[ContextPass], meter: TokenMeter) -> bool:
    """Whether `passes` leave out, or are about to leave out, what was said or returned before.

    It does not go back to False while a session grows, so that the tools of an agent change once at most.

    Args:
        request: the request before the passes.
        call: whose request it is.
        passes: those that will run.
        meter: what counts; the passes may share it.
    """
    budget = min((entry.max_tokens for entry in passes if isinstance(entry, FitTokenBudget)), default=None)
    if budget is not None and meter.request(request) > budget * _EARLY:
        return True
    return any(isinstance(entry, ClearToolResults) and _clears(entry, request, call, meter) for entry in passes)


def _clears(entry: ClearToolResults, request: LlmRequest, call: ModelCall, meter: TokenMeter) -> bool:
    contents = request.contents or []
    if max(meter.sizes(contents), default=0) < entry.min_tokens:
        return False
    outline = outline_of(call, contents)
    _, there, before_turn = outline.next_step
    of_turn = there - max(entry.keep_results, entry.keep_in_turn or 0)
    old = list(outline.pairing.results)[: max(0, min(there - entry.keep_results, max(before_turn, of_turn)))]
    results = (part_at(contents, place).function_response for place in old)
    return any(
        result.name not in entry.exclude_tools and meter.payload(result.response) >= entry.min_tokens
        for result in results
        if result is not None
    )

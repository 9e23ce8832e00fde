"""Says near a limit what model calls were sent, and ends a run at it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from adk_context_pack._adk import CallbackContext, LlmRequest, LlmResponse, types
from adk_context_pack._adk.releases import end_loop, outermost_invocation
from adk_context_pack.conversation.contents import text_part, user_content
from adk_context_pack.conversation.model_call import ModelCall, totals_on
from adk_context_pack.errors import a_number, logger, must, one_of, positive
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.reports.call_report import CallReport
from adk_context_pack.reports.token_use import Prices

_NEAR = 0.8


@dataclass(frozen=True, kw_only=True)
class LimitSpending(ContextPass):
    """Adds up what the model calls of a session, or of a run of it, were sent, and notes it from four fifths on.

    The figures are the provider's on the session's events, or the pack's estimates where those have none, so that each
    process counts alike. What children of `AgentTool` were sent counts in the process that ran them, as long as it
    keeps their reports.

    The settings are those of `ContextPackPlugin`, and `reports` are the newest of the process. The line that
    `show_budget` adds is the last one of a request, which costs the prompt cache nothing. A provider that keeps the
    history is sent it at the first call and once for each tenth.
    """

    max_input_tokens: int | None = None
    max_cost: float | None = None
    prices: Prices = field(default_factory=Prices)
    limit_per: Literal["session", "run"] = "session"
    on_limit: Literal["end", "warn"] = "end"
    show_budget: bool = False
    reports: Iterable[CallReport] = field(default=(), repr=False, compare=False)
    _callers: dict[str, tuple[str, str]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self, "max_input_tokens", self.max_input_tokens, optional=True)
        if self.max_cost is not None:
            a_number(self, "max_cost", self.max_cost, lambda cost: 0 < cost < math.inf, "a number above 0")
        is_limited = self.max_input_tokens is not None or self.max_cost is not None
        expected = "given with max_input_tokens or max_cost"
        must(is_limited or not self.show_budget, self, "show_budget", self.show_budget, expected)
        one_of(self, "limit_per", self.limit_per, ("session", "run"))
        one_of(self, "on_limit", self.on_limit, ("end", "warn"))

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns the request, with a line on what is spent where `show_budget` asks for it."""
        share, before, said = self._spent(call)
        if share >= _NEAR:
            call.note(said)
            if before < _NEAR or before < 1 <= share:
                logger.warning("%s: %s", call.agent_name, said)
        # A provider that keeps the history would keep each line.
        is_said = request.previous_interaction_id and share > 0 and int(10 * before) == int(10 * share)
        if is_said or not self.show_budget:
            return request
        return request.model_copy(update={"contents": [*request.contents, user_content([text_part(f"[{said}]")])]})

    def answer_for(self, context: CallbackContext) -> LlmResponse | None:
        """Returns the answer that ends a run, and a loop in it, once a limit is spent. None before that."""
        share, _, said = self._spent(ModelCall.of(context))
        if share < 1 or self.on_limit == "warn":
            return None
        logger.warning("%s is not asked: %s", context.agent_name, said)
        end_loop(context)
        text = types.Part(text=f"I have to stop here. {said}.")
        return LlmResponse(content=types.Content(role="model", parts=[text]))

    def _spent(self, call: ModelCall) -> tuple[float, float, str]:
        """Returns the spent share of the limit that is nearer, the same before the last call, and a sentence."""
        tokens, cost, found = [0, 0], [0.0, 0.0], []
        for sent, cached in self._sent(outermost_invocation(call.context), call.session_id):
            tokens, cost = [tokens[1], tokens[1] + sent], [cost[1], cost[1] + self.prices.of(sent, cached)]
        if most := self.max_input_tokens:
            found.append((tokens[1] / most, tokens[0] / most, f"{tokens[1]:,} of {most:,} input tokens"))
        if at_most := self.max_cost:
            found.append((cost[1] / at_most, cost[0] / at_most, f"{cost[1]:.4g} of {at_most:g} for input tokens"))
        return (*max(found)[:2], f"This {self.limit_per} has spent {max(found)[2]}")

    def _sent(self, outer: Any, session_id: str) -> Iterator[tuple[int, int]]:
        """Yields the input tokens of each call that counts, and those of them that the provider had cached."""
        here = outer.session.id, "" if self.limit_per == "session" else outer.invocation_id
        for event in outer.session.events:
            if not here[1] or event.invocation_id == here[1]:
                usage = event.usage_metadata or types.GenerateContentResponseUsageMetadata()
                if sent := usage.prompt_token_count or totals_on(event).get("tokens_after", 0):
                    yield sent, usage.cached_content_token_count or 0
        if session_id != outer.session.id:
            if len(self._callers) > 10_000:  # noqa: PLR2004 - sessions
                self._callers.clear()
            self._callers[session_id] = here
        # A child of `AgentTool` has a session of its own, which ends with it.
        for report in self.reports if self._callers else ():
            if self._callers.get(report.session_id) == here:
                yield report.prompt_tokens or report.tokens_after, report.cached_tokens or 0

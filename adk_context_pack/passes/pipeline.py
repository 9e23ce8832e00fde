"""Runs ordered passes as one callback, with a report for each model call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import filterfalse
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from adk_context_pack._adk import CallbackContext, LlmRequest, LlmResponse
from adk_context_pack._adk.instruction import agent_of
from adk_context_pack.conversation.model_call import NAME, ModelCall
from adk_context_pack.conversation.token_estimate import CHAIN, Counter, meter_of
from adk_context_pack.errors import Callback, instances, logger, must, one_of, told_of, valid_counter, warn_once
from adk_context_pack.passes import context_pass
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.reports.call_report import CallReport, CallReporter, PrefixMemory, calibrated, hear, log_line
from adk_context_pack.reports.token_use import ReportLog
from adk_context_pack.stores.codec import OFF_LOOP_BYTES, off_loop


@told_of("default_passes", exclude_tools="keep_tools")
def default_passes(
    *,
    max_tokens: int,
    relays: Literal["cast", "strip"] = "cast",
    keep_tools: Collection[str] = (),
    counter: Counter | None = None,
    cached_price: float = 0.1,
) -> tuple[ContextPass, ...]:
    """Returns passes that are safe for any agent with `read_back`, in the order in which they work best.

    `CompactState` belongs first, since later passes must count what it fills in. `DropOldMedia`,
    `DropOldThoughts` and `KeepNewestResult` belong before `ClearToolResults`, which then has less to weigh, and
    `CompactResults` behind it, since what a note says of a result comes from the result as it was.

    Args:
        max_tokens: the budget of a whole request, in tokens: the model's window less its answer.
        relays: "cast" retells what other agents did. "strip" keeps only what they said.
        keep_tools: tools whose results stay whole, such as one that loads a plan. ADK's active skills stay anyway.
        counter: a tokenizer, from text to its number of tokens. Without one, tokens are estimated and calibrated.
        cached_price: the price of a cached token as a share of another one, which decides when results are cleared.
    """
    # The passes load with the first request. An app with passes of its own never needs them.
    from adk_context_pack.passes import cast_narrative, clear_tool_results, drop_old_parts, fit_token_budget  # noqa: PLC0415

    one_of("default_passes", "relays", relays, ("cast", "strip"))
    return (
        # First, since it needs ADK's blocks as they came to tie them to the session's events.
        cast_narrative.CastNarrative() if relays == "cast" else drop_old_parts.StripForContext(),
        # Second, since what follows counts what is really sent.
        clear_tool_results.CompactResults(exclude_tools=keep_tools),
        # Third, since a cleared result need not be dropped. Results of finished turns are cleared while little follows
        # them, once that costs less than to send them again. The running turn keeps what its answer needs.
        clear_tool_results.ClearToolResults(
            keep_results=0,
            keep_in_turn=8,
            min_tokens=100,
            max_ledger_tokens=100,
            exclude_tools=keep_tools,
            counter=counter,
            max_tokens=max_tokens,
            cached_price=cached_price,
        ),
        # Last, since it counts what is really sent.
        fit_token_budget.FitTokenBudget(max_tokens=max_tokens, keep_tools=keep_tools, counter=counter),
    )


if TYPE_CHECKING:
    from adk_context_pack.reports.telemetry import Telemetry

Ran = tuple[LlmRequest, CallReport] | None
"""A request after its passes, and the report of them, or None if it goes out as it is."""


class ContextPipeline(Callback):
    """Runs passes in order as one `before_model_callback`, and reports on each of them.

        pipeline = ContextPipeline([StripForContext(), CompactState(key="gaql_queries")])
        LlmAgent(before_model_callback=[pipeline], after_model_callback=[pipeline.after_model])

    Each call leaves a line in the log (`adk_context_pack`, INFO), a span event and metrics (OpenTelemetry), and a
    `CallReport`. With `after_model` as well, the report also has the provider's figures, and ADK stores it with the
    event, under `custom_metadata["adk_context_pack"]`. No payload is in any of them.

    Args:
        passes: the passes, in the order in which they run.
        counter: a tokenizer for the report, from text to tokens. Without one, tokens are estimated.
        max_reports: how many of the newest reports are kept.
        keep_requests: keeps the requests of the newest calls, as ADK built them and as they were sent, for
            `write_html`: True for 50 calls, or a number. Off by default, since requests hold what users said.
        telemetry: the destination of span events and metrics. The default is OpenTelemetry's global providers.

    Raises:
        SettingError: an entry of `passes` is not a pass, or a limit is not a number of at least 1.
    """

    runs_leading_passes = True

    def __init__(
        self,
        passes: Iterable[ContextPass],
        *,
        counter: Counter | None = None,
        max_reports: int = 1000,
        keep_requests: bool | int = False,
        telemetry: Telemetry | None = None,
    ) -> None:
        self.passes: tuple[ContextPass, ...] = instances(self, "passes", passes, ContextPass, "StripForContext()")
        kept = int(keep_requests) * 50 if isinstance(keep_requests, bool) else keep_requests
        with told_of(self, max_requests="keep_requests"):
            self._reports = ReportLog(max_reports=max_reports, max_requests=kept)
        self._keep_requests = kept > 0
        # An agent that runs the pipeline and does not call `after_model`, or "" once anything has called it.
        self._unheard: str | None = None
        valid_counter(self, "counter", counter)
        self._counter, self._memory, self._sink = counter, PrefixMemory(), telemetry
        # Its class takes long to load.
        is_right = telemetry is None or (hasattr(telemetry, "sent") and not isinstance(telemetry, type))
        must(is_right, self, "telemetry", telemetry, "Telemetry(…) or None")

    def _telemetry(self) -> Telemetry:
        # OpenTelemetry takes as long to load as all of the pack. ADK loads it with the first run.
        from adk_context_pack.reports.telemetry import Telemetry  # noqa: PLC0415

        self._sink = Telemetry()
        return self._sink

    @property
    def reports(self) -> ReportLog:
        """Returns one report for each model call, newest last, and sums over them.

        Warns once if an agent runs it and nothing calls `after_model`, since the provider's figures are missing then.
        """
        if self._unheard and self._reports:
            lacking = f"{self._unheard}: the reports have no figures of the provider."
            warn_once(f"{lacking} Add after_model_callback=[pipeline.after_model] to the agent")
        return self._reports

    def __call__(self, callback_context: CallbackContext, llm_request: LlmRequest) -> Awaitable[None] | None:
        """Changes `llm_request` at its top level only. This is ADK's `before_model_callback`.

        It returns an awaitable if a pass has to wait, or if a long history makes the passes run in a thread.
        """
        if self._unheard is None and not getattr(agent_of(callback_context), "after_model_callback", True):
            self._unheard = callback_context.agent_name
        if context_pass.size_of(llm_request) >= OFF_LOOP_BYTES or any(entry.prepares for entry in self.passes):
            run = partial(self._ran, callback_context, llm_request)
            return self.run_prepared(self.passes, callback_context, llm_request, run)
        if (ran := self._ran(callback_context, llm_request)) is not None:
            self.deliver(callback_context, llm_request, *ran)
        return None

    async def run_prepared(
        self, passes: Iterable[ContextPass], context: CallbackContext, request: LlmRequest, run: Callable[[], Ran]
    ) -> None:
        """Prepares the passes, runs them, in a thread if the request is long, and delivers what `run` returns."""
        for entry in passes:
            if entry.prepares:
                with context_pass.failing(entry, "pass %s could not be prepared"):
                    await entry.prepare(context, request)
        size = context_pass.size_of(request)
        if (ran := run() if size < OFF_LOOP_BYTES else await off_loop(size, run)) is not None:
            self.deliver(context, request, *ran)

    def _ran(self, context: CallbackContext, request: LlmRequest) -> Ran:
        try:
            remembering = ModelCall.remembering(context)
        except Exception:
            logger.exception("the callback context could not be read; the request goes out as it is")
            return None
        with remembering as call:
            return self.run(request, call)

    def run(
        self, request: LlmRequest, call: ModelCall, passes: Sequence[ContextPass] | None = None
    ) -> tuple[LlmRequest, CallReport]:
        """Returns the request after all passes, and the report. It can be used without ADK's flow.

        It changes neither the request nor the session. The pipeline remembers the hashes of what it returns, to tell
        how much of it begins the agent's next request.

        Args:
            request: the request before the passes.
            call: whose request it is.
            passes: the passes to run in place of the pipeline's own. Those that the agent itself leads with run before.
        """
        leading = context_pass.leading_passes(call.context)
        passes = (*leading, *(self.passes if passes is None else passes))
        if leading:
            context_pass.LED[id(request)] = request
        context_pass.warn_of_unfilled_slots(call.context, passes)
        request = context_pass.on_chain(request, call, passes)
        reporter = CallReporter(request, call, meter_of(call, self._counter))
        for entry in awake(passes, request):
            request = reporter.ran(entry.name, *context_pass.attempt(entry, request, call))
        report = reporter.report(request, self._memory, keep_requests=self._keep_requests)
        report.shadow = call.is_shadow
        return request, calibrated(report, call) if self._counter is None else report

    def deliver(
        self, callback_context: CallbackContext, llm_request: LlmRequest, result: LlmRequest, report: CallReport
    ) -> None:
        """Makes ADK's request say what `run` returned, changed at its top level only, and hands the report on."""
        context_pass.adopt(llm_request, result)
        try:
            self._reports.add(report, callback_context)
            log_line(report)
            (self._sink or self._telemetry()).sent(report)
        except Exception:
            # An exporter or a log handler of the app's own failed. The request is ready and goes out.
            logger.exception("a report could not be handed on")

    def after_model(self, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """Adds the provider's figures to the report, and the report to the event. ADK's `after_model_callback`."""
        self._unheard = ""
        try:
            if (report := self._reports.waiting_for(callback_context)) is None:
                return
            if llm_response.usage_metadata is not None:
                hear(report, llm_response.usage_metadata, is_estimate=self._counter is None)
            # ADK stores no partial event of a stream.
            if not llm_response.partial:
                if not report.shadow:
                    metadata = llm_response.custom_metadata or {}
                    llm_response.custom_metadata = {**metadata, NAME: report.to_totals()}
                (self._sink or self._telemetry()).heard(report)
                self._reports.answered(callback_context)
        except Exception:
            logger.exception("a response could not be reported on")


def awake(passes: Sequence[ContextPass], request: LlmRequest) -> Sequence[ContextPass]:
    """Returns the passes that may change the request."""
    is_first = len(request.contents or ()) < 2  # noqa: PLR2004 - a call and its result
    return list(filterfalse(attrgetter("needs_results"), passes)) if is_first else passes


def leave_history(passes: Sequence[ContextPass], request: LlmRequest, call: ModelCall) -> bool:
    """Returns whether a pass says that it leaves history out. One that fails to say so is logged, and counts as no."""
    if request.previous_interaction_id:
        context_pass.on_chain(request, call, passes)
        return (chain := call.memo[CHAIN]) is not None and chain.has_left
    for entry in awake(passes, request):
        try:
            if entry.leaves_history(request, call):
                return True
            if entry.keeps_all:
                request = entry.apply(request, call)
        except Exception:
            # A pass or a token counter of the app's own.
            logger.exception("pass %s could not say whether it leaves history out", entry.name)
    return False

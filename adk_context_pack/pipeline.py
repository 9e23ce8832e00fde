"""Ordered passes as one callback, with a report for each model call."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from time import perf_counter

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest

from adk_context_pack._settings import positive
from adk_context_pack.context_pass import ContextPass, adopt, logger
from adk_context_pack.errors import SettingError
from adk_context_pack.model_call import ModelCall
from adk_context_pack.reports.call_report import CallReport
from adk_context_pack.reports.pass_report import PassReport
from adk_context_pack.tokens import Counter, TokenMeter


class ContextPipeline:
    """Runs passes in order as one `before_model_callback`, and reports on each of them.

    Args:
        passes: the passes, in the order in which they run.
        counter: a tokenizer of one's own for the report, from text to tokens; without one, tokens are estimated.
        max_reports: how many reports are kept, newest last; the oldest goes first.

    Attributes:
        reports: one `CallReport` for each model call, newest last.

    Raises:
        SettingError: an entry of `passes` is no pass.
    """

    def __init__(
        self, passes: Iterable[ContextPass], *, counter: Counter | None = None, max_reports: int = 1000
    ) -> None:
        self.passes = tuple(passes)
        for entry in self.passes:
            if not isinstance(entry, ContextPass):
                raise SettingError.of(self, "passes", entry, "made of passes such as StripForContext()")
        self.reports: deque[CallReport] = deque(maxlen=positive(self, "max_reports", max_reports))
        self._counter = counter

    def __call__(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """ADK's `before_model_callback`; changes `llm_request` at its top level only."""
        try:
            call = ModelCall.of(callback_context)
        except Exception:
            logger.exception("the callback context could not be read; the request goes out as it is")
            return
        result, report = self.run(llm_request, call)
        adopt(llm_request, result)
        self.reports.append(report)

    def run(self, request: LlmRequest, call: ModelCall) -> tuple[LlmRequest, CallReport]:
        """The request after all passes, and the report; pure, so usable without ADK's flow."""
        meter = TokenMeter(counter=self._counter)
        before = count = _measure(meter, request)
        records = []
        for entry in self.passes:
            request, record = _run_pass(entry, request, call, meter, count)
            records.append(record)
            count = record.tokens_after
        return request, CallReport(
            agent=call.agent_name,
            model=request.model or "",
            invocation_id=call.invocation_id,
            session_id=call.session_id,
            passes=tuple(records),
            tokens_before=before,
            tokens_after=count,
        )


def _run_pass(
    entry: ContextPass, request: LlmRequest, call: ModelCall, meter: TokenMeter, before: int
) -> tuple[LlmRequest, PassReport]:
    call.notes.clear()
    error = None
    result = request
    start = perf_counter()
    try:
        result = entry.apply(request, call)
    except Exception as exception:
        if entry.on_error == "raise":
            raise
        logger.exception("pass %s failed and was skipped", entry.name)
        error = f"{type(exception).__name__}: {exception}"
    seconds = perf_counter() - start
    after = before if result is request else _measure(meter, result)
    note = "; ".join(call.notes)
    return result, PassReport(
        name=entry.name, tokens_before=before, tokens_after=after, note=note, seconds=seconds, error=error
    )


def _measure(meter: TokenMeter, request: LlmRequest) -> int:
    try:
        return meter.request(request)
    except Exception:
        # A counter of the user's own, or a part of an odd shape: the report may be wrong, the run must not fail.
        logger.exception("the tokens of a request could not be counted")
        return 0

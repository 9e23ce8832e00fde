"""Replays a session: each model call's request without the pack and with it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.requests import contents_for, is_model_call, request_of
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.tokens import Counter, meter_of
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.passes.pipeline import attempt
from adk_context_pack.replay.stored_event import RecordedSession
from adk_context_pack.replay.tool_caps import CappedEvents, ToolCaps
from adk_context_pack.reports.call_report import CallReport
from adk_context_pack.reports.call_reporter import CallReporter
from adk_context_pack.reports.pass_report import PrefixReport
from adk_context_pack.reports.prefix import PrefixMemory

CAPS = "tool_caps"
"""The name of capped tool results among the passes."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One model call, replayed.

    Attributes:
        report: the report, with the caps on tool results as its first pass.
        prefix_without: how much of the agent's previous request would have been this one's prefix without the pack.
    """

    report: CallReport
    prefix_without: PrefixReport


class Replayer:
    """Runs passes and caps over recorded sessions, one after the other. A session is only read.

    Args:
        passes: the passes, in their order.
        caps: how tool results are capped. None caps none.
        counter: a tokenizer, from text to its number of tokens. Without one, tokens are estimated.
        keep_requests: puts the requests into the reports, for `write_html`.
    """

    def __init__(
        self,
        passes: Iterable[ContextPass],
        *,
        caps: ToolCaps | None = None,
        counter: Counter | None = None,
        keep_requests: bool = False,
    ) -> None:
        self.passes = tuple(passes)
        self.caps = caps
        self.counter = counter
        self.keep_requests = keep_requests

    def replay(self, session: RecordedSession) -> Iterator[Replayed | ValueError]:
        """Yields each model call of a session, or the error with which ADK refuses to rebuild its request."""
        run = _SessionReplay(session, self)
        for index, event in enumerate(session.events):
            if is_model_call(event):
                try:
                    yield run.call(index, event)
                except ValueError as error:
                    yield error
            run.state |= event.actions.state_delta


class _SessionReplay:
    """The state of one session's replay."""

    def __init__(self, session: RecordedSession, settings: Replayer) -> None:
        self.state = session.first_state()
        self._session = session
        self._settings = settings
        self._capped = CappedEvents(session.events, settings.caps)
        self._without, self._with = PrefixMemory(), PrefixMemory()
        self._run_memo: dict[Hashable, Any] = {}
        self._session_memo: dict[Hashable, Any] = {}
        self._unchanged: dict[tuple[str, ...], bool] = {}
        self._questions: dict[str, types.Content | None] = {}

    def call(self, index: int, event: Event) -> Replayed:
        """Replays one model call, whose answer is `event`, the session's event number `index`."""
        settings = self._settings
        built = request_of(event, contents_for(event, self._session.events[:index]))
        call = self._model_call(index, event)
        meter = meter_of(call, settings.counter)
        reporter = CallReporter(built, call, meter)
        prefix = self._without.compare(reporter.key, built, meter, reporter.tokens_before)
        request = built
        if self._capped.reach(index):
            request = request_of(event, self._capped.contents_for(index, event, built.contents))
            call.note("results capped where they are made")
            reporter.ran(CAPS, request)
        for entry in settings.passes:
            request = reporter.ran(entry.name, *attempt(entry, request, call))
        report = self._report(reporter, request, prefix, unchanged=request is built)
        report.heard(event.usage_metadata)
        return Replayed(report, prefix)

    def _report(
        self, reporter: CallReporter, request: LlmRequest, prefix: PrefixReport, *, unchanged: bool
    ) -> CallReport:
        keep = self._settings.keep_requests
        key = reporter.key
        # As long as nothing is changed both sides send the same, and comparing once is enough.
        same = unchanged and self._unchanged.get(key, True)
        self._unchanged[key] = unchanged
        report = reporter.report(request, None if same else self._with, keep_requests=keep, categories=keep)
        if same:
            self._with.adopt(key, self._without)
            report.prefix = prefix
        return report

    def _model_call(self, index: int, event: Event) -> ModelCall:
        events = self._capped.events[:index]
        return ModelCall(
            agent_name=event.author,
            invocation_id=event.invocation_id,
            session_id=self._session.id,
            user_content=self._question(event.invocation_id, events),
            events=events,
            state=MappingProxyType(self.state),
            run_memo=self._run_memo,
            session_memo=self._session_memo,
        )

    def _question(self, run: str, events: list[Event]) -> types.Content | None:
        """Returns the message that started a run."""
        if run not in self._questions:
            said = (each.content for each in events if each.author == "user" and each.invocation_id == run)
            self._questions[run] = next((content for content in said if content is not None), None)
        return self._questions[run]

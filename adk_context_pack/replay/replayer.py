"""Replays a session: each model call's request without the pack and with it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.session import Session
from google.genai import types

from adk_context_pack._adk.model_names import model_names
from adk_context_pack._adk.requests import AppRequests, contents_for, is_model_call, request_of, with_node_input
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.tokens import Counter, TokenMeter, meter_of
from adk_context_pack.pack_settings import PackSettings
from adk_context_pack.passes.context_pass import ContextPass, LeadingPass, leading_passes, own_passes
from adk_context_pack.passes.pipeline import attempt, leave_history
from adk_context_pack.replay.replayed import (
    CAPS,
    OWN_PASSES,
    READ_BACK_TOOLS,
    Counted,
    Replayed,
    agents_without_history,
    recorded_as_capped,
    recorded_with_pack,
    scale_of,
    silent_agents,
)
from adk_context_pack.replay.stored_event import RecordedSession
from adk_context_pack.replay.tool_caps import CappedEvents, SettingsFor
from adk_context_pack.reports.call_report import CallReport, PrefixReport
from adk_context_pack.reports.call_reporter import CallReporter, PrefixMemory, recorded_scale
from adk_context_pack.tools.shadow import with_own_tools


class RebuiltRequests:
    """Builds the requests of one session.

    Args:
        session: the recorded session.
        app: the app that was recorded, or None. Without it, requests have neither instructions nor declarations, and an
            agent's tools are those that it has called.
        counter: from text to tokens, or None for an estimate.

    Attributes:
        blind: the agents that are shown the current turn alone, as far as the provider's figures tell.
    """

    def __init__(self, session: RecordedSession, app: AppRequests | None, counter: Counter | None = None) -> None:
        self._session = session
        self._app = app
        self.blind = agents_without_history(session.events, TokenMeter(counter=counter)) if app is None else frozenset()
        self._tools: dict[str, dict[str, Any]] = {}
        for event in session.events:
            for call in event.get_function_calls():
                self._tools.setdefault(event.author, {})[call.name or ""] = None

    def build(self, event: Event, call: ModelCall) -> tuple[LlmRequest, ModelCall]:
        """Returns the request that `event` answers, and the call, with ADK's context where the app is known.

        Raises:
            ValueError: ADK refuses to build it.
        """
        if self._app is None or not self._app.has(event.author):
            request = request_of(event, contents_for(event, call.events, turn_only=event.author in self.blind))
            return request.model_copy(update={"tools_dict": self._tools.get(event.author, {})}), call
        named = self._session
        session = Session.model_construct(
            id=named.id,
            app_name=named.app_name,
            user_id=named.user_id,
            state=dict(call.state),
            events=with_node_input(event, call.events),
        )
        context = self._app.context(event, session, call.user_content)
        return self._app.request(context), replace(call, context=context)


def attempted(passes: Iterable[ContextPass], request: LlmRequest, call: ModelCall) -> LlmRequest:
    """Returns a request after passes, of which one that fails is skipped."""
    for entry in passes:
        request = attempt(entry, request, call)[0]
    return request


class Replayer:
    """Runs the pack over recorded sessions, one after the other. A session is only read.

    Args:
        settings_for: gives the settings with which the plugin serves an agent, or None for one that it leaves alone.
        counter: a tokenizer, from text to its number of tokens. Without one, tokens are estimated.
        app: the app that was recorded. With it requests have their instructions and tool declarations.
        keep_requests: puts the requests into the reports, for `write_html`.
    """

    def __init__(
        self,
        settings_for: SettingsFor,
        *,
        counter: Counter | None = None,
        app: AppRequests | None = None,
        keep_requests: bool = False,
    ) -> None:
        self.settings_for = settings_for
        self.counter = counter
        self.app = app
        self.keep_requests = keep_requests
        self._built: dict[tuple[int, int], tuple[ContextPass, ...]] = {}

    def replay(self, session: RecordedSession) -> Iterator[Replayed | ValueError]:
        """Yields each model call of a session, or the error with which ADK refuses to rebuild its request."""
        run = _SessionReplay(session, self)
        silent = silent_agents(session.events) if self.app is None else frozenset()
        found: list[Replayed | ValueError] = []
        for index, event in enumerate(session.events):
            calls = is_model_call(event) and event.author not in silent
            if calls and (self.app is None or self.app.calls_model(event.author)):
                try:
                    found.append(run.call(index, event))
                except ValueError as error:
                    found.append(error)
            run.state |= event.actions.state_delta
        by_agent: dict[str, list[Counted]] = {}
        for each in found:
            if isinstance(each, Replayed) and each.packed_before is None:
                by_agent.setdefault(each.report.agent, []).append(each.counted)
        scales = {
            agent: scale_of(calls, whole=self.app is not None and self.app.has(agent))
            for agent, calls in by_agent.items()
        }
        for each in found:
            if isinstance(each, Replayed):
                yield each.corrected(each.packed_before or scales[each.report.agent].of(each.counted))
            else:
                yield each

    def passes(self, settings: PackSettings, budget: int) -> tuple[ContextPass, ...]:
        """Returns the passes for requests of at most `budget` tokens."""
        key = id(settings), budget
        if key not in self._built:
            self._built[key] = settings.passes_within(budget, self.counter)
        return self._built[key]


class _SessionReplay:
    """The state of one session's replay."""

    def __init__(self, session: RecordedSession, replayer: Replayer) -> None:
        self.state = session.first_state()
        self._session = session
        self._replayer = replayer
        self._capped = CappedEvents(session.events, replayer.settings_for)
        self._requests = RebuiltRequests(session, replayer.app, replayer.counter)
        self._without, self._with = PrefixMemory(), PrefixMemory()
        self._run_memo: dict[Hashable, Any] = {}
        self._session_memo: dict[Hashable, Any] = {}
        self._unchanged: dict[tuple[str, ...], bool] = {}
        self._questions: dict[str, types.Content | None] = {}
        # Before the first capped result, everything that a request without the pack had is in the recording.
        self._capped_from = min(session.still_capped, default=len(session.events))

    def call(self, index: int, event: Event) -> Replayed:
        """Replays one model call, whose answer is `event`, the session's event number `index`."""
        alone = self._model_call(event, self._session.events[:index], self.state)
        raw, alone = self._requests.build(event, alone)
        built = attempted(own_passes(alone.context), raw, alone)
        request, call = self._capped_request(index, event, raw, alone)
        meter = meter_of(call, self._replayer.counter)
        reporter = CallReporter(raw, call, meter)
        without = reporter.tokens_before if built is raw else meter.request(built)
        prefix = self._without.compare(reporter.key, built, meter, without)
        if request is not raw:
            call.note("results capped where they are made")
            reporter.ran(CAPS, request)
        request = self._packed(reporter, request, call)
        report = self._report(reporter, request, prefix, unchanged=request is raw and built is raw)
        report.heard(event.usage_metadata)
        self._count_own(report, without)
        recorded = recorded_with_pack(event)
        if recorded is None:
            return Replayed(report, prefix, report.prompt_tokens)
        if self._capped_from < index:
            return Replayed(report, prefix, packed_before=recorded)
        return Replayed(report, prefix, self._figure(index, event, alone, without) or recorded[0])

    def _figure(self, index: int, event: Event, alone: ModelCall, without: int) -> int | None:
        """Returns the provider's count of a request with results put back: its count of the capped one, and the rest.

        The pack's own estimate of what the full results weighed is of less worth, since they are at hand here.
        """
        as_capped = recorded_as_capped(event)
        if not self._session.restored or as_capped is None:
            return None
        built, call = self._requests.build(event, replace(alone, events=self._session.capped_events[:index]))
        capped = attempted(own_passes(call.context), built, call)
        scale = recorded_scale(event) if self._replayer.counter is None else 1.0
        return as_capped + round(scale * (without - meter_of(call, self._replayer.counter).request(capped)))

    def _count_own(self, report: CallReport, without: int) -> None:
        """Lets a report begin with the request as the agent's own passes leave it, since they work without the pack."""
        more = without - report.tokens_before
        if not more:
            return
        report.tokens_before = without
        report.add_up()
        names = [each.name for each in report.passes]
        own = names.index(OWN_PASSES) if OWN_PASSES in names else 0
        report.passes = tuple(
            replace(
                each,
                tokens_before=each.tokens_before + more * (place <= own),
                tokens_after=each.tokens_after + more * (place < own),
            )
            for place, each in enumerate(report.passes)
        )

    def _capped_request(
        self, index: int, event: Event, raw: LlmRequest, alone: ModelCall
    ) -> tuple[LlmRequest, ModelCall]:
        call = self._model_call(event, self._capped.events[:index], self.state | self._capped.keys(index))
        call = replace(call, context=alone.context, run_memo=self._run_memo, session_memo=self._session_memo)
        return self._requests.build(event, call) if self._capped.reach(index) else (raw, call)

    def _packed(self, reporter: CallReporter, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns a request after the plugin's passes and tools, and the agent's own passes."""
        settings = self._replayer.settings_for(call.agent_name)
        leading = own_passes(call.context)
        if settings is not None:
            budget = settings.budget_for(*model_names(call.context, request.model))
            passes = self._replayer.passes(settings, budget)
            request = self._with_tools(reporter, settings, passes, request, call)
            for entry in (*leading_passes(call.context), *passes):
                request = reporter.ran(entry.name, *attempt(entry, request, call))
            leading = [entry for entry in leading if not isinstance(entry, LeadingPass)]
        if leading:
            request = reporter.ran(OWN_PASSES, attempted(leading, request, call))
        return request

    def _with_tools(
        self,
        reporter: CallReporter,
        settings: PackSettings,
        passes: Sequence[ContextPass],
        request: LlmRequest,
        call: ModelCall,
    ) -> LlmRequest:
        if not settings.read_back:
            return request
        offered = with_own_tools(request)
        names = settings.offer_read_back(offered, call, history=leave_history(passes, offered, call))
        return reporter.ran(READ_BACK_TOOLS, offered) if names else request

    def _report(
        self, reporter: CallReporter, request: LlmRequest, prefix: PrefixReport, *, unchanged: bool
    ) -> CallReport:
        keep = self._replayer.keep_requests
        key = reporter.key
        # As long as nothing is changed both sides send the same, and comparing once is enough.
        same = unchanged and self._unchanged.get(key, True)
        self._unchanged[key] = unchanged
        report = reporter.report(request, None if same else self._with, keep_requests=keep, categories=keep)
        if same:
            self._with.adopt(key, self._without)
            report.prefix = prefix
        return report

    def _model_call(self, event: Event, events: Sequence[Event], state: Mapping[str, Any]) -> ModelCall:
        if event.invocation_id not in self._questions:
            said = (
                each.content for each in events if each.author == "user" and each.invocation_id == event.invocation_id
            )
            self._questions[event.invocation_id] = next((content for content in said if content is not None), None)
        return ModelCall(
            agent_name=event.author,
            invocation_id=event.invocation_id,
            session_id=self._session.id,
            user_content=self._questions[event.invocation_id],
            events=events,
            state=MappingProxyType(state),
            is_shadow=True,
        )

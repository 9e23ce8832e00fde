"""Replays a session: each model call's request without the pack and with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from adk_context_pack._adk import Event, LlmRequest, Session, instruction, known_tools, types
from adk_context_pack._adk.requests import AppRequests, contents_for, is_model_call, with_node_input
from adk_context_pack.conversation import ledger, token_estimate
from adk_context_pack.conversation.model_call import ModelCall, totals_on
from adk_context_pack.conversation.token_estimate import Counter, TokenMeter, meter_of
from adk_context_pack.passes.context_pass import LeadingPass, attempt, leading_passes, own_passes
from adk_context_pack.passes.fit_token_budget import FitTokenBudget
from adk_context_pack.passes.pipeline import awake
from adk_context_pack.plugin import PackSettings
from adk_context_pack.replay.recordings import RecordedSession
from adk_context_pack.reports import call_report
from adk_context_pack.reports.token_use import PACK_TOOLS, RESULTS, Prices
from adk_context_pack.stores.handles import HANDLE_LENGTH
from adk_context_pack.testing.answers import Answerability, Packed, answerability, attempted
from adk_context_pack.testing.conversation import Conversation
from adk_context_pack.tools import result_pass, shadow, wrap


class Scale(NamedTuple):
    """Tells the provider's tokens for each counted one, and those for instructions and tools that nobody sees here."""

    factor: float = 1.0
    fixed: int = 0

    @classmethod
    def by(cls, figure: int, counted: int, *, whole: bool) -> Scale:
        """Returns the scale that the figure for an agent's first request tells, which holds the fewest contents."""
        # If the request is not whole, what the replay cannot see explains that the figure is larger.
        factor = min(figure / max(counted, 1), token_estimate.HIGHEST_FACTOR if whole else 1.0)
        return cls(factor, max(round(figure - factor * counted), 0))

    def of(self, call: Replayed) -> tuple[int, int]:
        """Returns the tokens of a call without the pack and with it. The provider's own figure counts if there is one.

        The rest of a request shrinks by the share that the replay counts. A saving of so many counted tokens would
        leave the error of all that was saved in the little that is left. What a request grows by is counted as it is,
        since it may be many times the little that the replay sees.
        """
        counted, left = call.report.tokens_before, call.report.tokens_after
        without = call.figure or round(self.fixed + self.factor * counted)
        fixed, grown = min(self.fixed, without), max(left - counted, 0)
        kept = (left - grown) / counted if counted else 1.0
        return without, round(fixed + (without - fixed) * kept + self.factor * grown)


def recorded_tokens(event: Event) -> tuple[int, int, int] | None:
    """Returns what the pack reported of a call: the tokens without it, with capped results alone, and as sent."""
    totals = totals_on(event)
    names = ("tokens_without_pack", "tokens_before", "pack_tools", "tokens_after")
    without, before, tools, after = (n if isinstance(n := totals.get(name), int) else 0 for name in names)
    if not (without and before and after):
        return None
    figure = _figure(event) or after
    return round(without * figure / after), round((before - tools) * figure / after), figure


def silent_agents(events: Sequence[Event]) -> frozenset[str]:
    """Returns the authors that call no model: other events of the session have the provider's figures, theirs none."""
    counted = {event.author for event in events if _figure(event) is not None}
    named = {event.author for event in events if getattr(event, "model_version", None)}
    return frozenset(event.author for event in events if counted) - counted - named


def agents_without_history(events: Sequence[Event], meter: TokenMeter) -> Iterator[str]:
    """Yields the agents that are shown the current turn alone, as far as the provider's figures tell."""
    last = {event.author: (place, event) for place, event in enumerate(events) if _figure(event)}
    for agent, (place, event) in last.items():
        figure = _figure(event) or 0
        if not is_model_call(event) or totals_on(event):
            continue
        with suppress(ValueError):
            full, turn = (meter.contents(contents_for(event, events[:place], turn_only=only)) for only in (False, True))
            # Of an agent that was shown all of it the provider would have counted more.
            if figure < 0.6 * full and abs(figure - turn) < abs(figure - full):
                yield agent


def _figure(event: Event) -> int | None:
    return event.usage_metadata.prompt_token_count if event.usage_metadata else None


OWN_PASSES = "agents_own_passes"
"""The name of the passes among an agent's own callbacks."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One model call, replayed. Its report begins with the request without the pack, and the caps on tool results.

    `prefix_without` is what it would begin with of the agent's previous request without the pack, `figure` the request
    without the pack as the provider counted it, and `packed_before` what the pack reported of a call with smaller
    results: the tokens without it and with it.
    """

    report: call_report.CallReport
    prefix_without: call_report.PrefixReport
    figure: int | None = None
    packed_before: tuple[int, int] | None = None

    def corrected(self, tokens: tuple[int, int], fixed: int = 0) -> Replayed:
        """Returns the same call, scaled to the tokens without the pack and with it, of which nobody sees `fixed`."""
        report, (without, with_pack) = self.report, tokens
        fixed = min(fixed, without)
        left: dict[str, Any] = {"passes": tuple(self._passes(without, with_pack)), "results": {}, "pack_tools": 0}
        left["prefix"] = report.prefix.scaled((with_pack - fixed) / max(report.tokens_after, 1), fixed)
        told = replace(report, tokens_before=without, tokens_after=with_pack, **left)
        told.add_up()
        prefix = self.prefix_without.scaled((without - fixed) / max(report.tokens_before, 1), fixed)
        return replace(self, report=told, prefix_without=prefix)

    def _passes(self, without: int, with_pack: int) -> Iterator[call_report.PassReport]:
        if self.packed_before is not None:
            yield call_report.PassReport(name="recorded_with_the_pack", tokens_before=without, tokens_after=with_pack)
            return
        saved = {str(place): each.tokens_saved for place, each in enumerate(self.report.passes)}
        left, share = without, call_report.spread(saved, without - with_pack)
        for each, tokens in zip(self.report.passes, share.values(), strict=False):
            yield replace(each, tokens_before=left, tokens_after=left - tokens)
            left -= tokens


SettingsFor = Callable[[str], PackSettings | None]
"""From an agent's name to the settings with which the plugin serves it, or None for one that it leaves alone."""


def capped(event: Event, reducer: result_pass.ResultReducer) -> Event:
    """Returns a recorded event with its results reduced as in a run. The same event if none is."""
    # Capping waits for its store alone, and this one answers at once.
    content = instruction.at_once(reducer.reduced_content(event, None))
    return event if content is None else event.model_copy(update={"content": content})


@dataclass(frozen=True)
class Replayer:
    """Runs the pack over recorded sessions, one after the other. A session is only read.

    With the app, requests have instructions and tool declarations. Prices decide when default passes clear results.
    """

    settings_for: SettingsFor
    _: KW_ONLY
    counter: Counter | None = None
    app: AppRequests | None = None
    prices: Prices = field(default_factory=Prices)
    keep_requests: bool = False

    def replay(self, session: RecordedSession) -> Iterator[Replayed | ValueError]:
        """Yields each model call of a session, or the error with which ADK refuses to rebuild its request."""
        run = _SessionReplay(session, self)
        silent = silent_agents(session.events) if self.app is None else frozenset()
        for index, event in enumerate(session.events):
            calls = is_model_call(event) and event.author not in silent
            if calls and (self.app is None or self.app.calls_model(event.author)):
                try:
                    yield run.call(index, event)
                except ValueError as error:
                    yield error
            run.state |= event.actions.state_delta


class _SessionReplay:
    """The state of one session's replay. Without the app, an agent's tools are those that it has called."""

    def __init__(self, session: RecordedSession, replayer: Replayer) -> None:
        self.state = session.first_state()
        self._session, self._replayer, self._app = session, replayer, replayer.app
        self._sent: list[call_report.CallReport] = []
        self._shadow = shadow.ShadowSession(self.settings_for, self._sent, cached_price=replayer.prices.cached_share)
        self._scales: dict[str, Scale] = {}
        self._without, self._with = call_report.PrefixMemory(), call_report.PrefixMemory()
        self._memos: dict[str, Any] = {"run_memo": {}, "session_memo": {}}
        asked = [(each.invocation_id, each.content) for each in session.events if each.author == "user"]
        self._questions = {run: content for run, content in reversed(asked) if content}
        # Before the first capped result, everything that a request without the pack had is in the recording.
        self._capped_from = min(session.still_capped, default=len(session.events))
        recorded = (session.capped_events or session.events) if self._app is None else ()
        self._blind = frozenset(agents_without_history(recorded, TokenMeter(counter=replayer.counter)))
        self._tools: dict[str, dict[str, Any]] = {}
        for event in session.events:
            named = {call.name or "": None for call in event.get_function_calls()}
            self._tools.setdefault(event.author, {}).update(named)

    def _build(self, event: Event, events: Sequence[Event]) -> tuple[LlmRequest, ModelCall]:
        """Returns the request that `event` answers, and the call, with ADK's context if the app is known."""
        call = ModelCall(
            agent_name=event.author,
            invocation_id=event.invocation_id,
            session_id=self._session.id,
            user_content=self._questions.get(event.invocation_id),
            events=events,
            state=MappingProxyType(self.state),
            is_shadow=True,
        )
        if self._app is None or not self._app.has(event.author):
            # A session holds neither instructions nor declarations, and to validate would copy the list.
            made: dict[str, Any] = {"model": event.model_version or "", "tools_dict": self._tools.get(event.author, {})}
            made["contents"] = contents_for(event, events, turn_only=event.author in self._blind)
            return LlmRequest(config=types.GenerateContentConfig()).model_copy(update=made), call
        named = self._session
        names: dict[str, Any] = {"id": named.id, "app_name": named.app_name, "user_id": named.user_id}
        session = Session.model_construct(**names, state=dict(call.state), events=with_node_input(event, events))
        context = self._app.context(event, session, call.user_content)
        request = self._app.request(context)
        self._tools[event.author].update(request.tools_dict)
        return request, replace(call, context=context)

    def settings_for(self, agent: str) -> PackSettings | None:
        """Returns the settings for an agent's results. Tools that the app has wrapped itself keep their own."""
        settings, tools = self._replayer.settings_for(agent), self._tools.get(agent, {})
        wrapped = {name: entry for name, tool in tools.items() if (entry := wrap.pass_of(tool)) is not None}
        if not wrapped:
            return settings
        settings = settings or PackSettings(passes=(), result_passes=(), read_back=False)
        return replace(settings, tools={**settings.tools, **wrapped})

    def call(self, index: int, event: Event) -> Replayed:
        """Replays one model call, whose answer is `event`, the session's event number `index`."""
        raw, alone = self._build(event, self._session.events[:index])
        built = attempted(own_passes(alone.context), raw, alone)
        smaller, as_shadow = instruction.at_once(self._shadow.request(raw, alone))
        request = raw if smaller.contents is raw.contents else smaller
        call = replace(as_shadow(alone), **self._memos)
        meter = TokenMeter(counter=self._replayer.counter, call=call)
        reporter = call_report.CallReporter(raw, call, meter)
        without = reporter.tokens_before if built is raw else meter.request(built)
        figure, packed_before = self._counted(index, event, without)
        if figure:
            self._scales.setdefault(event.author, Scale.by(figure, without, whole=alone.context is not None))
        scale = self._scales.get(event.author, Scale())
        call.memo["unseen"] = scale.fixed
        prefix = self._without.compare(reporter.key, built, meter, without)
        if request is not raw:
            reporter.ran(RESULTS, request)
        request = self._packed(reporter, request, call)
        keep = self._replayer.keep_requests
        report = reporter.report(request, self._with, keep_requests=keep, categories=keep)
        report.heard(event.usage_metadata)
        self._count_own(report, without)
        report.shortened = len(call.state) - len(alone.state)
        replayed = Replayed(report, prefix, figure, packed_before)
        told = replayed.corrected(packed_before or scale.of(replayed), scale.fixed)
        self._sent.append(replace(told.report, pack_tools=int(bool(request.tools_dict.get(known_tools.READ_BACK)))))
        return told

    def _counted(self, index: int, event: Event, without: int) -> tuple[int | None, tuple[int, int] | None]:
        """Returns the request without the pack as the provider counted it, or else what the pack reported of it."""
        recorded, figure = recorded_tokens(event), _figure(event)
        if recorded and self._capped_from < index:
            return None, recorded[::2]
        figure = recorded[bool(self._session.restored)] if recorded else figure
        if figure and self._session.restored:
            # The provider's count of the capped request, and what results that are back in full weigh more. The pack's
            # own estimate of that is of less worth, since they are at hand here.
            built, call = self._build(event, self._session.capped_events[:index])
            packed = meter_of(call, self._replayer.counter).request(attempted(own_passes(call.context), built, call))
            worth = call_report.recorded_scale(event) if self._replayer.counter is None else 1.0
            figure += round(worth * (without - packed))
        return figure, None

    def _count_own(self, report: call_report.CallReport, without: int) -> None:
        """Lets a report begin with the request as the agent's own passes leave it, since they work without the pack."""
        more, report.tokens_before = without - report.tokens_before, without
        report.add_up()
        passes = [*report.passes]
        own = next((place for place, each in enumerate(passes) if each.name == OWN_PASSES), 0)
        # The others are moved when all are scaled.
        if passes:
            passes[own] = replace(passes[own], tokens_before=passes[own].tokens_before + more)
        report.passes = tuple(passes)

    def _packed(self, reporter: call_report.CallReporter, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns a request after the plugin's passes and tools, and the agent's own passes."""
        settings = self._replayer.settings_for(call.agent_name)
        leading = own_passes(call.context)
        if settings is not None:
            budget = settings.budget_for(*instruction.model_names(call.context, request.model))
            share = self._replayer.prices.cached_share
            passes = settings.passes_within(budget, self._replayer.counter, share)
            # Passes over history stand aside where the provider keeps it, up to the budget.
            if any(getattr(event, "interaction_id", None) for event in call.events if event.author == call.agent_name):
                passes = tuple(each for each in passes if not each.cuts_history or isinstance(each, FitTokenBudget))
            if settings.read_back:
                offered = shadow.with_own_tools(request)
                call.memo[call_report.ADDED_TOOLS] = settings.offer_read_back(offered, call, passes, cached_price=share)
                if call.memo[call_report.ADDED_TOOLS]:
                    request = reporter.ran(PACK_TOOLS, offered)
            for entry in awake((*leading_passes(call.context), *passes), request):
                request = reporter.ran(entry.name, *attempt(entry, request, call))
            leading = [entry for entry in leading if not isinstance(entry, LeadingPass)]
        if leading:
            request = reporter.ran(OWN_PASSES, attempted(leading, request, call))
        return request


def packed(settings: PackSettings | None, cached_share: float = 0.1, models: Iterable[str | None] = (None,)) -> Packed:
    """Returns what the pack does to a session that these models answered, for `answerability`."""
    if settings is None:
        return Packed(passes=())
    reducer = settings.reducer(store := shadow.UnkeptStore())
    known, texts = dict[int, tuple[Event, Event]](), dict[str, str]()

    def reduced(event: Event) -> Event:
        # The event is kept beside its result, so that its id is not given to another one.
        if id(event) not in known:
            known[id(event)] = event, capped(event, reducer)
            for key in [*store.given][len(texts) :]:
                texts[key[-HANDLE_LENGTH:]] = "\n".join(map(str, ledger.scalars(store.given[key])))
        return known[id(event)][1]

    passes = settings.passes_within(settings.budget_for(*models), cached_price=cached_share)
    return Packed(passes=passes, reduced=reduced, stored=texts)


def answers_of(
    session: RecordedSession, packs: Mapping[str, SettingsFor], cached_share: float
) -> Iterator[tuple[str, list[Answerability]]]:
    """Yields, for each agent that calls tools in a session, what each of some settings leaves of what they need."""
    agents = {event.author for event in session.events if event.get_function_calls()} - {"user"}
    for agent in sorted(agents):
        given: dict[str, Any] = {"events": session.events, "state": session.first_state()}
        conversation = Conversation(agent=agent, instruction="", keep_ids=True, **given)
        models = {event.model_version for event in session.events if event.author == agent} - {None} or {None}
        strategies = {name: packed(of(agent), cached_share, models) for name, of in packs.items()}
        yield agent, answerability([conversation], strategies)

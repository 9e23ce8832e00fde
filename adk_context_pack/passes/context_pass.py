"""Defines the contract of a pass and of one that leads, and runs passes in order, with a report for each call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from weakref import WeakValueDictionary

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from adk_context_pack import errors
from adk_context_pack._adk.instruction import agent_of, global_instructions, plugins_of
from adk_context_pack._adk.known_tools import ToolKind
from adk_context_pack.conversation.contents import changed, copied
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.token_estimate import CHAIN, Counter, ProviderChain, chain_of, is_broken, meter_of
from adk_context_pack.errors import Callback, did_you_mean, instances, logged, logger, misspelled, must, warn_once
from adk_context_pack.passes.state_view import PREFIX, slot_keys
from adk_context_pack.reports import call_report
from adk_context_pack.reports.call_report import CallReport, CallReporter, PrefixMemory
from adk_context_pack.reports.token_use import ReportLog
from adk_context_pack.stores.codec import OFF_LOOP_EVENTS, off_loop, rough_size

_checked: WeakValueDictionary[tuple[int, str], Any] = WeakValueDictionary()
"""The agents whose instructions were checked, by id and instruction, since agents cannot be hashed."""


def warn_of_unfilled_slots(context: Any, passes: Iterable[Any]) -> None:
    """Warns once of each slot of an agent's instruction that nothing in its app fills in.

    The passes of the caller, of the agent's own callbacks and of a `ContextPackPlugin` count. A callback or a plugin of
    the app's own may fill in slots as well. Beside one, only a misspelling of a key that a pass fills in is a mistake.
    An instruction that is a function is not read.
    """
    agent = agent_of(context)
    given = (getattr(agent, "instruction", None), *global_instructions(context, agent)) if agent else ()
    for text in given:
        if not isinstance(text, str) or PREFIX not in text or (id(agent), text) in _checked:
            continue
        try:
            _checked[id(agent), text] = agent
            found = [_keys_of(each) for each in (*passes, *callbacks_of(context), *_plugin_entries(context, agent))]
            filled = frozenset().union(*(keys for keys in found if keys is not None))
            for key in slot_keys(text) - filled:
                if None in found and misspelled(key, filled) is None:
                    continue
                hint = did_you_mean(key, filled) or f". Add CompactState(key={key!r})"
                warn_once(f"{agent.name}: no pass fills in {{{PREFIX}{key}}} in the instruction{hint}")
        except Exception:
            # The request does not depend on the check.
            logger.debug("an instruction could not be checked for slots", exc_info=True)


def _plugin_entries(context: Any, agent: Any) -> Iterator[Any]:
    for plugin in plugins_of(context):
        settings_for = getattr(plugin, "settings_for", None)
        if settings_for is not None:
            yield from getattr(settings_for(agent.name), "passes", None) or ()
        elif type(plugin).before_model_callback is not BasePlugin.before_model_callback:
            yield plugin


def _keys_of(entry: Any) -> frozenset[str] | None:
    """Returns the keys that a callback or plugin fills in, or None if it may fill in any."""
    if type(entry).__module__.startswith("google.adk."):
        return frozenset()
    keys = getattr(entry, "slot_keys", None)
    if keys or (keys is not None and type(entry).__module__.startswith("adk_context_pack.")):
        return frozenset(keys)
    inner = getattr(entry, "passes", None)
    return None if inner is None else frozenset().union(*(_keys_of(each) or () for each in inner))


@dataclass(frozen=True, kw_only=True)
class ContextPass(Callback, ABC):
    """One rewriting of a request before it goes to the model.

    An instance is an entry for `before_model_callback=[…]`, alone, in any order with other callbacks, or within a
    `ContextPipeline`. Subclass it, name it verb + object, and write `apply`. A pass that leaves something out also
    overrides `leaves_history`, so that the plugin offers `read_back` to the agent.

    Args:
        on_error: "skip" leaves the request as it was if the pass fails, logs the traceback and lets the agent go on.
            "raise" lets the exception through, for tests.
    """

    shortens: ClassVar[Collection[ToolKind]] = ()
    """The kinds of ADK's tools whose results it makes smaller in each request, and so finds whole in the session."""

    cuts_history: ClassVar[bool] = False
    """True if the pass only removes history. It does not run if the provider keeps the history."""

    needs_results: ClassVar[bool] = False
    """True if the pass leaves a request without tool results as it is. It does not run on a session's first request."""

    keeps_all: ClassVar[bool] = False
    """True if the pass leaves nothing out. Passes behind it look at its result before they leave history out."""

    prepares: ClassVar[bool] = False
    """True if the pass has to be prepared before it runs, since it overrides the method for that."""

    _checks: ClassVar[Mapping[str, Callable[..., object]]] = {}
    """The check of each setting, given the pass, the name and the value. What it returns, if anything, is kept."""

    on_error: Literal["skip", "raise"] = "skip"

    def __init_subclass__(cls) -> None:
        """Notes whether the subclass has to be prepared."""
        super().__init_subclass__()
        cls.prepares = cls.prepare is not ContextPass.prepare

    def __post_init__(self) -> None:
        """Checks the settings. A subclass that overrides this method calls `super().__post_init__()`."""
        errors.one_of(self, "on_error", self.on_error, ("skip", "raise"))
        for name, check in self._checks.items():
            if (kept := check(self, name, getattr(self, name))) is not None:
                object.__setattr__(self, name, kept)

    @property
    def slot_keys(self) -> frozenset[str]:
        """The keys of the `{compact:KEY}` slots that the pass fills in. By default there are none."""
        return frozenset()

    @abstractmethod
    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns the request as the model should see it.

        It must be pure: it builds new objects if something changes, and returns `request` itself if nothing does.
        Over a long history the plugin and the pipeline run it in a thread, beside the event loop.

        Args:
            request: what ADK, or the pass before, wants to send. Its parts share objects with the session.
            call: whose request it is, and the session behind it.
        """

    def leaves_history(self, request: LlmRequest, call: ModelCall) -> bool:  # noqa: ARG002 - for subclasses
        """Returns whether this pass removes history from the agent's requests, now or soon, that it may need again.

        The plugin asks each pass before any of them runs, and offers `read_back` if one says yes. By default a
        pass says no. The answer should not return to False while a session grows: a tool that appears or disappears
        costs the cached prefix.

        Args:
            request: what ADK wants to send, before any pass.
            call: whose request it is, and the session behind it.
        """
        return False

    def begins_chain(self, request: LlmRequest, call: ModelCall, chain: ProviderChain) -> bool:  # noqa: ARG002 - for subclasses
        """Returns whether to give up `chain`, which the provider keeps, and to send `request` whole. Most say no."""
        return False

    async def prepare(self, context: CallbackContext, request: LlmRequest) -> None:
        """Waits for what `apply` needs from outside, such as an answer of a service. By default there is nothing.

        The plugin and the pipeline call it before any pass runs. It must not change the request.

        Args:
            context: ADK's context of the call.
            request: what ADK wants to send, before any pass.
        """

    def is_long(self, request: LlmRequest) -> bool:
        """Tells whether the pass may take so long over a request that it runs beside the event loop."""
        return len(request.contents) >= OFF_LOOP_EVENTS

    def __call__(self, callback_context: CallbackContext, llm_request: LlmRequest) -> Awaitable[None] | None:
        """Runs the pass as ADK's `before_model_callback`. It changes `llm_request` at its top level only.

        Over a long history it returns an awaitable, as `ContextPipeline` does.
        """
        if self.is_long(llm_request):
            return off_loop(rough_size(llm_request.contents), self._run, callback_context, llm_request)
        self._run(callback_context, llm_request)
        return None

    def _run(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        with self.failing("pass %s failed and was skipped"), ModelCall.remembering(callback_context) as call:
            warn_of_unfilled_slots(call.context, (self,))
            request = on_chain(llm_request, call, (self,))
            aside = self.cuts_history and request.previous_interaction_id
            adopt(llm_request, request if aside else self.apply(request, call))

    def failing(self, said: str) -> AbstractContextManager[None]:
        """Returns a context that logs an error if `on_error` says "skip"."""
        return nullcontext() if self.on_error == "raise" else logged(said, self.name)


def adopt(target: LlmRequest, source: LlmRequest) -> None:
    """Copies the top level of `source` to `target`, since ADK ignores a request that a callback returns."""
    if source is target:
        return
    if source.contents is not target.contents:
        theirs = set(map(id, target.contents))
        # Callbacks of the app may add to a content in place. The pack keeps its own contents for later calls.
        target.contents = [
            content if id(content) in theirs else changed(content, "parts", list(map(copied, content.parts or ())))
            for content in source.contents
        ]
    target.config = source.config
    target.previous_interaction_id = source.previous_interaction_id


def on_chain(request: LlmRequest, call: ModelCall, passes: Sequence[ContextPass]) -> LlmRequest:
    """Returns the request, or if its provider keeps the history: what is new, or all if a pass starts a new chain."""
    if not request.previous_interaction_id:
        return request
    if CHAIN not in call.memo:
        call.memo[CHAIN] = None
        try:
            # Few apps have such a model, and what rebuilds requests loads much of ADK.
            from adk_context_pack._adk.requests import new_contents, whole_contents  # noqa: PLC0415

            whole = whole_contents(request, call.context, call.agent_name, call.events)
            chain = chain_of(call, new_contents(request), whole)
            # The passes see the call as one that starts a new chain.
            call.memo[CHAIN] = chain._replace(is_new=True, has_left=True)
            asked = request.model_copy(update={"contents": whole, "previous_interaction_id": None})
            is_over = is_broken(request.previous_interaction_id, chain.new, call.events)
            if not (is_over or any(each.begins_chain(asked, call, chain) for each in passes)):
                call.memo[CHAIN] = chain
        except Exception:
            call.memo[CHAIN] = None
            logger.exception("the chain of agent %s goes on as it is", call.agent_name)
    if (chain := call.memo[CHAIN]) is None:
        return request
    begun = {"contents": chain.whole, "previous_interaction_id": None}
    return request.model_copy(update=begun if chain.is_new else {"contents": chain.new})


def own_passes(context: Any) -> list[ContextPass]:
    """Returns the passes among the callbacks of the agent that `context` belongs to, those of pipelines included."""
    given = callbacks_of(context)
    found = [one for each in given for one in (each.passes if getattr(each, "runs_leading_passes", False) else (each,))]
    return [each for each in found if isinstance(each, ContextPass)]


def callbacks_of(context: Any) -> list[Any]:
    """Returns the callbacks that the agent behind `context` runs before a model call, in their order."""
    return list(getattr(agent_of(context), "canonical_before_model_callbacks", ()))


LED: WeakValueDictionary[int, LlmRequest] = WeakValueDictionary()
"""The requests that leading passes ran over, by id, so that their agents' callbacks do not run them again."""


class LeadingPass(ContextPass):
    """A pass that needs the contents as ADK built them, and so runs before the passes of the app's plugin.

    It is an entry of the agent's own `before_model_callback`, which ADK calls after those of plugins. A pipeline and
    the plugin therefore run it first, and report on it. Where there is neither, it runs as any other pass does.
    """

    def handed(self, call: ModelCall) -> list[types.Content]:  # noqa: ARG002 - for subclasses
        """Returns what the pass will put into the request. By default there is nothing."""
        return []

    def __call__(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Runs the pass as ADK's `before_model_callback`, unless a pipeline has run it or will."""
        waits = any(getattr(each, "runs_leading_passes", False) for each in callbacks_of(callback_context))
        if not waits and LED.get(id(llm_request)) is not llm_request:
            super().__call__(callback_context, llm_request)


def leading_passes(context: CallbackContext | None) -> tuple[LeadingPass, ...]:
    """Returns the leading passes among the callbacks of the agent that `context` belongs to."""
    return tuple(each for each in callbacks_of(context) if isinstance(each, LeadingPass))


def handed_over(call: ModelCall) -> list[types.Content]:
    """Returns what leading passes will put into a request, and what its provider keeps. A pass may fail to say so."""
    chain = call.memo.get(CHAIN)
    found: list[types.Content] = list(chain.whole) if chain is not None else []
    for entry in leading_passes(call.context):
        with logged("pass %s could not say what it hands over", entry.name):
            found += entry.handed(call)
    return found


@errors.told_of("default_passes", exclude_tools="keep_tools")
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

    errors.one_of("default_passes", "relays", relays, ("cast", "strip"))
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

    Attributes:
        reports: a `ReportLog` with one `CallReport` for each model call, newest last, and sums over them.

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
        with errors.told_of(self, max_requests="keep_requests"):
            self._reports = ReportLog(max_reports=max_reports, max_requests=kept)
        self._keep_requests, self._is_heard = kept > 0, False
        self._unheard: str | None = None
        errors.valid_counter(self, "counter", counter)
        self._counter, self._memory, self._given_telemetry = counter, PrefixMemory(), telemetry
        # Its class takes long to load.
        is_right = telemetry is None or (hasattr(telemetry, "sent") and not isinstance(telemetry, type))
        must(is_right, self, "telemetry", telemetry, "Telemetry(…) or None")

    @cached_property
    def _telemetry(self) -> Telemetry:
        # OpenTelemetry takes as long to load as all of the pack. ADK loads it with the first run.
        from adk_context_pack.reports.telemetry import Telemetry  # noqa: PLC0415

        return self._given_telemetry or Telemetry()

    @property
    def reports(self) -> ReportLog:
        """Returns one report for each model call, newest last.

        Whoever reads them is warned once if an agent runs the pipeline and nothing calls `after_model`, since the
        reports then lack the provider's figures.
        """
        if self._unheard is not None and self._reports:
            warn_once(
                f"{self._unheard}: the reports have no figures of the provider. "
                "Add after_model_callback=[pipeline.after_model] to the agent"
            )
        return self._reports

    def __call__(self, callback_context: CallbackContext, llm_request: LlmRequest) -> Awaitable[None] | None:
        """Changes `llm_request` at its top level only. This is ADK's `before_model_callback`.

        It returns an awaitable if a pass has to wait for something first, or if the history or what has to be summed up
        is long: the passes then run in a thread. ADK awaits it.
        """
        is_wired = self._is_heard or getattr(agent_of(callback_context), "after_model_callback", True)
        if not is_wired and self._unheard is None:
            self._unheard = callback_context.agent_name
        is_long = len(llm_request.contents) >= OFF_LOOP_EVENTS
        if is_long or any(entry.prepares or entry.is_long(llm_request) for entry in self.passes):
            return self._prepared(callback_context, llm_request)
        if (ran := self._ran(callback_context, llm_request)) is not None:
            self.deliver(callback_context, llm_request, *ran)
        return None

    async def _prepared(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        await prepare_all(self.passes, callback_context, llm_request)
        size = rough_size(llm_request.contents)
        if (ran := await off_loop(size, self._ran, callback_context, llm_request)) is not None:
            self.deliver(callback_context, llm_request, *ran)

    def _ran(self, context: CallbackContext, request: LlmRequest) -> tuple[LlmRequest, CallReport] | None:
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
        leading = leading_passes(call.context)
        passes = (*leading, *(self.passes if passes is None else passes))
        if leading:
            LED[id(request)] = request
        warn_of_unfilled_slots(call.context, passes)
        request = on_chain(request, call, passes)
        reporter = CallReporter(request, call, meter_of(call, self._counter))
        for entry in awake(passes, request):
            request = reporter.ran(entry.name, *attempt(entry, request, call))
        report = reporter.report(request, self._memory, keep_requests=self._keep_requests)
        report.shadow = call.is_shadow
        return request, call_report.calibrated(report, call) if self._counter is None else report

    def deliver(
        self, callback_context: CallbackContext, llm_request: LlmRequest, result: LlmRequest, report: CallReport
    ) -> None:
        """Makes ADK's request say what `run` returned, and hands the report on.

        Args:
            callback_context: ADK's context of the call.
            llm_request: ADK's request, changed at its top level only.
            result: the request after the passes.
            report: the report of the call.
        """
        adopt(llm_request, result)
        # If an exporter or a log handler of the app's own fails, the request is ready and goes out.
        with logged("a report could not be handed on"):
            self._reports.add(report, callback_context)
            call_report.log_line(report)
            self._telemetry.sent(report)

    def after_model(self, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """Adds the provider's figures to the report, and the report to the event. ADK's `after_model_callback`."""
        self._is_heard, self._unheard = True, None
        with logged("a response could not be reported on"):
            if (report := self._reports.waiting_for(callback_context)) is None:
                return
            if llm_response.usage_metadata is not None:
                call_report.hear(report, llm_response.usage_metadata, is_estimate=self._counter is None)
            # ADK stores no partial event of a stream.
            if not llm_response.partial:
                if not report.shadow:
                    call_report.annotate(llm_response, report)
                self._telemetry.heard(report)
                self._reports.answered(callback_context)


async def prepare_all(passes: Iterable[ContextPass], context: CallbackContext, request: LlmRequest) -> None:
    """Waits for what the passes need from outside. One that fails runs without."""
    for entry in passes:
        if entry.prepares:
            with entry.failing("pass %s could not be prepared"):
                await entry.prepare(context, request)


def awake(passes: Sequence[ContextPass], request: LlmRequest) -> Sequence[ContextPass]:
    """Returns the passes that may change the request."""
    is_first = len(request.contents or ()) < 2  # noqa: PLR2004 - a call and its result
    return [each for each in passes if not (is_first and each.needs_results)]


def leave_history(passes: Sequence[ContextPass], request: LlmRequest, call: ModelCall) -> bool:
    """Returns whether a pass says that it leaves history out. One that fails to say so is logged, and counts as no."""
    if request.previous_interaction_id:
        on_chain(request, call, passes)
        return (chain := call.memo[CHAIN]) is not None and chain.has_left
    for entry in awake(passes, request):
        # A pass or a token counter of the app's own may fail.
        with logged("pass %s could not say whether it leaves history out", entry.name):
            if entry.leaves_history(request, call):
                return True
            if entry.keeps_all:
                request = entry.apply(request, call)
    return False


def attempt(entry: ContextPass, request: LlmRequest, call: ModelCall) -> tuple[LlmRequest, float, str | None]:
    """Returns what one pass makes of `request`, the seconds that it took, and why it was skipped if it failed.

    If the pass fails, the request is `request` itself.
    """
    call.notes.clear()
    if entry.cuts_history and request.previous_interaction_id:
        chain = call.memo.get(CHAIN)
        call.note(f"stood aside: the provider keeps the history, {chain.kept if chain else 0:,} tokens")
        return request, 0.0, None
    error, start = None, perf_counter()
    try:
        request = entry.apply(request, call)
    except Exception as exception:
        if entry.on_error == "raise":
            raise
        logger.exception("pass %s failed and was skipped", entry.name)
        said = "(its message cannot be made)"
        with suppress(Exception):
            said = str(exception)
        error = f"{type(exception).__name__}: {said}"
    return request, perf_counter() - start, error

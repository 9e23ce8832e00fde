"""Attaches the whole pack to an app by one plugin, with settings for all agents or for one of them."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from google.adk.agents.invocation_context import InvocationContext
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types
from pydantic import TypeAdapter

from adk_context_pack._adk import BaseTool, CallbackContext, Event, LlmRequest, LlmResponse, ToolContext
from adk_context_pack._adk.instruction import model_names
from adk_context_pack._adk.known_tools import DECLARED, READ_BACK, kind_of, offered_tools, takes_tools
from adk_context_pack._adk.releases import is_live, note_release
from adk_context_pack.conversation.model_call import OFFERED, RUNS, ModelCall, ToolRun, totals_on
from adk_context_pack.conversation.token_estimate import Counter, meter_of, window_of
from adk_context_pack.errors import Configured, SettingError, instances, misspelled, must, positive, told_of, warn_once
from adk_context_pack.passes.context_pass import ContextPass, handed_over, own_passes
from adk_context_pack.passes.limit_spending import LimitSpending
from adk_context_pack.passes.pipeline import ContextPipeline, default_passes, leave_history
from adk_context_pack.reports.call_report import ADDED_TOOLS, CallReport, CapReport
from adk_context_pack.reports.token_use import Prices, ReportLog
from adk_context_pack.stores.append_guard import AppendGuard, watched
from adk_context_pack.stores.byte_cache import CACHE, KEEPERS, Theirs
from adk_context_pack.stores.handles import StoredResult
from adk_context_pack.stores.payload_store import PayloadStore, StoreSetting
from adk_context_pack.tools.cap_rows import DEFAULT_PAYLOADS, DEFAULT_ROWS, CapRows, OffloadPayload
from adk_context_pack.tools.read_back import OFFERED_NAMES, offer_read_back
from adk_context_pack.tools.result_pass import AppNames, ResultPass, ResultReducer, ToolSetting, check_tools, is_stored

if TYPE_CHECKING:
    from google.adk.runners import Runner

    from adk_context_pack.reports.telemetry import Telemetry
    from adk_context_pack.tools.shadow import ShadowOf, ShadowSession

logger = logging.getLogger("adk_context_pack")

WhenReadBack = Literal["early", "always"] | bool
"""When an agent is given the tools to read back: if it needs them, if it may need them, always, or never."""


@told_of("default_result_passes", place="store")
def default_result_passes(
    *, max_rows: int = 100, max_tokens: int = 1000, store: StoreSetting = "auto"
) -> tuple[ResultPass, ...]:
    """Returns the passes over tool results that the plugin runs by default. One plan serves both.

    Args:
        max_rows: a table with more rows is capped.
        max_tokens: a result with at most so many tokens and rows is not touched. The stub of a table has three rows and
            at most three fifths of it, the preview of a text a fifth.
        store: where full results are kept. See `PayloadStore`.
    """
    rows = CapRows(max_rows=max_rows, max_tokens=max_tokens, store=store)
    return rows, OffloadPayload(max_tokens=max_tokens, store=store)


@dataclass(frozen=True, kw_only=True)
class PackSettings(Configured):
    """Configures `ContextPackPlugin` for all agents, or for one of them.

    Args:
        passes: the passes over each request, in order. None means `default_passes()` within `max_tokens`, and an empty
            sequence leaves requests as they are.
        max_tokens: the budget of a request in the default passes. None means four fifths of the model's window, as far
            as its name tells it, and of the smallest one if the model has backups.
        rows: how tables in tool results are capped. None caps none.
        payloads: how other large tool results are kept out of the prompt. None keeps none out.
        result_passes: the passes over each tool result, in order, in place of `rows` and `payloads`. None means these
            two, and an empty sequence leaves results as they are.
        tools: settings for single tools by name: "whole" for results that are always read to their end, "titles" for
            tables that are read row by row, such as those of a search, or a pass such as `CapRows(max_rows=20)` in the
            place of the one of its kind. They go before the `tools` of a pass.
        read_back: when an agent is given `read_back`, the tool that opens what it is not shown. True gives it with the
            first shortened result of its tools, with a handle of another agent, and before history leaves. Results stay
            whole until shortening them saves more than reading a request once more, since a new declaration moves the
            cached prefix. "early" gives it with the first request if a result of the agent's tools may be shortened. So
            does True if earlier sessions of the agent in this process had large results, or if the tool is less than
            about 4 % of instruction and declarations. A session goes on as it began. "always" gives it with every
            request, as caches that the app creates itself need it. False is for models that cannot call functions.
            Requests that cannot take function tools (built-in tools or a response schema alone) get none.
    """

    passes: Sequence[ContextPass] | None = None
    max_tokens: int | None = None
    rows: CapRows | None = DEFAULT_ROWS
    payloads: OffloadPayload | None = DEFAULT_PAYLOADS
    result_passes: Sequence[ResultPass] | None = None
    tools: Mapping[str, ToolSetting] = field(default_factory=dict, hash=False)
    read_back: WhenReadBack = True
    _built: dict[Any, tuple[ContextPass, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        allowed = 'True, False, "early" or "always"'
        must(self.read_back in {True, False, "early", "always"}, self, "read_back", self.read_back, allowed)
        positive(self, "max_tokens", self.max_tokens, optional=True)
        for name, kind in (("rows", CapRows), ("payloads", OffloadPayload)):
            given = getattr(self, name)
            must(isinstance(given, kind | None), self, name, given, f"{kind.__name__}(…) or None")
        is_alone = self.result_passes is None or (self.rows is DEFAULT_ROWS and self.payloads is DEFAULT_PAYLOADS)
        must(is_alone, self, "result_passes", self.result_passes, "given without rows and payloads")
        kinds = {"passes": (ContextPass, "StripForContext()"), "result_passes": (ResultPass, "CapRows()")}
        for name, expected in kinds.items():
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, instances(self, name, given, *expected))
        check_tools(self, "tools", self.tools)

    @property
    def reducing_passes(self) -> tuple[ResultPass, ...]:
        """The passes over each tool result, in the order in which they run."""
        if self.result_passes is not None:
            return tuple(self.result_passes)
        return tuple(filter(None, (self.rows, self.payloads)))

    def offer_read_back(
        self,
        request: LlmRequest,
        call: ModelCall,
        passes: Sequence[ContextPass],
        *,
        cached_price: float = 0.1,
        reports: Iterable[CallReport] = (),
    ) -> frozenset[str]:
        """Adds to ADK's request the tool that opens what its agent is not shown, and returns the names of added ones.

        The passes may leave history out, and the reports tell how many of the agent's sessions needed the tool.
        """
        missed = (1 - cached_price) * sum(meter_of(call).fixed(request))
        is_early = self.read_back in {"early", "always"} or (missed >= DECLARED and pays_early(call, missed, reports))
        # What is declared already costs no cut of the history anything.
        history = not is_early and leave_history(passes, request, call)
        # Where nothing is in state and nothing leaves, there is nothing to read back.
        if not (is_early or history or call.state):
            return frozenset()
        offer = partial(offer_read_back, request, call.state, passes=self.reducing_passes, tools=self.tools)
        offer = partial(offer, always=self.read_back == "always", handed=handed_over(call))
        if (names := offer(history=history, early=is_early)) or not is_early:
            return names
        return offer(history=leave_history(passes, request, call))

    def stored_in(self, store: StoreSetting) -> PackSettings:
        """Returns the same settings with result passes that keep full results in `store`."""
        tools = {name: _stored_in(store, each) for name, each in self.tools.items()}
        if self.result_passes is not None:
            return replace(self, tools=tools, result_passes=[_stored_in(store, entry) for entry in self.result_passes])
        return replace(self, tools=tools, rows=_stored_in(store, self.rows), payloads=_stored_in(store, self.payloads))

    def reducer(self, store: PayloadStore | None = None, **beside: Any) -> ResultReducer:
        """Returns what reduces tool results with these settings, and keeps full ones in `store` if that is given."""
        given = self if store is None else self.stored_in(store)
        offered = OFFERED_NAMES if self.read_back else frozenset[str]()
        return ResultReducer(passes=given.reducing_passes, offered=offered, tools=given.tools, **beside)

    def budget_for(self, model: str | None, *backups: str | None) -> int:
        """Returns the tokens that a request to `model` may have, and to each model that may be asked in its place."""
        # The rest of the window is for the answer and for errors of estimates.
        return self.max_tokens or int(min(map(window_of, (model, *backups))) * 0.8)

    def passes_within(
        self, budget: int, counter: Counter | None = None, cached_price: float = 0.1
    ) -> tuple[ContextPass, ...]:
        """Returns the passes for a request of at most `budget` tokens. See `default_passes`."""
        if self.passes is not None:
            return tuple(self.passes)
        # There is one budget for each model. The passes hold the counter, so that no other one is given its id.
        key = budget, id(counter), cached_price
        if key not in self._built:
            self._built[key] = default_passes(max_tokens=budget, counter=counter, cached_price=cached_price)
        return self._built[key]


def pays_early(call: ModelCall, missed: float, reports: Iterable[CallReport]) -> bool:
    """Returns whether `read_back` declared in vain costs less than `missed` tokens that are sent again for it."""
    own = (event for event in call.events if event.author == call.agent_name)
    # A session goes on as it began, in another process as well. Nothing is written to one in shadow mode.
    if not call.is_shadow and (begun := next(own, None)) is not None:
        return "pack_tools" in totals_on(begun)
    needed = dict[str, bool]()
    for report in reports:
        if report.agent == call.agent_name and report.session_id != call.session_id:
            # Of so many results some would have left, had it been declared.
            is_large = report.shortened > 0 or sum(report.tools_before.values()) > 50 * DECLARED
            needed[report.session_id] = is_large or needed.get(report.session_id, False)
    # As long as nothing is known of them, one session in 25 is taken to need it.
    return missed * (1 / 25 + sum(needed.values())) >= DECLARED * (1 + len(needed))


def _stored_in(store: StoreSetting, entry: Any) -> Any:
    # A pass of the user's own may have no such setting.
    return replace(entry, store=store) if "store" in getattr(entry, "__dataclass_fields__", ()) else entry


def checked_agents(agents: Mapping[str, PackSettings | None] | None) -> dict[str, PackSettings | None]:
    """Returns the plugin's settings for single agents. Refuses all but a mapping of names to `PackSettings` or None."""
    given = {} if agents is None else agents
    is_right = isinstance(given, Mapping) and all(isinstance(each, PackSettings | None) for each in given.values())
    is_right = is_right and all(name and isinstance(name, str) for name in given)
    must(is_right, "ContextPackPlugin", "agents", given, 'settings by agent name such as {"writer": PackSettings()}')
    return dict(given)


def names_in(agents: Mapping[str, PackSettings | None], *, default: PackSettings) -> AppNames:
    """Returns the names of agents and tools that a plugin's settings have, to look them up in the app."""
    settings = [each for each in (default, *agents.values()) if each is not None]
    reducing: list[Any] = [entry for each in settings for entry in (each, *each.reducing_passes)]
    found: dict[str, Collection[str]] = {"agents": agents, "tools": {name for each in reducing for name in each.tools}}
    # Two of the default passes are given the same names, and a mistake is said once.
    for words in (("keep_agents",), ("keep_tools", "exclude_tools")):
        own = [getattr(entry, word, ()) for each in settings for entry in each.passes or () for word in words]
        found[f"{' or '.join(words)} of a pass"] = frozenset().union(*own)
    return AppNames(owner="ContextPackPlugin", settings=found)


_PREFIX = "ADK_CONTEXT_PACK_"


def _number(value: Any) -> int:
    return positive("", "", int(value) if isinstance(value, str) else value)


def _prices(value: Any) -> Prices:
    if isinstance(value, Prices):
        return value
    return Prices(**dict(zip(("input", "cached"), map(float, value.split(",")), strict=True)))


def _page(value: Any) -> Path:
    path = Path(os.fspath(value))
    if path.suffix.lower() not in {".html", ".htm"} or not path.parent.is_dir():
        raise ValueError(value)
    return path


_VARIABLES: Mapping[str, tuple[str, Callable[[Any], Any], str]] = {
    "max_tokens": ("MAX_TOKENS", _number, "a whole number of tokens, at least 1"),
    "max_memory_bytes": ("MAX_MEMORY", _number, "a number of bytes, at least 1"),
    "report_file": ("REPORT", _page, "the path of an .html file in a folder that exists"),
    "prices": ("PRICES", _prices, 'Prices(input=…, cached=…), or a text such as "1.25,0.31"'),
    "keep_requests": ("KEEP_REQUESTS", TypeAdapter(bool | int).validate_python, "True, False, or how many to keep"),
    "shadow": ("SHADOW", TypeAdapter(bool).validate_python, "True, False or None, or 1 or 0"),
}
"""For each argument that the environment may give: its variable, what reads it, and what is expected."""


def _argument(name: str, given: Any) -> Any:
    """Returns an argument as it is read or, if it is None, the environment variable that stands in for it."""
    variable, read, expected = _VARIABLES[name]
    value = (os.environ.get(_PREFIX + variable, "").strip() or None) if given is None else given
    try:
        return None if value is None else read(value)
    except (AttributeError, TypeError, ValueError):
        name = _PREFIX + variable if given is None else name
        raise SettingError.of("ContextPackPlugin", name, value, expected) from None


def warn_of_variables() -> None:
    """Warns once of each environment variable that is a misspelling of one that the pack reads."""
    known = {"WRAP", *(variable for variable, _, _ in _VARIABLES.values())}
    for name in (each.removeprefix(_PREFIX) for each in os.environ if each.startswith(_PREFIX)):
        if name not in known and (near := misspelled(name, known)):
            warn_once(f"nothing reads the variable {_PREFIX}{name} (did you mean {_PREFIX + near!r}?)")


class ContextPackPlugin(Configured, BasePlugin):
    """Attaches the whole pack in one line: `App(name=…, root_agent=…, plugins=[ContextPackPlugin()])`.

    For each agent of the app, the plugin retells the relayed logs of other agents, caps tables in tool results and
    stores other large results when they are produced, offers tools to read them back, keeps the history within the
    model's window, and reports on each model call. `adk web --extra_plugins adk_context_pack.ContextPackPlugin`
    attaches it with no code change, as does `adk api_server`. Then six arguments may come from the environment.

    Unless a limit is spent, it returns nothing from any callback, so it hides neither an agent's own callbacks nor
    other plugins. None of its failures reaches the run, except those of a request pass with `on_error="raise"`. One
    instance serves all sessions of an app, and the children of `AgentTool`. In live mode ADK ignores a changed request,
    so the plugin does nothing and says so once.

    An agent's `after_tool_callback=[…]` sees the whole result. ADK 1.22 stores an event before any plugin sees
    it, so the plugin reduces results within the tool there, and that callback sees the reduced one. Failed results of
    up to 2,000 tokens, answers to the user (`skip_summarization`), pending results and those of ADK's tools stay whole.

    Attributes:
        counter: the tokenizer for budgets and reports, or None.
        reports: a `ReportLog` with one report for each model call, newest last.
        result_reports: the newest reports on tool results, as `CapReport`, at most `max_reports` of them.

    Cost to the prompt cache: that of the passes. Tools to read back join an agent's declarations with the first result
    that its request shows in part, and before history leaves, and move the prefix then. With `read_back="early"` or a
    long prefix the first do not. With "always" none does: use it with caches that the app creates itself.
    """

    def __init__(  # noqa: PLR0913 - each part of the pack is replaceable
        self,
        name: str = "context_pack",
        *,
        passes: Sequence[ContextPass] | None = None,
        max_tokens: int | None = None,
        rows: CapRows | None = DEFAULT_ROWS,
        payloads: OffloadPayload | None = DEFAULT_PAYLOADS,
        result_passes: Sequence[ResultPass] | None = None,
        tools: Mapping[str, ToolSetting] | None = None,
        read_back: WhenReadBack = True,
        store: StoreSetting | None = None,
        agents: Mapping[str, PackSettings | None] | None = None,
        counter: Counter | None = None,
        max_reports: int = 1000,
        keep_requests: bool | int | None = None,
        telemetry: Telemetry | None = None,
        shadow: bool | None = None,
        report_file: str | PathLike[str] | None = None,
        prices: Prices | None = None,
        max_memory_bytes: int | None = None,
        max_input_tokens: int | None = None,
        max_cost: float | None = None,
        limit_per: Literal["session", "run"] = "session",
        on_limit: Literal["end", "warn"] = "end",
        show_budget: bool = False,
    ) -> None:
        """Attaches the whole pack to an app. All settings are optional.

        Args:
            name: the plugin's name in ADK.
            passes: the passes over each request, in order. None means `default_passes()`, an empty sequence none.
            max_tokens: the budget of a request in the default passes. None means `ADK_CONTEXT_PACK_MAX_TOKENS`, else
                four fifths of the model's window, or of the smallest one if the model has backups.
            rows: how tables in tool results are capped. None caps none.
            payloads: how other large tool results are kept out of the prompt. None keeps none out.
            result_passes: the passes over each tool result, in order, in place of `rows` and `payloads`.
            tools: settings for single tools by name, such as `{"search": "titles"}`, as `PackSettings` says.
            read_back: whether an agent is given the tool that opens what it is not shown, as `PackSettings` says.
            store: where full results are kept, in place of the setting of each result pass. See `PayloadStore`.
            agents: settings for single agents by name, in place of the above, as `PackSettings`, or None for no pack.
            counter: a tokenizer for budgets and reports, from text to its number of tokens.
            max_reports: how many reports of each kind are kept.
            keep_requests: keeps the newest requests for `write_html`, as for `ContextPipeline`, and shows what the
                passes replaced in the traces of `adk web`. None means `ADK_CONTEXT_PACK_KEEP_REQUESTS`, else False.
            telemetry: the destination of span events and metrics. The default is OpenTelemetry's global providers.
            shadow: leaves requests and stored sessions exactly as they are without the plugin, and reports on what it
                would have done. None means `ADK_CONTEXT_PACK_SHADOW`, else False.
            report_file: an HTML file that the plugin writes at the end of each run, with all reports. None means
                `ADK_CONTEXT_PACK_REPORT`, else no file.
            prices: the prices of input tokens, for costs on that page. None means `ADK_CONTEXT_PACK_PRICES`, else none.
            max_memory_bytes: what the pack keeps in this process and in those of its queries, a quarter in each. The
                last plugin with a limit sets it for all. None means `ADK_CONTEXT_PACK_MAX_MEMORY`, else 256 MiB.
            max_input_tokens: the most input tokens for the model calls of a session together, by the provider's
                figures. From four fifths on, reports and the log say so. None sets no limit.
            max_cost: the most that these tokens may cost, in the currency of `prices`. None sets no limit.
            limit_per: what these two limits are for, a "session" or each "run" of it.
            on_limit: "end" answers in the model's place once a limit is spent, and ends a loop. "warn" goes on.
            show_budget: whether each request ends with a line that tells the agent how much of a limit is spent.
        """
        super().__init__(name=name)
        note_release()
        warn_of_variables()
        max_tokens = _argument("max_tokens", max_tokens)
        self._report_file: Path | None = _argument("report_file", report_file)
        self._prices: Prices | None = _argument("prices", prices)
        self._cached_share = (self._prices or Prices()).cached_share
        kept, is_shadow = _argument("keep_requests", keep_requests), _argument("shadow", shadow)
        if (memory := _argument("max_memory_bytes", max_memory_bytes)) is not None:
            CACHE.limit(memory)
        parts: dict[str, Any] = {"passes": passes, "rows": rows, "payloads": payloads, "result_passes": result_passes}
        self.counter = counter
        beside: dict[str, Any] = {"max_reports": max_reports, "keep_requests": kept or 0, "telemetry": telemetry}
        with told_of(self, place="store"):
            self._pipeline = ContextPipeline((), counter=counter, **beside)
            self._reports = self._pipeline.reports
            settings = PackSettings(max_tokens=max_tokens, read_back=read_back, tools=tools or {}, **parts)
            self._settings = settings if store is None else settings.stored_in(store)
            limit = LimitSpending(
                max_input_tokens=max_input_tokens, max_cost=max_cost, prices=self._prices or Prices(),
                limit_per=limit_per, on_limit=on_limit, show_budget=show_budget, reports=self.reports,
            )  # fmt: skip
        self._agents = checked_agents(agents)
        self._names = names_in(self._agents, default=self._settings)
        self._limit = None if max_input_tokens is None and max_cost is None else limit
        self._result_reports: deque[CapReport] = deque(maxlen=max_reports)
        self._beside: dict[str, Any] = {"on_report": self._result_reports.append, "counter": counter}
        self._beside["cached_price"] = self._cached_share
        self._stored_first: bool | None = None
        self._stood_aside = self._is_spare = False
        self._services: AppendGuard | None = None
        KEEPERS.add(self)
        self._shadow: ShadowSession | None = None
        if is_shadow:
            from adk_context_pack.tools.shadow import ShadowSession  # noqa: PLC0415 - few apps run in shadow mode

            self._shadow = ShadowSession(self.settings_for, self._reports, **self._beside)

    @property
    def reports(self) -> ReportLog:
        """Returns one report for each model call, newest last."""
        return self._reports

    @property
    def kept_bytes(self) -> int:
        """Returns the bytes of memory that the pack keeps in this process and in those of its queries."""
        return CACHE.kept_bytes

    @property
    def result_reports(self) -> Sequence[CapReport]:
        """Reports on tool results that were stored, noted something about, left whole or lost, newest last."""
        return tuple(self._result_reports)

    def settings_for(self, agent: str) -> PackSettings | None:
        """Returns the settings for an agent, or None for one that is left alone."""
        return self._agents.get(agent, self._settings)

    async def forget(
        self, *, app_name: str, user_id: str, session_id: str | None = None, runner: Runner | None = None
    ) -> None:
        """Removes what the pack keeps of a session, or of all sessions of a user, wherever it keeps it.

        That is: results in state and with artifacts or a `ResultStore`, what caches, reports and worker processes of
        this process hold, recalled passages, and events that wait for the memory service. Stored events are ADK's, and
        so is what the memory service has taken. Delete the session to remove its events. Call it while no run of the
        user is going on, in each process that serves the user. A second call does no harm.

        Args:
            app_name: the app.
            user_id: the user.
            session_id: the session. None means all sessions of the user that the service lists or this process knows.
            runner: has the app's session and artifact services. None means those of the plugin's last run.

        Raises:
            SettingError: no `runner` is given, and the plugin has seen no run.
            StoreError: something is still kept. The message says where. The rest is removed.
        """
        from adk_context_pack.stores.payload_store import forget_sessions  # noqa: PLC0415 - few runs need it

        known = {report.session_id for report in self.reports if report.user_id == user_id}
        theirs = Theirs(app_name, user_id, frozenset(known if session_id is None else [session_id]), session_id is None)
        await forget_sessions(theirs, runner or self._services)

    def drop(self, theirs: Theirs) -> None:
        """Forgets the reports on results of some sessions."""
        left = [report for report in self._result_reports if report.session_id not in theirs.sessions]
        self._result_reports.clear()
        self._result_reports.extend(left)

    def note_loss(self, context: ToolContext, result: StoredResult, error: str) -> None:
        """Adds a report on a stored result that could not be read back. The pack calls it."""
        lost = CapReport(tool=result.tool_name, handle=result.handle, error=error, session_id=context.session.id)
        self._result_reports.append(replace(lost, invocation_id=context.invocation_id))

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """ADK's callback: remembers the services of the app, and whether an earlier plugin does the work already."""
        for each in invocation_context.plugin_manager.plugins:
            if hasattr(each, "settings_for"):
                self._is_spare = each is not self
                break
        if self._is_spare:
            warn_once(f"{self.name} does nothing, since {each.name} is a ContextPackPlugin as well: remove one of them")
        if self._shadow is None and (own := watched(invocation_context)) is not None:
            self._services = own

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """ADK's callback: the passes over the request, and the tools that it needs beside its own."""
        context, request, shadow = callback_context, llm_request, None
        try:
            self._names.look(context)
            settings = self.settings_for(context.agent_name)
            if settings is None or self._stands_aside(context):
                return None
            if self._limit is not None and self._shadow is None and (answer := self._limit.answer_for(context)):
                return answer
            budget = settings.budget_for(*model_names(context, request.model))
            passes = settings.passes_within(budget, self.counter, self._cached_share)
            passes = passes if self._limit is None else (*passes, self._limit)
            if self._shadow is not None:
                request, shadow = await self._shadow.request(request, ModelCall.of(context))
                # With on_error="raise" somebody wants to see a failure, but a shadow must leave no trace of one.
                passes = tuple(replace(entry, on_error="skip") for entry in passes)
            remembering = ModelCall.remembering(context)
        except Exception:
            logger.exception("a request goes out as it is")
            return None
        run = partial(self._ran, settings, passes, request, remembering, shadow)
        await self._pipeline.run_prepared(passes, context, request, run)
        return None

    async def after_model_callback(self, *, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """ADK's callback: the provider's figures into the report, and the report onto the event."""
        self._pipeline.after_model(callback_context, llm_response)

    async def before_tool_callback(self, *, tool: BaseTool, tool_context: ToolContext, **_: Any) -> None:
        """ADK's callback: remembers which tool answers a call, since its event gives only a name."""
        try:
            shortened = False
            if (kind := kind_of(tool, None)) is not None:
                settings = self.settings_for(tool_context.agent_name)
                passes = (*own_passes(tool_context), *((settings and settings.passes) or ()))
                shortened = any(kind in each.shortens for each in passes)
            run = ToolRun(tool, shortened_later=shortened)
            RUNS.tools(tool_context.session)[tool_context.function_call_id or ""] = run
        except Exception:
            logger.exception("a tool is known by its name")

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> None:
        """ADK's callback: fresh tool results made smaller before they are stored."""
        try:
            if self._stored_first is None and event.content and not event.partial:
                self._stored_first = is_stored(invocation_context, event)
            # Executors of ADK's give what code prints first. A model that runs code itself says which, or its name.
            parts = (event.content.parts if event.content else None) or [types.Part()]
            is_printed = parts[0].code_execution_result and not event.model_version
            if self._shadow is None and not is_printed and not event.get_function_responses():
                return
            settings = self.settings_for(event.author)
            if settings is None or self._stands_aside(invocation_context):
                return
            if self._shadow is not None:
                await self._shadow.see(invocation_context.session, event)
            else:
                await settings.reducer(**self._beside).reduce_event(invocation_context, event)
        except Exception:
            logger.exception("an event is stored as it is")

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:  # noqa: ARG002 - ADK's
        """ADK's callback: writes the page of all reports, where `report_file` names one."""
        if self._report_file is not None:
            from adk_context_pack.reports.html_page import keep_page  # noqa: PLC0415 - few apps write a page

            await keep_page(self.reports, self._report_file, self._prices)

    def _ran(
        self,
        settings: PackSettings,
        passes: Sequence[ContextPass],
        request: LlmRequest,
        remembering: AbstractContextManager[ModelCall],
        shadow: ShadowOf | None,
    ) -> tuple[LlmRequest, CallReport] | None:
        # Nothing is awaited while the memos are lent.
        with remembering as lent:
            call = lent if shadow is None else shadow(lent)
            try:
                if self._stored_first is not False and not call.is_shadow:
                    # Up to 1.22 ADK stores an event before a plugin sees it. The first event shows which release this
                    # is: that of the call, which comes before the tool returns.
                    settings.reducer(**self._beside).wrap_tools(request, unless=lambda: self._stored_first is False)
                if settings.read_back:
                    is_taken = READ_BACK in request.tools_dict
                    offered = offered_tools(call.context, OFFERED_NAMES) if is_taken else OFFERED_NAMES
                    call.memo[OFFERED] = offered if takes_tools(request) else frozenset()
                    call.memo[ADDED_TOOLS] = settings.offer_read_back(
                        request, call, passes, cached_price=self._cached_share, reports=self._reports
                    )
            except Exception:
                logger.exception("a request goes out as it is")
                return None
            return self._pipeline.run(request, call, passes)

    def _stands_aside(self, context: CallbackContext | InvocationContext) -> bool:
        is_aside = is_live(context)
        if is_aside and not self._stood_aside:
            self._stood_aside = True
            logger.info("live mode ignores changed requests; the context pack stands aside")
        return is_aside or self._is_spare

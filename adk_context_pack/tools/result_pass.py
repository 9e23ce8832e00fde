"""Defines the contract of a result pass, and runs passes in order: over one tool result, or over those of an app."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

from adk_context_pack._adk import BaseTool, Event, EventActions, InvocationContext, LlmRequest, ToolContext, types
from adk_context_pack._adk.instruction import agent_of, agents_in
from adk_context_pack._adk.known_tools import ToolKind, has_nodes, kind_of, offered_tools, openers_of, takes_references
from adk_context_pack._json import json_text
from adk_context_pack.conversation.contents import changed, mapped
from adk_context_pack.conversation.model_call import RUNS, ToolRun
from adk_context_pack.conversation.token_estimate import Counter, estimate_payload, estimate_tokens
from adk_context_pack.errors import Callback, P, StoreError, logged, logger, must, told_of, valid_counter, warn_of_name
from adk_context_pack.reports.call_report import CODE_EXECUTION, CapReport, give_report
from adk_context_pack.stores.append_guard import Addition, guard
from adk_context_pack.stores.codec import T, off_loop, rough_size
from adk_context_pack.stores.handles import HANDLE_LENGTH, ResultKind, is_entry, state_key, stored_result
from adk_context_pack.stores.payload_store import StoreSetting, choose_store
from adk_context_pack.tables.columns import lazy
from adk_context_pack.tables.failure import has_failed, is_page
from adk_context_pack.tables.stub_form import FACTS, HANDLE, LIMITS, NOTE, not_kept, opening
from adk_context_pack.tools import result_limits
from adk_context_pack.tools.result_limits import LastRequest, Part, ResultLimits, ResultWeigher, as_response
from adk_context_pack.tools.wrap import wrap_runs


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """One tool call whose result has just come back: which tool, in which session, and where to keep the whole.

    It holds ADK's own objects, not copies. Read them, and write only through `keep`, `note` and `state_delta`.

    Attributes:
        tool_name: the tool.
        args: the call's arguments, empty if the call is not found in the session.
        call_id: ADK's id of the call, if it is known.
        agent_name: the agent that called the tool.
        invocation_id: ADK's id of the run.
        session_id: the session's id.
        actions: the actions of the event that will hold the result.
        state_delta: the state changes that ADK will store with the result, or None if `context` writes its own state.
        context: ADK's tool, callback or invocation context, or None in a replay or in a test of a pass.
        offered: tools that the agent will have beyond its own list, as `offers` reads them.
        notes: sentences of the running pass for the report, as `note` adds them.
        kept: everything that the passes have stored so far, as `keep` adds it.
        on_report: called with each report about this result, beside the `on_report` of the pass.
        counter: weighs the result for reports, from text to tokens. None means that of the pass, or an estimate.
        tool: the tool itself, or None if only its name is known, as in a recording.
        shortened_later: whether a pass over the agent's requests makes results of this tool smaller there.
        cached_price: the price of a cached token as a share of another one.
        event: the event that will hold the result, if that is known.
        last: the agent's last request, or None for the one that the session tells.
    """

    tool_name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    call_id: str | None = None
    agent_name: str = ""
    invocation_id: str = ""
    session_id: str = ""
    actions: EventActions | None = None
    state_delta: MutableMapping[str, Any] | None = None
    context: Any = None
    offered: frozenset[str] = frozenset()
    notes: list[str] = field(default_factory=list)
    kept: list[Part] = field(default_factory=list)
    on_report: Callable[[CapReport], None] | None = None
    counter: Counter | None = None
    tool: BaseTool | None = None
    shortened_later: bool = False
    cached_price: float = 1.0
    event: Event | None = None
    last: LastRequest | None = None

    @classmethod
    def of_tool(cls, tool: BaseTool, args: Mapping[str, Any], context: ToolContext) -> ToolCall:
        """Returns the call behind a tool context, without copying anything."""
        return cls(
            tool_name=tool.name,
            tool=tool,
            args=args,
            call_id=getattr(context, "function_call_id", None),
            agent_name=getattr(context, "agent_name", ""),
            actions=getattr(context, "actions", None),
            context=context,
            session_id=getattr(getattr(context, "session", None), "id", ""),
            invocation_id=getattr(context, "invocation_id", ""),
        )

    @classmethod
    def of_response(cls, response: types.FunctionResponse, event: Event, context: InvocationContext | None) -> ToolCall:
        """Returns the call behind a response in an event that ADK has not stored yet, or that a replay reads."""
        # The call is nearly always in the newest event.
        past = reversed(context.session.events if context is not None else ())
        calls = (call for each in past for call in each.get_function_calls())
        return cls(
            tool_name=response.name or "",
            args=next((call.args or {} for call in calls if call.id == response.id), {}),
            call_id=response.id,
            agent_name=event.author,
            actions=event.actions,
            state_delta=event.actions.state_delta if context is not None else {},
            event=event,
            context=context,
            session_id=getattr(getattr(context, "session", None), "id", ""),
            invocation_id=getattr(context, "invocation_id", ""),
        )

    @property
    def tool_kind(self) -> ToolKind | None:
        """Tells what the tool is if it is one of ADK's or the pack's own."""
        return kind_of(self.tool, self.tool_name)

    def note(self, text: str) -> None:
        """Puts one short sentence about this result into the report. Never a payload."""
        self.notes.append(text)

    def offers(self, tool_name: str) -> bool:
        """Returns whether the agent has a tool, so that a pass may name it to the model."""
        return tool_name in offered_tools(self.context, self.offered)

    @property
    def can_refer(self) -> bool:
        """Tells whether the agent has a tool of `resolve_results`, so that a pass may say how to refer to results."""
        return bool(self.where_to_refer)

    @property
    def where_to_refer(self) -> str:
        """Names the places in which the agent may refer to what a pass keeps, for the model. May be empty."""
        return takes_references(self.context)

    async def off_loop(self, value: Any, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Returns `work(*args, **kwargs)`, run in a thread where `value` is large, so that other runs go on meanwhile.

        Nobody may change `value` meanwhile, and `work` touches nothing of the loop, such as `state_delta` or `context`.
        """
        # A replay has no context, and no event loop that somebody else waits for.
        return await off_loop(rough_size(value) if self.context is not None else 0, work, *args, **kwargs)

    async def keep(  # noqa: PLR0913 - what is kept, where, and what is reported of it
        self,
        value: Any,
        *,
        kind: ResultKind = "payload",
        store: StoreSetting = "auto",
        key: str | None = None,
        rows_shown: int = 0,
        rows_total: int = 0,
    ) -> str:
        """Stores `value` for the session and returns the handle that opens it again.

        If the session service later refuses the event, the event is stored with the full result instead.

        Args:
            value: what the model will not see whole. Nobody may write into it later.
            kind: "rows" for what is asked, "payload" for what is read.
            store: where it is kept, as for `PayloadStore`.
            key: a state key of the caller's own for the value.
            rows_shown: rows that the model still sees, for the report.
            rows_total: rows in `value`, for the report.

        Raises:
            StoreError: the value has no JSON form, or the store failed. The runner then leaves the result whole.
        """
        handle = await choose_store(store).put(
            self.context, value, tool_name=self.tool_name, kind=kind, key=key, delta=self.state_delta, note=self.note
        )
        self.kept.append(Part(value=value, kind=kind, rows_shown=rows_shown, rows_total=rows_total, handle=handle))
        return handle


# Half an instruction or half a schema misleads, ADK reads what its control tools return, and a part of a stored result
# is never cut into a stub again.
CHANGEABLE: Collection[ToolKind | None] = (None, "memory")
"""The kinds of tools whose results passes may change."""


async def stays_whole(result: Any, call: ToolCall) -> bool:
    """Returns whether a result passes as it is.

    So do results of ADK's and the pack's own tools (see `CHANGEABLE`), those that a pass over requests shortens, what
    answers the user (`skip_summarization`), pending long-running results (None), parts and function responses that a
    tool built itself, what a tool returns while it waits for a confirmation or for credentials, and failed results of
    up to about 2,000 tokens that hold no web page.
    """
    # A result may be an object of any class, and looking at it may fail.
    with logged("a result of %s could not be looked at", call.tool_name, type_only=True):
        waiting_for = ("requested_auth_configs", "requested_tool_confirmations")
        asked = (getattr(call.actions, name, None) or () for name in waiting_for)
        return (
            call.shortened_later
            or call.tool_kind not in CHANGEABLE
            or result is None
            or isinstance(result, types.Part | types.FunctionResponse)
            # A merged event of parallel calls holds what each of them asked for.
            or any(call.call_id in calls if call.call_id else bool(calls) for calls in asked)
            or getattr(call.actions, "skip_summarization", None) is True
            or await call.off_loop(result, _is_short_failure, result)
        )
    return True


def is_stub(result: Any, call: ToolCall) -> bool:
    """Returns whether this package has made a result of a larger one, within this very call."""
    # A tool may return the keys of a stub itself, so only a handle that was kept within the call makes its result one.
    if not isinstance(result, Mapping) or LIMITS not in result:
        return False
    delta = getattr(call.actions, "state_delta", None) or ()
    kept = [str(key) for key in delta if stored_result(key)] + [f":{entry.handle}" for entry in call.kept]
    handle = result.get(HANDLE)
    return any(handle is None or key.endswith(f":{handle}") for key in kept)


def _is_short_failure(result: Any) -> bool:
    values = result.values() if isinstance(result, Mapping) else (result,)
    size = estimate_tokens if isinstance(result, str) else estimate_payload
    return has_failed(result) and not any(map(is_page, values)) and size(result) <= 2000  # noqa: PLR2004 - tokens


if TYPE_CHECKING:
    from adk_context_pack.tools.result_plan import ResultPlan


ToolSetting: TypeAlias = "Literal['whole', 'titles'] | ResultPass | None"
"""The setting for one tool: "whole", "titles", a result pass, or None, which means "whole"."""
NO_TOOLS: Mapping[str, ToolSetting] = {}
MIN_LOSS = 100
"""Tokens below which naming what a pass left out would cost as much as it saved."""


@dataclass(frozen=True, kw_only=True)
class ResultPass(Callback, ABC):
    """One rewriting of a tool's result before ADK stores it and the model sees it.

    An instance is an entry for `after_tool_callback=[…]`, alone or with other callbacks, or for the `result_passes` of
    a `ContextPackPlugin`. Subclass it, name it verb + object, and write `apply`.

    Cost to the prompt cache: none. A result that is reduced as the tool returns it never enters the session whole.

    Args:
        on_error: "skip" leaves the result as it was when the pass fails, logs the kind of error and lets the agent go
            on. "raise" lets the exception out of a wrapped tool or callback, for tests. The plugin always skips.
        tools: settings for single tools by name, in place of these. "whole" or None is for a tool whose results stay as
            they are, "titles" for one whose tables are read row by row, such as a search.
        on_report: called with a `CapReport` for each result that the pass stored, noted something about, or failed on.
    """

    kept_kind: ClassVar[str | None] = None
    """The kind of results that it keeps, "rows" or "payload". The plugin declares the tool that reads it back."""
    is_reducing: ClassVar[bool] = True
    """True if the result is kept and named when the pass leaves a part out. False for a pass that removes secrets."""

    on_error: Literal["skip", "raise"] = "skip"
    tools: Mapping[str, Any] = field(default_factory=dict, hash=False)
    on_report: Callable[[CapReport], None] | None = None
    _checks: ClassVar = {
        "on_report": partial(valid_counter, does="of a CapReport"),
        "tools": lambda own, name, value: check_tools(own, name, value, _kind_of(type(own))),
    }

    @lazy
    def _names(self) -> AppNames:
        return AppNames(owner=type(self).__name__, settings={"tools": self.tools})

    @abstractmethod
    async def apply(self, result: Any, call: ToolCall) -> Any:
        """Returns the result as the model should see it.

        Pure: builds new objects if something changes, and returns `result` itself if nothing does.

        Args:
            result: what the tool, or the pass before, returned: a dict, list, text, pydantic model, or anything else.
            call: the call behind it, and `call.keep(…)` for what the model will not see whole.
        """

    def settings_for(self, tool_name: str) -> Self | None:
        """Returns the settings for one tool, its own or these, or None for a tool whose results the pass leaves."""
        own: Self | str | None = self.tools.get(tool_name, self)
        return self.by_titles() if own == "titles" else None if isinstance(own, str) else own

    def by_titles(self) -> Self:
        """Returns the same settings with each row shown by what tells it apart, if the pass shows rows."""
        return self

    async def __call__(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Any
    ) -> dict[str, Any] | None:
        """ADK's `after_tool_callback`: returns the new result, or None if the result stays as it is."""
        result = await self.reduce(tool, args, tool_context, tool_response)
        if result is tool_response:
            return None
        # ADK makes the same dict of a result that is not one.
        return result if isinstance(result, dict) else {"result": result}

    async def reduce(self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, result: Any) -> Any:
        """Returns the new result, or `result` itself. A wrapped tool calls this after each of its runs."""
        self._names.look(tool_context)
        return await reduce_result((self,), result, ToolCall.of_tool(tool, args, tool_context))


def _valid_store(owner: object, name: str, store: StoreSetting) -> None:
    with told_of(owner, place=name):
        choose_store(store)


@dataclass(frozen=True, kw_only=True)
class PlannedPass(ResultPass):
    """A pass that sets limits, within which one plan decides what is shown of a result.

    Passes of this kind that follow each other share the plan, so that none undoes what another one did.
    """

    kept_kind: ClassVar[ResultKind]

    store: StoreSetting = "auto"
    counter: Counter | None = None
    _checks: ClassVar = {"store": _valid_store, "counter": valid_counter}

    @abstractmethod
    def limit(self, limits: ResultLimits) -> ResultLimits:
        """Returns limits with those of this pass put in."""

    async def keep(self, part: Part, call: ToolCall) -> str:
        """Keeps a part that the model does not see whole, and returns its handle."""
        return await call.keep(part.value, kind=part.kind, store=self.store)

    async def apply(self, result: Any, call: ToolCall) -> Any:
        """Returns the reduced result, or `result` itself if it is small. A data frame becomes rows in any case."""
        return (await _planned((self,), result, call)).shown


class _Outcome(NamedTuple):
    """Holds what passes show of a result, what they show if the session refuses what was kept, and why that failed."""

    shown: Any
    unkept: Callable[[], Any]
    error: str = ""


def _limits_of(entries: Iterable[PlannedPass]) -> ResultLimits:
    return reduce(lambda limits, entry: entry.limit(limits), entries, ResultLimits())


async def _planned(entries: Sequence[PlannedPass], result: Any, call: ToolCall) -> _Outcome:
    refer_in, openers = call.where_to_refer, openers_of(call.offers)
    limits = replace(_limits_of(entries), tool=call.tool_name, openers=openers, refer_in=refer_in)
    fixed: dict[str, Any] = {}
    rest = result
    if is_stub(result, call):
        # Its tables are capped already, and what is beside them may still be long.
        own = {str(path).partition(".")[0] for path in result[LIMITS]} | {LIMITS, FACTS, HANDLE, NOTE}
        fixed = {key: value for key, value in result.items() if key in own}
        rest = {key: value for key, value in result.items() if key not in own}
        limits = replace(limits, max_rows=None, max_tokens=None)
    if limits.text_tokens is not None and rough_size(rest) > limits.text_tokens:
        # Only then may a text be too long, and the session's events are worth a look.
        last = call.last or LastRequest.of(call.context)
        least = result_limits.readable_whole(call.context, call.tool_name, last)
        if call.offered and call.cached_price < 1:
            most, responses = limits.text_tokens, call.event.get_function_responses() if call.event else []
            # A usual stub has a third of the limit. They are weighed before the first one only.
            sizes = map(limits.tokens, [each.response for each in responses] or [rest])
            least = max(least, last.unpaid(call.cached_price, (n - most / 3 for n in sizes if n > most)))
        limits = replace(limits, read_tokens=least)
    plan = await call.off_loop(rest, _plan, rest, limits)
    if plan is None:
        return _Outcome(result, lambda: result)
    handles, error = await _kept(plan.parts, entries, call)

    def shown(kept: Sequence[str | None], reason: str) -> Any:
        body = plan.shown(kept, reason)
        return {**body, **fixed} if fixed else body

    return _Outcome(shown(handles, error), lambda: shown([None] * len(handles), _REFUSED), error)


async def _kept(parts: Sequence[Part], entries: Sequence[PlannedPass], call: ToolCall) -> tuple[list[str | None], str]:
    """Returns a handle for each part, None if it could not be kept, and why that was so."""
    handles: list[str | None] = []
    error = ""
    for part in parts:
        owner = next((each for each in entries if each.kept_kind == part.kind), entries[0])
        try:
            handles.append(await owner.keep(part, call))
        except Exception as exception:
            if owner.on_error == "raise":
                raise
            # Nothing above the limits reaches a model whole, whatever a store answers.
            handles.append(None)
            error = StoreError.reason(exception)
            logger.warning("a result of %s could not be kept: %s", call.tool_name, error)
    return handles, error


def _plan(result: Any, limits: ResultLimits) -> ResultPlan | None:
    from adk_context_pack.tools.result_plan import make_plan  # noqa: PLC0415 - loads in the thread that needs it

    return make_plan(result, limits)


def _floor(result: Any, reason: str) -> Any:
    """Returns what reaches a model of a result that a pass of the user's own could not keep."""
    plan = _plan(result, ResultLimits(max_rows=100, max_tokens=1000, stub_tokens=600, text_tokens=1000))
    return result if plan is None else plan.shown([None] * len(plan.parts), reason)


_REFUSED = "the session refused it"


async def reduce_result(
    passes: Iterable[ResultPass], result: Any, call: ToolCall, *, tools: Mapping[str, ToolSetting] = NO_TOOLS
) -> Any:
    """Runs passes in order over a tool's result.

    The wrapped tool, `after_tool_callback`, the plugin and `replay` all call this. Results that must reach the model or
    ADK as they are (see `stays_whole`) meet no pass. A pass that fails is skipped, logged without payload and reported.
    If a pass of the user's own leaves something out and names no handle, the whole is kept and named in the result.
    The settings for single tools in `tools` go before the passes' own. If no pass changes it, it returns `result`.
    """
    entries = passes_for(passes, tools, call.tool_name)
    planned = [each for each in entries if isinstance(each, PlannedPass)]
    is_small = len(planned) == len(entries) and _limits_of(planned).admits(result)
    if not entries or is_small or await stays_whole(result, call):
        return result
    full = result
    if is_stub(result, call):
        entries = [*planned]
    counters = (call.counter, *(getattr(own, "counter", None) for own in entries))
    weigher = ResultWeigher(next((each for each in counters if each is not None), None))
    # One plan for those that follow each other, and each of the others by itself.
    for _, together in groupby(entries, key=lambda entry: isinstance(entry, PlannedPass) or object()):
        result = await _run(tuple(together), result, call, weigher)
    if result is not full and call.context is not None:
        results, handles = (full, result), [kept.handle for kept in call.kept]
        remember = partial(result_limits.remember_result, call.session_id, call.tool_name, results, handles)
        await call.off_loop(full, remember, weigher)
    return result


def passes_for(passes: Iterable[ResultPass], tools: Mapping[str, ToolSetting], name: str) -> list[ResultPass]:
    """Returns the passes over the results of one tool, in order."""
    setting = tools.get(name, ...)
    if setting is None or setting == "whole":
        return []
    own = [found for entry in passes if (found := entry.settings_for(name)) is not None]
    if isinstance(setting, ResultPass):
        kind = _kind_of(type(setting))
        others = [setting if isinstance(entry, kind) else entry for entry in own]
        return others if setting in others else [setting]
    return [entry.by_titles() for entry in own] if setting == "titles" else own


async def _run(entries: tuple[ResultPass, ...], result: Any, call: ToolCall, weigher: ResultWeigher) -> Any:
    first, entry = len(call.kept), entries[0]
    call.notes.clear()
    try:
        planned = [each for each in entries if isinstance(each, PlannedPass)]
        outcome = await (_planned(planned, result, call) if planned else _accounted(entry, result, call, weigher))
    except Exception as exception:
        if any(each.on_error == "raise" for each in entries):
            raise
        reason = StoreError.reason(exception)
        logger.warning("a result of %s stays whole: %s", call.tool_name, reason)
        shown = _floor(result, reason) if isinstance(exception, StoreError) else result
        outcome = _Outcome(shown, lambda: result, reason)
    outcome = outcome._replace(shown=_naming_all(outcome.shown, result, call))
    record = CapReport(
        tool=call.tool_name, pass_name=entry.name, session_id=call.session_id, invocation_id=call.invocation_id
    )
    if outcome.shown is not result:
        before = await call.off_loop(result, weigher.of, result)
        after = await call.off_loop(outcome.shown, weigher.of, outcome.shown)
        record = replace(record, tokens_before=before, tokens_after=after)
    reports = _reports(record, call, first, outcome.error, entries)
    # Without the call itself, which would hold its session for as long as a guard holds this.
    listeners = tuple(dict.fromkeys((*(entry.on_report for entry in entries), call.on_report)))
    for report in reports:
        give_report(listeners, report)
    for one, report in zip(call.kept[first:], reports, strict=False):
        before, after = report.tokens_after, report.tokens_before
        addition = KeptResult(
            key=state_key(one.kind, call.tool_name, one.handle),
            call_id=call.call_id,
            unkept=outcome.unkept,
            smaller=outcome.shown,
            report=replace(report, handle=None, notes=(), tokens_before=before, tokens_after=after),
            listeners=listeners,
        )
        guard(call.context, addition)
    return outcome.shown


def _naming_all(shown: Any, whole: Any, call: ToolCall) -> Any:
    """Returns what is shown with a word on each handle that an earlier pass has put in and a later one taken out."""
    if shown is whole or not call.kept:
        return shown
    text = json_text(shown)
    gone = [kept.handle for kept in call.kept if kept.handle not in text]
    return _with_note(shown, f"Parts are kept as {', '.join(gone)}.") if gone else shown


def _with_note(shown: Any, note: str, **held: str) -> dict[str, Any]:
    body = shown if isinstance(shown, dict) else {"result": shown}
    return {**body, **held, NOTE: " ".join(filter(None, [body.get(NOTE), note]))}


async def _accounted(entry: ResultPass, whole: Any, call: ToolCall, weigher: ResultWeigher) -> _Outcome:
    """Returns what a pass of the user's own made of a result, with a handle if it left something out without one."""
    first, shown = len(call.kept), await entry.apply(whole, call)
    if shown is whole or not entry.is_reducing:
        return _Outcome(shown, lambda: shown)
    outcome = _Outcome(shown, lambda: _floor(whole, _REFUSED))
    lost = await call.off_loop(whole, weigher.of, whole) - weigher.of(shown)
    text = json_text(shown)
    if lost < MIN_LOSS or any(kept.handle in text for kept in call.kept[first:]):
        return outcome
    note = f"Shown in part, {lost} tokens less:"
    try:
        handle = await call.keep(whole, kind="payload", store=getattr(entry, "store", "auto"))
    except Exception as exception:
        error = StoreError.reason(exception)
        return outcome._replace(shown=_with_note(shown, f"{note} {not_kept(error, call.tool_name)}"), error=error)
    named, held = (handle, {}) if isinstance(shown, dict) and HANDLE in shown else (HANDLE, {HANDLE: handle})
    opened_by = opening(openers_of(call.offers).payload)
    return outcome._replace(shown=_with_note(shown, f"{note} {opened_by} {named}.", **held))


def _reports(
    record: CapReport, call: ToolCall, first: int, error: str, entries: Sequence[ResultPass]
) -> list[CapReport]:
    """Returns one report for each part that was kept, or one on what the passes said or failed at."""
    notes = tuple(call.notes)
    found: list[CapReport] = []
    for kept in call.kept[first:]:
        owner = next((each for each in entries if each.kept_kind == kept.kind), entries[0])
        own = replace(record, pass_name=owner.name, handle=kept.handle, notes=notes)
        found.append(replace(own, rows_shown=kept.rows_shown, rows_total=kept.rows_total))
    if error:
        # What was kept before the failure is kept.
        found.append(replace(record, error=error, notes=() if found else notes))
    elif not found and (notes or record.tokens_saved):
        found.append(replace(record, notes=notes))
    # The tokens are those of the whole result, which several parts of it share.
    return [*found[:1], *(replace(each, tokens_before=0, tokens_after=0) for each in found[1:])]


def check_tools(owner: object, name: str, tools: object, kind: type | None = None) -> None:
    """Refuses settings of single tools that are neither of a kind of result passes, any without one, nor a word."""
    example = f"{kind.__name__}()" if kind else '"titles"'
    expected = f'settings by tool name such as {{"search": {example}, "read": "whole"}}'
    for tool, setting in tools.items() if isinstance(tools, Mapping) else [("", tools)]:
        is_right = setting in ("whole", "titles") or isinstance(setting, (kind or ResultPass) | None)
        given = {tool: setting} if callable(tool) else setting
        must(is_right and tool and isinstance(tool, str), owner, name, given, expected)


def _kind_of(own: type) -> type:
    # Subclasses of a pass take settings of that pass, too.
    kinds = (kind for kind in reversed(own.__mro__) if issubclass(kind, ResultPass))
    return next(kind for kind in kinds if kind not in {ResultPass, PlannedPass})


@dataclass(kw_only=True)
class AppNames:
    """Looks up names from settings in the app, at the first model call or tool call that shows the app.

    The app is walked from its root agent down, through sub-agents and agent tools. A name that it does not have is a
    mistake if it is a misspelling of one that it has. Any other name is one only if the walk has seen the whole app. A
    toolset, an agent of the app's own class and a `Workflow`, which its nodes do not know, may hide more.

    `settings` has the names in each setting of `owner`. They are agents if the setting has `agents` in its own name.
    """

    owner: str
    settings: Mapping[str, Iterable[str]]
    _is_open: bool = field(default=True, init=False)

    def look(self, context: Any) -> None:
        """Looks all names up, once. It never raises."""
        if not self._is_open or not any(self.settings.values()):
            return
        self._is_open = False
        try:
            agent = agent_of(context)
            agents = [each for each in agents_in(getattr(agent, "root_agent", agent)) if hasattr(each, "name")]
            known = {each.name for each in agents}
            is_whole = all(type(each).__module__.startswith("google.adk.") for each in agents)
            is_whole = is_whole and (len(agents) > 1 or not has_nodes())
            given = [tool for each in agents for tool in getattr(each, "tools", None) or ()]
            # A toolset has no name.
            tools = {each.name if isinstance(each, BaseTool) else getattr(each, "__name__", None) for each in given}
            names = tools - {None}
            for setting, wanted in self.settings.items():
                there, is_sure = (known, is_whole) if "agents" in setting else (names, is_whole and None not in tools)
                for name in sorted(set(wanted) - there):
                    said, lacking = f"{self.owner}: {setting}", "which the app does not have"
                    warn_of_name(said, name, there, lacking, is_sure=is_sure)
        except Exception:
            # A run does not depend on the check.
            logger.debug("the names of agents and tools could not be checked", exc_info=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class KeptResult(Addition):
    """A result, what the model gets in its place, and the state keys between them.

    `unkept` makes what the model gets if the session service refuses what was kept. `report` is given to the listeners
    then. If the id of the call is not known, the handle tells.
    """

    call_id: str | None
    unkept: Callable[[], Any]
    smaller: Any
    report: CapReport
    listeners: Sequence[Callable[[CapReport], None] | None]

    def keys_in(self, delta: Mapping[str, Any]) -> Collection[str]:
        """Returns the result's key, the user's own key for it, its time limit, and the marks on what it replaced."""
        handle = self.key[-HANDLE_LENGTH:]
        keys = {key for key in delta if key.endswith(f":{handle}")}
        keys |= {key for key, value in delta.items() if is_entry(value, "expired") and stored_result(key)}
        entry: Any = delta.get(self.key)
        if is_entry(entry, "key"):
            keys.add(entry["key"])
        return keys & delta.keys()

    def taken_out_of(self, part: types.Part) -> types.Part:
        """Returns the part without the handle, if it is the response to the call, or what code printed."""
        response, handle = part.function_response, self.key[-HANDLE_LENGTH:]
        if handle in ((part.code_execution_result and part.code_execution_result.output) or ""):
            return with_output(part, self.unkept())
        if response is None or self.call_id not in (response.id, None):
            return part
        if self.call_id is None and (response.response or {}).get(HANDLE) != handle:
            return part
        given, smaller = response.response or {}, as_response(self.smaller)
        if all(name in given and given[name] == value for name, value in smaller.items()):
            beside = {name: value for name, value in given.items() if name not in smaller}
            whole = {**as_response(self.unkept()), **beside}
        else:
            # A callback has made something else of it, perhaps for a good reason. Only the handle is not true.
            whole = {key: value for key, value in given.items() if key != HANDLE or value != smaller.get(HANDLE)}
        return part.model_copy(update={"function_response": response.model_copy(update={"response": whole})})

    def was_refused(self, error: Exception) -> None:
        """Reports that nothing was kept."""
        reason = f"the session service refused what was kept of it ({type(error).__name__})"
        kept = "an artifact service or PayloadStore(place=…) may take it"
        logger.warning("a result of %s could not be kept: %s; %s", self.report.tool, reason, kept)
        give_report(self.listeners, replace(self.report, error=reason))


def printed(part: types.Part) -> types.FunctionResponse | None:
    """Returns what a code executor's part says as the response of a tool, or None for any other part."""
    output = part.code_execution_result.output if part.code_execution_result else None
    # A model's own part, which it signs, must come back as it was.
    if not output or part.thought_signature:
        return None
    return types.FunctionResponse(name=CODE_EXECUTION, response={"result": output})


def with_output(part: types.Part, result: Any) -> types.Part:
    """Returns a code executor's part with another result of it as its output."""
    text = result.get("result") if isinstance(result, dict) and len(result) == 1 else None
    code = part.code_execution_result or types.CodeExecutionResult()
    output = code.model_copy(update={"output": text if isinstance(text, str) else json_text(result)})
    return part.model_copy(update={"code_execution_result": output})


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultReducer:
    """Runs passes over the results of a whole app. The other fields are those of `ToolCall` and `reduce_result`."""

    passes: tuple[ResultPass, ...]
    offered: frozenset[str] = frozenset()
    on_report: Callable[[CapReport], None] | None = None
    counter: Counter | None = None
    tools: Mapping[str, ToolSetting] = field(default_factory=dict)
    cached_price: float = 1.0
    last: LastRequest | None = None

    def wrap_tools(self, request: LlmRequest, *, unless: Callable[[], bool]) -> None:
        """Puts copies of a request's tools in their place that reduce each result as the tool returns it.

        A failure leaves the result as it is, and so does True from `unless`, which is asked after each run of a tool.
        """

        async def reduce(tool: BaseTool, args: dict[str, Any], context: ToolContext, result: Any) -> Any:
            if unless():
                return result
            with logged("a result of %s stays as it is", tool.name):
                call = ToolCall.of_tool(tool, args, context)
                return await self._reduced(result, call, RUNS.tools(context.session))
            return result

        wrap_runs(request, reduce)

    async def reduce_event(self, context: InvocationContext, event: Event) -> bool:
        """Gives an event that is not stored yet a new content with reduced responses, and returns whether it did.

        Nothing that the event shared with the session is written to.
        """
        if event.partial or is_stored(context, event):
            return False
        content = await self.reduced_content(event, context, RUNS.tools(context.session))
        if content is None:
            return False
        event.content = content
        return True

    async def reduced_content(
        self, event: Event, context: InvocationContext | None, tools: Mapping[str, ToolRun] | None = None
    ) -> types.Content | None:
        """Returns the content of `event` with reduced responses. None if no response changes.

        A recorded event has no context, and nothing is written to its state. The tools that made the responses are
        given by the ids of their calls, as far as they are known.
        """
        parts, reduced = (event.content.parts if event.content else None) or [], dict[int, types.Part]()
        for part in parts:
            if (response := part.function_response or printed(part)) is None:
                continue
            call = ToolCall.of_response(response, event, context)
            result = await self._reduced(response.response, call, tools or {})
            if result is response.response:
                continue
            if part.function_response is None:
                reduced[id(part)] = with_output(part, result)
                continue
            # Media that ADK has moved beside the response stays there.
            body = result if isinstance(result, dict) else {"result": result}
            reduced[id(part)] = changed(part, "function_response", changed(response, "response", body))
        if event.content is None or not reduced:
            return None
        return mapped(event.content, lambda part: reduced.get(id(part), part))

    async def _reduced(self, result: Any, call: ToolCall, tools: Mapping[str, ToolRun]) -> Any:
        ran = tools.get(call.call_id or "")
        call = replace(call, offered=self.offered, on_report=self.on_report, counter=self.counter)
        call = replace(call, cached_price=self.cached_price, last=self.last, **(ran._asdict() if ran else {}))
        return await reduce_result(self.passes, result, call, tools=self.tools)


def is_stored(context: InvocationContext, event: Event) -> bool:
    """Returns whether ADK has stored an event already, as releases up to 1.22 do before a plugin sees it."""
    # It is then the newest one, and parallel agents may have added a few.
    return event.id in [stored.id for stored in context.session.events[-16:]]

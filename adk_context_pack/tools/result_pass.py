"""Defines the contract of a result pass, and runs passes in order over one tool result."""

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from adk_context_pack.errors import SettingError, StoreError, one_of, refuse_class
from adk_context_pack.reports.cap_report import CapReport, give_report
from adk_context_pack.reports.result_sizes import ResultWeigher, remember_result
from adk_context_pack.stores.append_guard import guard
from adk_context_pack.stores.handles import state_key
from adk_context_pack.tools.app_names import AppNames
from adk_context_pack.tools.exempt import stays_whole
from adk_context_pack.tools.kept_result import KeptResult
from adk_context_pack.tools.tool_call import Kept, ToolCall

logger = logging.getLogger("adk_context_pack")


@dataclass(frozen=True, kw_only=True)
class ResultPass(ABC):
    """One rewriting of a tool's result before ADK stores it and the model sees it.

    An instance is an entry for `after_tool_callback=[…]`, alone or with other callbacks, or for the `result_passes` of
    a `ContextPackPlugin`. Subclass it, name it verb + object, and write `apply`.

    Cost to the prompt cache: none. A result that is reduced as the tool returns it never enters the session whole.

    Args:
        on_error: "skip" leaves the result as it was when the pass fails, logs the kind of error and lets the agent go
            on. "raise" lets the exception out of a wrapped tool or callback, for tests. The plugin always skips.
        tools: settings for single tools by name, in place of these, or None for a tool whose results stay as they are.
        on_report: called with a `CapReport` for each result that the pass stored, noted something about, or failed on.

    Raises:
        SettingError: a setting that cannot work.
    """

    kept_kind: ClassVar[str | None] = None
    """The kind of results that it keeps, "rows" or "payload". The plugin declares the tool that reads it back."""

    on_error: Literal["skip", "raise"] = "skip"
    tools: Mapping[str, Any] = field(default_factory=dict, hash=False)
    on_report: Callable[[CapReport], None] | None = None
    _names: AppNames = field(init=False, repr=False, compare=False)

    def __new__(cls, *_: Any, **settings: Any) -> Self:
        """Refuses the class itself in a list of callbacks, since ADK then calls the class with a result."""
        refuse_class(cls, settings)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Checks the settings. A subclass that overrides this method calls `super().__post_init__()`."""
        one_of(self, "on_error", self.on_error, ("skip", "raise"))
        if self.on_report is not None and not callable(self.on_report):
            raise SettingError.of(self, "on_report", self.on_report, "a function of a CapReport")
        kind = _kind_of(type(self))
        for name, settings in self.tools.items() if isinstance(self.tools, Mapping) else [("", self.tools)]:
            if not name or not isinstance(settings, kind | None):
                example = f'settings by tool name such as {{"search": {kind.__name__}()}}'
                raise SettingError.of(self, "tools", settings, example)
        object.__setattr__(self, "_names", AppNames(owner=type(self).__name__, tools=frozenset(self.tools)))

    @property
    def name(self) -> str:
        """The name of the pass in snake case, as reports show it."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__).lower()

    @abstractmethod
    async def apply(self, result: Any, call: ToolCall) -> Any:
        """Returns the result as the model should see it.

        Pure: builds new objects where something changes, and returns `result` itself where nothing does.

        Args:
            result: what the tool, or the pass before, returned: a dict, list, text, pydantic model, or anything else.
            call: the call behind it, and `call.keep(…)` for what the model will not see whole.
        """

    def settings_for(self, tool_name: str) -> Self | None:
        """Returns the settings for one tool, its own or these, or None for a tool whose results the pass leaves."""
        own: Self | None = self.tools.get(tool_name, self)
        return own

    async def __call__(
        self, tool: Any = None, args: Any = None, tool_context: Any = None, tool_response: Any = None, **others: Any
    ) -> dict[str, Any] | None:
        """ADK's `after_tool_callback`: returns the new result, or None where the result stays as it is.

        Raises:
            SettingError: the pass is in another list of callbacks.
        """
        if others or tool is None:
            name = type(self).__name__
            raise SettingError(f"{name}: a pass over results is an entry for after_tool_callback, not for another list")
        result = await self.reduce(tool, args, tool_context, tool_response)
        if result is tool_response:
            return None
        # ADK makes the same dict of a result that is not one.
        return result if isinstance(result, dict) else {"result": result}

    async def reduce(self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, result: Any) -> Any:
        """Returns the new result, or `result` itself. A wrapped tool calls this after each of its runs."""
        self._names.look(tool_context)
        return await reduce_result((self,), result, ToolCall.of_tool(tool, args, tool_context))


async def reduce_result(passes: Iterable[ResultPass], result: Any, call: ToolCall) -> Any:
    """Runs passes in order over a tool's result.

    The wrapped tool, `after_tool_callback`, the plugin and `replay` all call this. Results that must reach the model or
    ADK as they are (see `stays_whole`) meet no pass. A pass that fails is skipped, logged without payload and reported.

    Args:
        passes: the passes, in the order in which they run.
        result: what the tool returned.
        call: the call behind it.

    Returns:
        The new result, or `result` itself where no pass changed it.
    """
    if await stays_whole(result, call):
        return result
    full, entries = result, [own for entry in passes if (own := entry.settings_for(call.tool_name)) is not None]
    counters = (call.counter, *(getattr(own, "counter", None) for own in entries))
    weigher = ResultWeigher(next((each for each in counters if each is not None), None))
    for own in entries:
        result = await _run_pass(own, result, call, weigher)
    if result is not full and call.context is not None:
        handles = [kept.handle for kept in call.kept]
        names = call.session_id, call.tool_name
        await call.off_loop(full, remember_result, *names, (full, result), handles, weigher)
    return result


async def _run_pass(entry: ResultPass, result: Any, call: ToolCall, weigher: ResultWeigher) -> Any:
    first, error, reduced = len(call.kept), None, result
    call.notes.clear()
    try:
        reduced = await entry.apply(result, call)
    except Exception as exception:
        if entry.on_error == "raise":
            raise
        error = _reason(exception)
        logger.warning("a result of %s stays whole: %s", call.tool_name, error)
    record = _record(entry, call)
    if reduced is not result:
        before = await call.off_loop(result, weigher.of, result)
        after = await call.off_loop(reduced, weigher.of, reduced)
        record = replace(record, tokens_before=before, tokens_after=after)
    reports = _reports(record, call, first, error)
    give = _giver(entry, call)
    for report in reports:
        give(report)
    _guard(call, call.kept[first:], reports, _Done(result, reduced, give))
    return reduced


class _Done(NamedTuple):
    """Holds what a pass made of a result, and who gets its reports."""

    result: Any
    smaller: Any
    give: Callable[[CapReport], None]


def _reason(exception: Exception) -> str:
    # The type only, except for our own messages: another one may quote the payload.
    return str(exception) if isinstance(exception, StoreError) else type(exception).__name__


def _reports(record: CapReport, call: ToolCall, first: int, error: str | None) -> list[CapReport]:
    """Returns one report for each part that was kept, or one on what the pass said or failed at."""
    notes = tuple(call.notes)
    if error is not None:
        # What was kept before the failure is kept, but the result is whole.
        return [*_kept_reports(record, call, first, notes), replace(record, error=error)]
    if len(call.kept) > first:
        return _kept_reports(record, call, first, notes)
    return [replace(record, notes=notes)] if notes or record.tokens_saved else []


def _kept_reports(record: CapReport, call: ToolCall, first: int, notes: tuple[str, ...]) -> list[CapReport]:
    found = [
        replace(record, rows_shown=kept.rows_shown, rows_total=kept.rows_total, handle=kept.handle, notes=notes)
        for kept in call.kept[first:]
    ]
    # The tokens are those of the whole result, which several parts of it share.
    return [*found[:1], *(replace(report, tokens_before=0, tokens_after=0) for report in found[1:])]


def _guard(call: ToolCall, kept: Iterable[Kept], reports: Iterable[CapReport], done: _Done) -> None:
    for one, report in zip(kept, reports, strict=False):
        before, after = report.tokens_after, report.tokens_before
        addition = KeptResult(
            key=state_key(one.kind, call.tool_name, one.handle),
            call_id=call.call_id,
            result=done.result,
            smaller=done.smaller,
            report=replace(report, handle=None, notes=(), tokens_before=before, tokens_after=after),
            on_report=done.give,
        )
        guard(call.context, addition)


def _record(entry: ResultPass, call: ToolCall) -> CapReport:
    return CapReport(
        tool=call.tool_name,
        pass_name=entry.name,
        session_id=call.session_id,
        invocation_id=call.invocation_id,
    )


def _giver(entry: ResultPass, call: ToolCall) -> Callable[[CapReport], None]:
    # Without the call itself, which would hold its session for as long as a guard holds this.
    return partial(_give, (entry.on_report, call.on_report))


def _give(listeners: Iterable[Callable[[CapReport], None] | None], report: CapReport) -> None:
    for on_report in listeners:
        give_report(on_report, report)


def _kind_of(own: type) -> type:
    # Subclasses of a pass take settings of that pass, too.
    return next(kind for kind in reversed(own.__mro__) if issubclass(kind, ResultPass) and kind is not ResultPass)

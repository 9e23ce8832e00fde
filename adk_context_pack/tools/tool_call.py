"""Describes the tool call whose result is being reduced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from adk_context_pack._adk.known_tools import ToolKind, kind_of, offered_tools, takes_references
from adk_context_pack.conversation.token_estimate import Counter
from adk_context_pack.reports.call_report import CapReport
from adk_context_pack.stores.codec import off_loop, rough_size
from adk_context_pack.stores.handles import ResultKind
from adk_context_pack.stores.opening import choose_store
from adk_context_pack.stores.payload_store import StoreSetting

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A whole result, or a part of it, that a pass has put into a store.

    Attributes:
        handle: opens it again.
        kind: "rows" or "payload", the first word of its state key.
        rows_shown: rows that the model still sees.
        rows_total: rows that are stored.
    """

    handle: str
    kind: ResultKind
    rows_shown: int = 0
    rows_total: int = 0


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
    kept: list[Kept] = field(default_factory=list)
    on_report: Callable[[CapReport], None] | None = None
    counter: Counter | None = None
    tool: BaseTool | None = None
    shortened_later: bool = False

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
        return cls(
            tool_name=response.name or "",
            args=_args_of(response.id, context.session.events) if context is not None else {},
            call_id=response.id,
            agent_name=event.author,
            actions=event.actions,
            state_delta=event.actions.state_delta if context is not None else {},
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
        return self.context is not None and takes_references(self.context)

    @property
    def where_to_refer(self) -> str:
        """Names the places in which the agent may refer to what a pass keeps, for the model. May be empty."""
        if not self.can_refer:
            return ""
        return "arguments and your answer" if takes_references(self.context, in_answers=True) else "arguments"

    async def off_loop(self, value: Any, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Returns `work(*args, **kwargs)`, run in a thread where `value` is large, so that other runs go on meanwhile.

        Args:
            value: the result that the work goes over. Nobody may change it meanwhile.
            work: a function that touches nothing of the event loop, such as `state_delta` or `context`.
            args: its arguments.
            kwargs: its arguments by name.
        """
        # A replay has no context, and no event loop that somebody else waits for.
        size = rough_size(value) if self.context is not None else 0
        return await off_loop(size, work, *args, **kwargs)

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
        self.kept.append(Kept(handle=handle, kind=kind, rows_shown=rows_shown, rows_total=rows_total))
        return handle


def _args_of(call_id: str | None, events: Sequence[Event]) -> Mapping[str, Any]:
    # The call is nearly always in the newest event.
    for event in reversed(events):
        for call in event.get_function_calls():
            if call.id == call_id:
                return call.args or {}
    return {}

"""Caps the rows of a tool's result where it is made, and keeps the whole result."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from adk_context_pack._adk.offered_tools import offered_tools
from adk_context_pack.conversation.tokens import Counter
from adk_context_pack.errors import one_of, positive
from adk_context_pack.reports.cap_report import CapReport, cap_report, give_report, stays_whole
from adk_context_pack.stores.append_guard import guard
from adk_context_pack.stores.handles import state_key
from adk_context_pack.stores.opening import choose_store
from adk_context_pack.stores.payload_store import PayloadStore, Place
from adk_context_pack.tools.cap_event import cap_event
from adk_context_pack.tools.cap_settings import CapSettings
from adk_context_pack.tools.common_settings import check_common
from adk_context_pack.tools.exempt import is_exempt
from adk_context_pack.tools.kept_result import KeptResult
from adk_context_pack.tools.key_template import checked_template, filled
from adk_context_pack.tools.row_stub import make_stub
from adk_context_pack.tools.stub_plan import Encoding, StubPlan
from adk_context_pack.tools.wrap import wrap_run, wrap_tool

logger = logging.getLogger("adk_context_pack")


@dataclass(frozen=True, kw_only=True)
class CapRows:
    """How results are capped; an instance is also an entry for `after_tool_callback=[…]`.

    A result with lists of rows longer than `max_rows` reaches the model with the first `max_rows` of each and
    `_row_limits: {key: {"shown": …, "total": …}}`; everything else is as it was. A bare list, which ADK hands to the
    model as `{"result": […]}`, is capped under that key. Beside the limits stand, as far as they cost less than what
    is left out, `_row_facts` (computed from all rows of each table), `_handle` (opens the full result) and `_note`
    (says that the rows are a sample). Small results, errors, pending long-running results, confirmations and requests
    for credentials pass as the same object; so does a result that could not be kept.

    What is capped where it is made never enters the session whole: the provider's cached prefix is not disturbed.

    Args:
        max_rows: how many rows of each list the model sees at most.
        max_tokens: how many tokens the whole capped result has at most, as far as its other fields let it; None sets
            no limit. A result within both limits is not touched, nor is one that would not get smaller.
        facts: whether facts are computed. Without them capping takes the same time for any number of rows.
        encoding: "json" leaves the shown rows a list of objects; "csv" makes them one text with a header line, which
            has about half the tokens (RFC 4180, nested columns dotted).
        store: where full results are kept: "state", "artifacts", "auto" (see `PayloadStore`), or a store.
        state_key: the state key of the full result, as a template of the call's arguments and `{tool}`, such as
            "gaql_execution_results:{query_id}"; a key that comes twice holds the newer result. By default
            `rows:<tool>:<handle>`, with a new handle for each call. With a key of its own, "auto" means state.
        tools: settings for single tools by name, in place of these; None for a tool that is never capped.
        counter: a tokenizer of one's own, from text to tokens; without one, tokens are estimated on the high side.
        on_report: called with a `CapReport` for each result that was capped or could not be.

    Raises:
        SettingError: a setting that cannot work.
    """

    max_rows: int = 100
    max_tokens: int | None = None
    facts: bool = True
    encoding: Encoding = "json"
    store: Place | PayloadStore = "auto"
    state_key: str | None = None
    tools: Mapping[str, CapRows | None] = field(default_factory=dict, hash=False)
    counter: Counter | None = None
    on_report: Callable[[CapReport], None] | None = None

    def __post_init__(self) -> None:
        """Checks the settings."""
        positive(self, "max_rows", self.max_rows)
        if self.max_tokens is not None:
            positive(self, "max_tokens", self.max_tokens)
        one_of(self, "encoding", self.encoding, ("json", "csv"))
        check_common(self, CapRows)
        if self.state_key is not None:
            checked_template(self, "state_key", self.state_key)

    async def __call__(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Any
    ) -> dict[str, Any] | None:
        """ADK's `after_tool_callback`: the capped result, or None where the result stays as it is."""
        result = await self.reduce(tool, args, tool_context, tool_response)
        return None if result is tool_response else result

    async def reduce(self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, result: Any) -> Any:
        """The capped result, or `result` itself; what a wrapped tool runs behind itself."""
        if is_exempt(tool.name, result, tool_context.actions, tool_context.function_call_id):
            return result
        settings = self.settings_for(tool.name)
        if settings is None:
            return result
        return await settings.capped(result, tool_context, tool_name=tool.name, args=args)

    def settings_for(self, tool_name: str) -> CapRows | None:
        """The settings for one tool: its own, or these; None for a tool that is never capped."""
        return self.tools.get(tool_name, self)

    def cap_tools(self, llm_request: LlmRequest) -> None:
        """Puts capped copies in the place of the tools that a request offers, for a `before_model_callback`.

        The way in for a whole app on releases that store an event before a plugin sees it (up to 1.22). The agent's own
        `after_tool_callback` still runs, after capping. Declarations are as they were.
        """
        offered = llm_request.tools_dict
        for name, tool in offered.items():
            offered[name] = wrap_run(tool, self.reduce)

    async def cap_event(
        self, invocation_context: InvocationContext, event: Event, *, offered: frozenset[str] = frozenset()
    ) -> bool:
        """Caps the fresh function responses of an event, for a plugin's `on_event_callback` that returns None.

        An agent's own `after_tool_callback` has run by then and stays in force. The event gets a new content; nothing
        that it shared with the session is written to.

        Args:
            invocation_context: ADK's context of the run.
            event: an event that is not stored yet.
            offered: names of tools that the agent has beyond its own list.

        Returns:
            Whether anything was capped. False for an event that is stored already; use `cap_tools` on such releases.
        """
        return await cap_event(self, invocation_context, event, offered)

    async def capped(  # noqa: PLR0913 - a call, and where it came from
        self,
        result: Any,
        context: Any,
        *,
        tool_name: str,
        args: Mapping[str, Any],
        delta: MutableMapping[str, Any] | None = None,
        offered: frozenset[str] = frozenset(),
        call_id: str | None = None,
    ) -> Any:
        """The capped form of any result, or `result` itself where it is small or cannot be kept.

        Args:
            result: what the tool returned.
            context: ADK's tool, callback or invocation context.
            tool_name: the tool.
            args: the call's arguments.
            delta: the state delta to write to where `context` has none of its own; see `PayloadStore.put`.
            offered: names of tools that the agent has beyond its own list.
            call_id: the call's id, where `context` does not know it.
        """
        try:
            stub = make_stub(result, self._plan(context, offered))
            if stub is None:
                return result
            handle = await self._keep(result, context, tool_name, args, delta)
        except Exception as exception:
            stays_whole(context, tool_name, exception, self.on_report)
            return result
        smaller, facts = stub.with_handle(handle), {"rows_shown": stub.rows_shown, "rows_total": stub.rows_total}
        give_report(self.on_report, cap_report(context, tool_name, **facts, handle=handle))
        kept = KeptResult(
            key=state_key("rows", tool_name, handle),
            call_id=call_id or getattr(context, "function_call_id", None),
            result=result,
            smaller=smaller,
            report=cap_report(context, tool_name, **facts),
            on_report=self.on_report,
        )
        guard(context, kept)
        return smaller

    def _plan(self, context: Any, offered: frozenset[str]) -> StubPlan:
        return StubPlan(
            max_rows=self.max_rows,
            max_tokens=self.max_tokens,
            facts=self.facts,
            encoding=self.encoding,
            counter=self.counter,
            can_query="query_rows" in offered or "query_rows" in offered_tools(context),
        )

    async def _keep(
        self,
        result: Any,
        context: Any,
        tool_name: str,
        args: Mapping[str, Any],
        delta: MutableMapping[str, Any] | None,
    ) -> str:
        store, key = choose_store(self.store), None
        if self.state_key is not None:
            key = filled(self.state_key, tool_name, args)
            store = replace(store, place="state") if store.place == "auto" else store
            if key is None:
                logger.warning("a call of %s does not fill the state key %r", tool_name, self.state_key)
        return await store.put(context, _without_media(result), tool_name=tool_name, key=key, delta=delta)


def cap_rows(tool: Any, **settings: Unpack[CapSettings]) -> BaseTool | BaseToolset:
    """`tool` with its results capped; what the model is told about the tool is unchanged, and so is `tool` itself.

    Args:
        tool: what `LlmAgent(tools=[…])` takes: a function (sync or async, with or without `ToolContext`), a bound
            method, a callable object, a partial, any `BaseTool`, a toolset.
        settings: those of `CapRows`, by keyword: `max_rows`, `max_tokens`, `facts`, `encoding`, `store`, `state_key`,
            `tools` (for a toolset), `counter`, `on_report`.

    Raises:
        SettingError: `tool` is no tool, or a setting cannot work.
    """
    return wrap_tool(tool, CapRows(**settings).reduce)


def _without_media(result: Any) -> Any:
    # ADK takes parts out of a result and shows them beside it, so they stay with the model; a store is for rows.
    if isinstance(result, Mapping) and any(isinstance(value, types.Part) for value in result.values()):
        return {key: value for key, value in result.items() if not isinstance(value, types.Part)}
    return result

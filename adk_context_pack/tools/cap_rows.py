"""Caps the rows of a tool's result where it is made, and keeps the whole result."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, Unpack

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.genai import types

from adk_context_pack.conversation.tokens import Counter, valid_counter
from adk_context_pack.errors import SettingError, one_of, positive
from adk_context_pack.reports.cap_report import CapReport
from adk_context_pack.stores.opening import choose_store
from adk_context_pack.stores.payload_store import PayloadStore, Place
from adk_context_pack.tables.frames import without_frames
from adk_context_pack.tools.key_template import checked_template, filled
from adk_context_pack.tools.result_pass import ResultPass
from adk_context_pack.tools.result_reducer import ResultReducer
from adk_context_pack.tools.stub_plan import Encoding, StubPlan
from adk_context_pack.tools.tool_call import ToolCall
from adk_context_pack.tools.wrap import wrap_run, wrap_tool

if TYPE_CHECKING:
    from adk_context_pack.tools.row_stub import RowStub

logger = logging.getLogger("adk_context_pack")


class CapSettings(TypedDict, total=False):
    """The settings of `cap_rows`, explained at `CapRows`."""

    max_rows: int
    max_tokens: int | None
    stub_rows: int | None
    stub_tokens: int | None
    facts: bool
    encoding: Encoding
    store: Place | PayloadStore
    state_key: str | None
    counter: Counter | None
    tools: Mapping[str, CapRows | None]
    on_report: Callable[[CapReport], None] | None
    on_error: Literal["skip", "raise"]


@dataclass(frozen=True, kw_only=True)
class CapRows(ResultPass):
    """Shows the model the first rows of long tables, and keeps all rows in a store.

    A result with lists of rows longer than `max_rows`, or with more than `max_tokens`, reaches the model with the first
    `stub_rows` of each, or as many as `stub_tokens` have room for, and
    `_row_limits: {key: {"shown": …, "total": …}}`. Everything else is as it was. A bare list, which ADK hands to the
    model as `{"result": […]}`, is capped under that key. As far as they cost less than the rows left out, the stub also
    holds `_row_facts` (computed from all rows of each table), `_handle` (opens the full result) and `_note` (says that
    the rows are a sample). Small results, failed results of up to about 2,000 tokens, pending long-running results,
    confirmations and requests for credentials pass as the same object, and so does a result that could not be stored.

    An instance is an entry for `after_tool_callback=[…]` or for the `result_passes` of a `ContextPackPlugin`.

    Cost to the prompt cache: none. A result that is capped as the tool returns it never enters the session whole.

    Args:
        max_rows: a list with more rows is capped.
        max_tokens: a result with at most so many tokens and `max_rows` rows is not touched, nor is one that would not
            get smaller. None sets no limit.
        stub_rows: how many rows of each list a capped result shows at most. None means `max_rows`.
        stub_tokens: how many tokens a capped result has at most, as far as its other fields let it. None means
            `max_tokens`.
        facts: whether facts are computed. Without them capping takes the same time for any number of rows.
        encoding: "json" leaves the shown rows a list of objects. "csv" makes them one text with a header line, which
            has about half the tokens (RFC 4180, nested columns dotted).
        store: where full results are kept: "state", "artifacts", "auto" (see `PayloadStore`), or a store.
        state_key: the state key of the full result, as a template of the call's arguments and `{tool}`, such as
            "gaql_execution_results:{query_id}". A key that is filled twice holds the newer result. By default
            `rows:<tool>:<handle>`, with a new handle for each call. With such a template, "auto" means state.
        counter: a tokenizer, from text to its number of tokens. Without one, tokens are estimated on the high side.
        tools: settings for single tools by name, in place of these, or None for a tool that is never capped.
        on_report: called with a `CapReport` for each result that was capped or could not be.
        on_error: "skip" leaves a result whole when capping fails, "raise" lets the exception through, for tests.

    Raises:
        SettingError: a setting that cannot work.
    """

    kept_kind: ClassVar[str | None] = "rows"

    max_rows: int = 100
    max_tokens: int | None = None
    stub_rows: int | None = None
    stub_tokens: int | None = None
    facts: bool = True
    encoding: Encoding = "json"
    store: Place | PayloadStore = "auto"
    state_key: str | None = None
    counter: Counter | None = None

    def __post_init__(self) -> None:
        """Checks the settings."""
        super().__post_init__()
        positive(self, "max_rows", self.max_rows)
        if self.max_tokens is not None:
            positive(self, "max_tokens", self.max_tokens)
        if self.stub_rows is not None and positive(self, "stub_rows", self.stub_rows) > self.max_rows:
            raise SettingError.of(self, "stub_rows", self.stub_rows, "at most max_rows")
        if self.stub_tokens is not None:
            most = positive(self, "stub_tokens", self.stub_tokens)
            if self.max_tokens is not None and most > self.max_tokens:
                raise SettingError.of(self, "stub_tokens", self.stub_tokens, "at most max_tokens")
        one_of(self, "encoding", self.encoding, ("json", "csv"))
        choose_store(self.store)
        valid_counter(self, self.counter)
        if self.state_key is not None:
            checked_template(self, "state_key", self.state_key)

    async def apply(self, result: Any, call: ToolCall) -> Any:
        """Returns the capped result, or `result` itself where it is small; a data frame in it as rows in any case."""
        result, stub = await call.off_loop(result, _without_frames_and_stub, result, self._plan(call))
        return result if stub is None else stub.with_handle(await self._keep(result, call, stub))

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

        An agent's own `after_tool_callback` has run by then and stays in force. The event gets a new content, so that
        nothing that it shared with the session changes.

        Args:
            invocation_context: ADK's context of the run.
            event: an event that is not stored yet.
            offered: names of tools that the agent has beyond its own list.

        Returns:
            True if anything was capped; False for an event that is stored already. Use `cap_tools` on such releases.
        """
        return await ResultReducer(passes=(self,), offered=offered).reduce_event(invocation_context, event)

    def _plan(self, call: ToolCall) -> StubPlan:
        return StubPlan(
            max_rows=self.max_rows,
            max_tokens=self.max_tokens,
            stub_rows=self.stub_rows,
            stub_tokens=self.stub_tokens,
            facts=self.facts,
            encoding=self.encoding,
            counter=self.counter,
            can_query=call.offers("query_rows"),
            where_to_refer=call.where_to_refer,
        )

    async def _keep(self, result: Any, call: ToolCall, stub: RowStub) -> str:
        store, key = choose_store(self.store), None
        if self.state_key is not None:
            key = filled(self.state_key, call.tool_name, call.args)
            store = replace(store, place="state") if store.place == "auto" else store
            if key is None:
                logger.warning("a call of %s does not fill the state key %r", call.tool_name, self.state_key)
        rows = {"rows_shown": stub.rows_shown, "rows_total": stub.rows_total}
        return await call.keep(_without_media(result), kind="rows", store=store, key=key, **rows)


def cap_rows(tool: Any, **settings: Unpack[CapSettings]) -> BaseTool | BaseToolset:
    """Returns a copy of `tool` that caps its results. Its declaration is unchanged, and so is `tool` itself.

    Args:
        tool: what `LlmAgent(tools=[…])` takes: a function (sync or async, with or without `ToolContext`), a bound
            method, a callable object, a partial, any `BaseTool`, a toolset.
        settings: those of `CapRows`, by keyword: `max_rows`, `max_tokens`, `stub_rows`, `stub_tokens`, `facts`,
            `encoding`, `store`, `state_key`, `counter`, `tools` (for a toolset), `on_report`, `on_error`.

    Raises:
        SettingError: `tool` is not a tool, or a setting cannot work.
    """
    return wrap_tool(tool, CapRows(**settings).reduce)


def _without_frames_and_stub(result: Any, plan: StubPlan) -> tuple[Any, RowStub | None]:
    from adk_context_pack.tools.row_stub import make_stub  # noqa: PLC0415 - loads in the thread that needs it

    result = without_frames(result)
    return result, make_stub(result, plan)


def _without_media(result: Any) -> Any:
    # ADK takes parts out of a result and shows them beside it, so they stay with the model.
    if isinstance(result, Mapping) and any(isinstance(value, types.Part) for value in result.values()):
        return {key: value for key, value in result.items() if not isinstance(value, types.Part)}
    return result

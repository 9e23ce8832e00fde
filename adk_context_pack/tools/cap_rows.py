"""Caps the rows of a tool's result and previews its long texts where it is made, and keeps the whole of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from string import Formatter
from typing import Any, ClassVar, Concatenate, Literal, Self

from adk_context_pack._adk import BaseTool, BaseToolset, Event, InvocationContext, LlmRequest
from adk_context_pack.errors import P, SettingError, at_most, logger, one_of, positive
from adk_context_pack.stores.payload_store import choose_store
from adk_context_pack.tools.result_limits import Encoding, Part, ResultLimits
from adk_context_pack.tools.result_pass import PlannedPass, ResultReducer, ToolCall
from adk_context_pack.tools.wrap import wrap_runs, wrap_tool


def _with_settings_of(
    _: Callable[P, PlannedPass],
) -> Callable[[Callable[..., Any]], Callable[Concatenate[Any, P], BaseTool | BaseToolset]]:
    """Tells type checkers that a function takes the settings of a pass behind a tool."""
    return lambda function: function


@dataclass(frozen=True, kw_only=True)
class CapRows(PlannedPass):
    """Shows the model some rows of long tables and exact facts about all, and keeps all rows in a store.

    A result with lists of rows longer than `max_rows`, or with more than `max_tokens`, reaches the model with the first
    `stub_rows` of each, or as many as `stub_tokens` have room for, and
    `_row_limits: {key: {"shown": …, "total": …}}`. Tables that are read row by row (search results, tickets, passages)
    show each row by its number, title, source and what divides them. Everything else is as it was. A bare list, which
    ADK hands to the model as `{"result": […]}`, is capped under that key. The stub also holds `_row_facts` (computed
    from all rows of each table), `_handle` (opens the full result) and `_note` (says that the rows are a sample). Where
    these would cost more tokens than are left out, the result stays as it is. So do small results, failed results of up
    to about 2,000 tokens, pending long-running results, confirmations and requests for credentials. If the result
    cannot be stored, the note says so instead of naming a handle.

    Cost to the prompt cache: none. A result that is capped as the tool returns it never enters the session whole.

    Args:
        max_rows: a list with more rows is capped.
        max_tokens: a result with at most so many tokens and `max_rows` rows is not touched. None sets no limit.
        stub_rows: the most rows of each list in a capped result. None means 3, or all if a table is read row by row.
        stub_tokens: how many tokens a capped result has at most, as far as its other fields let it. None means three
            fifths of `max_tokens`, and no limit without one. Lists of texts to read have a preview's at most.
        facts: whether facts are computed.
        encoding: "json" leaves the shown rows a list of objects. "csv" makes them one text with a header line, which
            has about half the tokens (RFC 4180, nested columns dotted).
        store: where full results are kept: "state", "artifacts", "auto" (see `PayloadStore`), or a store.
        state_key: the state key of the full result, as a template of the call's arguments and `{tool}`, such as
            "gaql_execution_results:{query_id}". A key that is filled twice holds the newer result. By default
            `rows:<tool>:<handle>`, with a new handle for each call. With such a template, "auto" means state.
        counter: a tokenizer, from text to its number of tokens. Without one, tokens are estimated on the high side.
        tools, on_report, on_error: as each `ResultPass` has them.
    """

    kept_kind: ClassVar[Literal["rows"]] = "rows"

    max_rows: int = 100
    max_tokens: int | None = 1000
    stub_rows: int | None = None
    stub_tokens: int | None = None
    facts: bool = True
    encoding: Encoding = "json"
    state_key: str | None = None
    _titles: bool = field(default=False, init=False, repr=False)
    _checks: ClassVar = {
        "max_rows": positive,
        "max_tokens": partial(positive, optional=True),
        "stub_rows": partial(at_most, limit="max_rows"),
        "stub_tokens": partial(at_most, limit="max_tokens"),
        "encoding": partial(one_of, allowed=("json", "csv")),
        "state_key": lambda own, name, value: None if value is None else checked_template(own, name, value),
    }

    def limit(self, limits: ResultLimits) -> ResultLimits:
        """Returns limits with those of tables put in."""
        stub = self.stub_tokens
        if stub is None and self.max_tokens is not None:
            # Measured by `tests.benchmarks.bench_tool_limits`: with larger stubs each later call costs more and answers
            # no more, and with smaller ones wide tables lose their counts and sums by value.
            stub = min(max(300, round(self.max_tokens * 0.6)), self.max_tokens)
        same = ("max_rows", "max_tokens", "stub_rows", "facts", "encoding", "counter")
        own: dict[str, Any] = {name: getattr(self, name) for name in same}
        return replace(limits, **own, stub_tokens=stub, titles=self._titles)

    def by_titles(self) -> Self:
        """Returns the same settings with each row shown by what tells it apart."""
        found = replace(self)
        object.__setattr__(found, "_titles", True)
        return found

    async def keep(self, part: Part, call: ToolCall) -> str:
        """Keeps the whole result of capped tables, under the state key if one is set."""
        store, key = choose_store(self.store), None
        if self.state_key is not None:
            key = filled(self.state_key, call.tool_name, call.args)
            store = replace(store, place="state") if store.place == "auto" else store
            if key is None:
                logger.warning("a call of %s does not fill the state key %r", call.tool_name, self.state_key)
        rows = {"rows_shown": part.rows_shown, "rows_total": part.rows_total}
        return await call.keep(part.value, kind=part.kind, store=store, key=key, **rows)

    def cap_tools(self, llm_request: LlmRequest) -> None:
        """Puts capped copies in the place of the tools that a request offers, for a `before_model_callback`.

        The way in for a whole app on releases that store an event before a plugin sees it (up to 1.22). The agent's own
        `after_tool_callback` still runs, after capping. Declarations are as they were.
        """
        wrap_runs(llm_request, self.reduce)

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
            True if anything was capped, False for an event that is stored already. Use `cap_tools` on such releases.
        """
        return await ResultReducer(passes=(self,), offered=offered).reduce_event(invocation_context, event)


DEFAULT_ROWS = CapRows()
"""Tables of up to 100 rows and 1,000 tokens reach the model as they are, others as stubs of 600 tokens."""


@_with_settings_of(CapRows)
def cap_rows(tool: Any, **settings: Any) -> BaseTool | BaseToolset:
    """Returns a copy of `tool` that caps its results. Its declaration is unchanged, and so is `tool` itself.

    Args:
        tool: what `LlmAgent(tools=[…])` takes: a function (sync or async, with or without `ToolContext`), a bound
            method, a callable object, a partial, any `BaseTool`, a toolset.
        settings: those of `CapRows`, by keyword. `tools` is for a toolset.

    Raises:
        SettingError: `tool` is not a tool, or a setting cannot work.
    """
    return wrap_tool(tool, CapRows(**settings).reduce)


def checked_template(owner: object, name: str, template: object) -> str:
    """Returns `template` if it can be filled from arguments, or raises a `SettingError`."""
    # With attributes in its braces, arguments would reach into objects.
    if isinstance(template, str) and template:
        with suppress(ValueError):
            if all(field.isidentifier() for _, field, _, _ in Formatter().parse(template) if field is not None):
                return template
    raise SettingError.of(owner, name, template, 'a template of plain names such as "results:{query_id}"')


def filled(template: str, tool_name: str, args: Mapping[str, Any]) -> str | None:
    """Returns the key of one call. None if the call lacks an argument that the template names."""
    try:
        key = template.format_map({"tool": tool_name, **args})
    except (KeyError, ValueError):
        # ValueError: a format such as `{count:>5d}` over an argument of another type.
        return None
    # A model's argument must not choose whose state is written, nor give a key that a database refuses.
    scopes = ("app:", "user:", "temp:", "rows:", "payload:", "stored_until:")
    own, chosen = (next(filter(each.startswith, scopes), "") for each in (template, key))
    return key if chosen == own and key.isprintable() and len(key) <= 2_000 else None  # noqa: PLR2004 - characters


@dataclass(frozen=True, kw_only=True)
class OffloadPayload(PlannedPass):
    """Keeps large texts and branches of results in a store, and shows the model a preview of each.

    Of a result over `max_tokens` the largest texts and branches go to the store, as few as it takes. In their place
    the model gets a preview: head, tail and lines that report trouble, or the shape of JSON, with the size and a
    handle for `read_payload`. Everything else, status and message of a failure among it, is the same object as before.
    Prose, code and passages of up to four times `max_tokens` stay whole, also as lists of lines, as they are mostly
    read to their end, and so do texts of a tool whose results the session has read back before. A failed result of up
    to about 2,000 tokens, unless it is a web page, and a result that would not get smaller pass as they are. A payload
    that cannot be stored is shown in part all the same, and its preview says so. Together with `CapRows` one plan
    reduces tables and what is beside them.

    Cost to the prompt cache: none. A result that is offloaded as the tool returns it never enters the session.

    Args:
        max_tokens: a result with at most so many is not touched.
        preview_tokens: the size of one preview. None means a fifth of `max_tokens`, and at least 100 tokens.
        store, counter: as for `CapRows`.
        tools, on_report, on_error: as each `ResultPass` has them.
    """

    kept_kind: ClassVar[Literal["payload"]] = "payload"

    max_tokens: int = 1000
    preview_tokens: int | None = None
    _checks: ClassVar = {"max_tokens": positive, "preview_tokens": partial(at_most, limit="max_tokens")}

    def limit(self, limits: ResultLimits) -> ResultLimits:
        """Returns limits with those of texts and branches put in."""
        size = self.preview_tokens or min(max(100, round(self.max_tokens * 0.2)), self.max_tokens)
        counter = limits.counter or self.counter
        return replace(limits, text_tokens=self.max_tokens, preview_tokens=size, counter=counter)


@_with_settings_of(OffloadPayload)
def offload_payload(tool: Any, **settings: Any) -> BaseTool | BaseToolset:
    """Returns `tool` with its large results kept in a store and shown as previews. `tool` itself is unchanged.

    Args:
        tool: whatever `cap_rows` takes.
        settings: those of `OffloadPayload`, by keyword. `tools` is for a toolset.
    """
    return wrap_tool(tool, OffloadPayload(**settings).reduce)


DEFAULT_PAYLOADS = OffloadPayload()
"""Other results of up to 1,000 tokens reach the model as they are, others as previews of 200 tokens."""

"""Tools on demand: a model is shown two declarations, and finds the schemas of all other tools when it needs them."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import Any, Literal, NamedTuple

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from adk_context_pack.errors import names, one_of, positive
from adk_context_pack.tools.deferred_calls import FIND_TOOLS, as_model_wrote, as_real_calls
from adk_context_pack.tools.hidden_tool import hidden_tool
from adk_context_pack.tools.many_tools import ManyTools, attach
from adk_context_pack.tools.tool_index import DeclaredTool, ToolIndex
from adk_context_pack.tools.tool_view import ToolView

logger = logging.getLogger("adk_context_pack")

_MAX_VIEWS = 1_000

Listing = Literal["sentences", "names", "none"]


class _Known(NamedTuple):
    tool: BaseTool
    declared: DeclaredTool | None
    shown: BaseTool


class DeferredTools(ManyTools):
    """The toolset that `defer_tools` returns."""

    def __init__(  # noqa: PLR0913 - each is a setting
        self,
        tools: Sequence[Any],
        *,
        always: Collection[str],
        listing: Listing,
        max_listing_tokens: int,
        max_found: int,
        max_found_tokens: int,
        batch: int | None,
    ) -> None:
        super().__init__("defer_tools", tools)
        self._always = names("defer_tools", "always", always)
        self._listing = one_of("defer_tools", "listing", listing, ("sentences", "names", "none"))
        self._max_listing_tokens = positive("defer_tools", "max_listing_tokens", max_listing_tokens)
        self._max_found = positive("defer_tools", "max_found", max_found)
        self._max_found_tokens = positive("defer_tools", "max_found_tokens", max_found_tokens)
        self._batch = None if batch is None else positive("defer_tools", "batch", batch)
        self._known: dict[int, _Known] = {}
        self._descriptions: dict[str, str] = {}
        self._names_seen: set[str] = set()
        # The list of tools may be another for each user, and one toolset serves all of them.
        self._views: OrderedDict[tuple[str, str], ToolView] = OrderedDict()

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Returns `find_tools`, `use_tool`, and all tools, of which the deferred ones declare nothing."""
        found = await self.inner_tools(readonly_context)
        entries = [self._known.get(id(tool)) or self._entry(tool) for tool in found]
        # Tools that are no longer listed are forgotten, since their ids may be given to others.
        self._known = {id(entry.tool): entry for entry in entries}
        view = self._view(readonly_context, [entry.declared for entry in entries if entry.declared is not None])
        return [view.find, view.use, *(entry.shown for entry in entries)]

    def _entry(self, tool: BaseTool) -> _Known:
        declared = None if tool.name in self._always else DeclaredTool.of(tool)
        return _Known(tool, declared, tool if declared is None else hidden_tool(tool, self))

    def _view(self, context: ReadonlyContext | None, declared: list[DeclaredTool]) -> ToolView:
        key = (context.invocation_id, context.agent_name) if context is not None else ("", "")
        present = self._views.pop(key, None) or next(reversed(self._views.values()), None)
        if present is None or list(present.index.tools.values()) != declared:
            if present is not None:
                logger.info(
                    "other deferred tools than before: %d then, %d now", len(present.index.tools), len(declared)
                )
            index = ToolIndex(declared)
            room = 0 if self._listing == "none" else self._max_listing_tokens
            present = ToolView(
                index,
                index.listing(room, sentences=self._listing == "sentences"),
                descriptions=self._descriptions,
                max_found=self._max_found,
                max_found_tokens=self._max_found_tokens,
            )
            self._names_seen |= index.tools.keys()
        self._views[key] = present
        while len(self._views) > _MAX_VIEWS:
            self._views.popitem(last=False)
        return present

    def _index_of(self, context: ReadonlyContext) -> ToolIndex:
        view = self._views.get((context.invocation_id, context.agent_name))
        return view.index if view is not None else ToolIndex(())

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Does what the inner toolsets do, and sees to it that the agent's calls become calls of the real tools."""
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        # The agent's other callbacks see the real tools.
        attach(tool_context, before=self.before_model, after=self.after_model)

    def after_model(self, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """ADK's `after_model_callback`: `use_tool` becomes a call of the tool itself."""
        try:
            if llm_response.content is not None:
                llm_response.content = as_real_calls(llm_response.content, self._index_of(callback_context))
        except Exception:
            logger.exception("a use_tool call stays as it is")

    def before_model(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:  # noqa: ARG002 - ADK's
        """ADK's `before_model_callback`: the model reads its own calls as it wrote them."""
        try:
            if self._batch is None:
                llm_request.contents = [as_model_wrote(content, self._names_seen) for content in llm_request.contents]
        except Exception:
            logger.exception("a request shows the calls of deferred tools by their own names")

    def note(self, declaration: types.FunctionDeclaration) -> None:
        """Keeps the description that a tool puts into a request, which ADK fences where it comes from a server."""
        self._descriptions[declaration.name or ""] = declaration.description or ""

    def is_declared(self, name: str, context: ToolContext) -> bool:
        """Returns whether a found tool is declared by now: with `batch`, in full batches of those found."""
        if self._batch is None:
            return False
        found: dict[str, None] = {}
        for event in context.session.events:
            for part in (event.content.parts if event.content else None) or ():
                result = part.function_response
                if result is not None and result.name == FIND_TOOLS:
                    found.update((one["name"], None) for one in (result.response or {}).get("tools") or ())
        known = [one for one in found if one in self._names_seen]
        return name in known[: len(known) // self._batch * self._batch]


def defer_tools(  # noqa: PLR0913 - each is a setting
    *tools: Any,
    always: Collection[str] = (),
    listing: Listing = "names",
    max_listing_tokens: int = 1000,
    max_found: int = 5,
    max_found_tokens: int = 3000,
    batch: int | None = None,
) -> DeferredTools:
    """Returns a toolset that shows the model `find_tools` and `use_tool` in place of the tools' own declarations.

        LlmAgent(tools=[defer_tools(McpToolset(…), search_flights, always={"search_flights"})])

    `find_tools(query)` gives schemas as a result, so that a request only grows. `use_tool(name, args)` is checked
    against the tool's own schema. A mistake is answered with the schema and the nearest valid arguments. A valid call
    becomes a call of the tool itself before ADK sees it: the event, callbacks, confirmation, auth, long-running
    behaviour and tracing are those of the tool. In its own history the model reads what it wrote.

    At the agent's first request the toolset adds its two callbacks to the agent's. Plugins' `after_model_callback` runs
    before them and sees `use_tool`.

    Args:
        tools: functions, tools and toolsets. Tools that declare nothing stay as they are.
        always: names of tools that are declared as usual.
        listing: what the description of `find_tools` lists: "names", "sentences" (names with first sentences), or
            "none". Where the budget has no room for sentences, these are names, and in the end a number.
        max_listing_tokens: the budget of the listing.
        max_found: how many tools `find_tools` shows with their schemas. It names as many again.
        max_found_tokens: the budget of such a result. The best tool is shown in any case.
        batch: declares what was found as well, always this many tools at a time, for models that follow declared
            schemas better. None never declares them.

    Raises:
        SettingError: a setting that cannot work, or an entry of `tools` is not a tool.

    Cost to the prompt cache: none without `batch`, as long as the list of tools stays. With it the whole prefix moves
    at each batch.
    """
    return DeferredTools(
        tools,
        always=always,
        listing=listing,
        max_listing_tokens=max_listing_tokens,
        max_found=max_found,
        max_found_tokens=max_found_tokens,
        batch=batch,
    )

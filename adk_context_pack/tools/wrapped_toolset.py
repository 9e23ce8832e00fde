"""A toolset that hands out the tools of another one, each wrapped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.tool_context import ToolContext


class WrappedToolset(BaseToolset):
    """Delegates all that ADK asks of a toolset to `toolset`, and wraps each tool that comes out.

    Args:
        toolset: the toolset; it is never changed, and closing this one closes it.
        wrap: from a tool to its wrapped copy.
    """

    def __init__(self, toolset: BaseToolset, wrap: Callable[[BaseTool], BaseTool]) -> None:
        # No super().__init__(): filter, prefix and caches are the inner toolset's; see __getattr__.
        self._toolset = toolset
        self._wrap = wrap
        self._wrapped: dict[int, tuple[BaseTool, BaseTool]] = {}

    def __getattr__(self, name: str) -> Any:
        """What this class does not define (`tool_filter`, `tool_name_prefix`, own methods) is the inner one's."""
        if name.startswith("__") or name == "_toolset":
            raise AttributeError(name)
        return getattr(self._toolset, name)

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """The inner toolset's tools, wrapped."""
        return self._wrap_all(await self._toolset.get_tools(readonly_context))

    async def get_tools_with_prefix(  # type: ignore[misc]  # final in ADK, but the inner one has to put its own prefix
        self, readonly_context: ReadonlyContext | None = None
    ) -> list[BaseTool]:
        """The inner toolset's tools under their prefixed names, wrapped."""
        return self._wrap_all(await self._toolset.get_tools_with_prefix(readonly_context))

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """What the inner toolset adds to a request."""
        await self._toolset.process_llm_request(tool_context=tool_context, llm_request=llm_request)

    def get_auth_config(self) -> Any:
        """The inner toolset's auth config; None on releases whose toolsets have none."""
        inner = getattr(self._toolset, "get_auth_config", None)
        return inner() if inner is not None else None

    async def close(self) -> None:
        """Closes the inner toolset."""
        await self._toolset.close()

    def _wrap_all(self, tools: Iterable[BaseTool]) -> list[BaseTool]:
        # The same copy for the same tool, as long as the inner toolset hands it out: a tool may keep something
        # on itself between two steps of an agent.
        known = self._wrapped
        pairs = [known.get(id(tool)) or (tool, self._wrap(tool)) for tool in tools]
        self._wrapped = {id(pair[0]): pair for pair in pairs}
        return [wrapped for _, wrapped in pairs]

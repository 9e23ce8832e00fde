"""One listing of the deferred tools: the two declared tools, and the index behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adk_context_pack.conversation.token_estimate import estimate_payload
from adk_context_pack.tools.deferred_calls import asked
from adk_context_pack.tools.find_and_use import FindTools, UseTool
from adk_context_pack.tools.tool_index import ToolIndex


class ToolView:
    """The deferred tools as one user's agent sees them. Another user may be offered others by the same toolset.

    Args:
        index: the tools.
        listing: what the description of `find_tools` lists.
        descriptions: the descriptions by name that the tools put into a request, where these are others than declared.
        max_found: how many tools a search shows with their schemas.
        max_found_tokens: the budget of a search's result in tokens.

    Attributes:
        index: the tools.
        find: the tool `find_tools`.
        use: the tool `use_tool`.
    """

    def __init__(
        self, index: ToolIndex, listing: str, *, descriptions: Mapping[str, str], max_found: int, max_found_tokens: int
    ) -> None:
        self.index = index
        self.find, self.use = FindTools(self), UseTool(self)
        self.find.describe(listing)
        self._descriptions = descriptions
        self._max_found, self._max_found_tokens = max_found, max_found_tokens

    def found(self, query: str) -> dict[str, Any]:
        """Returns the schemas of the tools that fit `query`, best first, within the budget, and more names."""
        shown: list[dict[str, Any]] = []
        left, more = self._max_found_tokens, []
        for tool in self.index.find(query, 2 * self._max_found):
            entry = tool.shown() | {"description": self._descriptions.get(tool.name, tool.description)}
            price = estimate_payload(entry)
            if len(shown) < self._max_found and (price <= left or not shown):
                shown.append(entry)
                left -= price
            else:
                more.append(tool.name)
        if not shown:
            return {"tools": [], "note": "No tool fits these words. Try other words for what is to be done."}
        return {"tools": shown} | ({"more": more} if more else {})

    def error_for(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer to a `use_tool` call that could not become a call of the tool itself."""
        wanted = asked(arguments, self.index)
        return wanted.error or {"error": f"{wanted.name} could not be called. Call it again."}

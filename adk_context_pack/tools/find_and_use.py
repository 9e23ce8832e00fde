"""The two tools that a model is shown in place of all others: `find_tools` and `use_tool`."""

from __future__ import annotations

import logging
from typing import Any, Protocol

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from adk_context_pack.tools.deferred_calls import FIND_TOOLS, USE_TOOL

logger = logging.getLogger("adk_context_pack")

_FIND = "Finds tools by what is to be done, and gives their parameters for use_tool."
_USE = "Calls a tool that find_tools gave."


class Finder(Protocol):
    """The questions that the two tools ask their toolset."""

    def found(self, query: str) -> dict[str, Any]:
        """Returns the tools that fit."""

    def error_for(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Returns why a call cannot be made."""


class FindTools(BaseTool):
    """`find_tools(query)`.

    Args:
        finder: the toolset.
    """

    def __init__(self, finder: Finder) -> None:
        super().__init__(name=FIND_TOOLS, description=_FIND)
        self._finder = finder

    def describe(self, listing: str) -> None:
        """Puts a listing of the tools into the description."""
        self.description = f"{_FIND} There are: {listing}" if listing else _FIND

    def _get_declaration(self) -> types.FunctionDeclaration:
        return _declaration(self, query="What is to be done, in a few words.")

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:  # noqa: ARG002 - ADK's signature
        """Returns the schemas of the tools that fit."""
        try:
            return self._finder.found(str(args.get("query") or ""))
        except Exception:
            logger.exception("find_tools failed")
            return {"error": "The tools could not be searched."}


class UseTool(BaseTool):
    """`use_tool(name, args)`: it runs only where the call could not become one of the tool itself.

    Args:
        finder: the toolset.
    """

    def __init__(self, finder: Finder) -> None:
        super().__init__(name=USE_TOOL, description=_USE)
        self._finder = finder

    def _get_declaration(self) -> types.FunctionDeclaration:
        # Gemini refuses an object without properties, so the arguments are a text.
        return _declaration(self, name="The tool's name.", args='Its arguments as one JSON object, such as {"id": 1}.')

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:  # noqa: ARG002 - ADK's signature
        """Returns what is wrong with the call, the schema, and the nearest valid arguments."""
        try:
            return self._finder.error_for(args)
        except Exception:
            logger.exception("use_tool failed")
            return {"error": "The tool could not be called."}


def _declaration(tool: BaseTool, **parameters: str) -> types.FunctionDeclaration:
    properties = {
        name: types.Schema(type=types.Type.STRING, description=description) for name, description in parameters.items()
    }
    schema = types.Schema(type=types.Type.OBJECT, properties=properties, required=list(properties))
    return types.FunctionDeclaration(name=tool.name, description=tool.description, parameters=schema)

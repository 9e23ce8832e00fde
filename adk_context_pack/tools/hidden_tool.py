"""A copy of a tool that can be called, and declares nothing until its toolset says so."""

from __future__ import annotations

import copy
from typing import Protocol

from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types


class Owner(Protocol):
    """The toolset of a hidden tool."""

    def is_declared(self, name: str, context: ToolContext) -> bool:
        """Returns whether the tool is declared by now."""

    def note(self, declaration: types.FunctionDeclaration) -> None:
        """Keeps a declaration as the tool puts it into a request."""


class _HiddenRequest:
    """The `process_llm_request` of a deferred tool: it can be called, and declares nothing until it is found."""

    def __init__(self, tool: BaseTool, hidden: BaseTool, owner: Owner) -> None:
        self._tool, self._shown, self._owner = tool, hidden, owner

    def for_copy(self, tool: BaseTool) -> _HiddenRequest:
        """Returns the same for a copy of the hidden tool, which then is the one that ADK runs."""
        return _HiddenRequest(self._tool, tool, self._owner)

    async def __call__(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        if self._owner.is_declared(self._tool.name, tool_context):
            await self._tool.process_llm_request(tool_context=tool_context, llm_request=llm_request)
            llm_request.tools_dict[self._tool.name] = self._shown
            return
        scratch = LlmRequest()
        await self._tool.process_llm_request(tool_context=tool_context, llm_request=scratch)
        for tool in scratch.config.tools or ():
            for declaration in getattr(tool, "function_declarations", None) or ():
                self._owner.note(declaration)
        instruction = scratch.config.system_instruction
        # MCP tools say once how their descriptions are fenced.
        if isinstance(instruction, str) and instruction not in str(llm_request.config.system_instruction or ""):
            llm_request.append_instructions([instruction])
        llm_request.tools_dict[self._tool.name] = self._shown


def hidden_tool(tool: BaseTool, owner: Owner) -> BaseTool:
    """Returns a copy of `tool` that behaves as it does, and is declared only when `owner` says so."""
    # A shallow copy keeps the class, confirmation, auth and long-running behaviour of every kind of tool.
    hidden = copy.copy(tool)
    hidden.process_llm_request = _HiddenRequest(tool, hidden, owner)  # type: ignore[method-assign]
    return hidden

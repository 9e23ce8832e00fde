"""Tables first, then whatever else is large: one tool result made smaller by both."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from adk_context_pack.tools.cap_event import capped_response
from adk_context_pack.tools.cap_rows import CapRows
from adk_context_pack.tools.exempt import is_exempt
from adk_context_pack.tools.offload_payload import OffloadPayload
from adk_context_pack.tools.wrap import wrap_run


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultReducer:
    """Caps tables and offloads other large payloads, for a whole app.

    Args:
        rows: how tables are capped; None caps none.
        payloads: how other large results are kept out; None keeps none out.
        offered: names of tools that the agent will have beyond its own list, so that a stub may name them.
    """

    rows: CapRows | None
    payloads: OffloadPayload | None
    offered: frozenset[str] = frozenset()

    async def reduce_response(
        self, response: types.FunctionResponse, context: InvocationContext, delta: MutableMapping[str, Any]
    ) -> Any:
        """What shall stand in the place of a fresh response's value; the very same value where it is small."""
        value: Any = response.response
        if self.rows is not None:
            value = await capped_response(self.rows, response, context, delta, self.offered)
        if value is not response.response:
            return value
        return await self._offloaded(value, context, response.name or "", delta)

    async def reduce(self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, result: Any) -> Any:
        """What a wrapped tool gives in place of its result, on releases that store an event before plugins see it."""
        if is_exempt(tool.name, result, tool_context.actions, tool_context.function_call_id):
            return result
        capped = await self._capped(tool.name, args, tool_context, result)
        return capped if capped is not result else await self._offloaded(result, tool_context, tool.name, None)

    def wrap_tools(self, request: LlmRequest) -> None:
        """Puts copies that reduce their results in the place of the tools that a request offers."""
        offered = request.tools_dict
        for name, tool in offered.items():
            offered[name] = wrap_run(tool, self.reduce)

    async def _capped(self, name: str, args: Mapping[str, Any], context: ToolContext, result: Any) -> Any:
        own = self.rows.settings_for(name) if self.rows else None
        if own is None:
            return result
        return await own.capped(result, context, tool_name=name, args=args, offered=self.offered)

    async def _offloaded(self, value: Any, context: Any, name: str, delta: MutableMapping[str, Any] | None) -> Any:
        own = self.payloads.settings_for(name) if self.payloads else None
        if own is None:
            return value
        return await own.offloaded(value, context, tool_name=name, delta=delta, offered=self.offered)

"""Tables first, then whatever else is large: one tool result made smaller by both."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from adk_context_pack.tools.cap_event import capped_response
from adk_context_pack.tools.cap_rows import CapRows
from adk_context_pack.tools.exempt import is_exempt
from adk_context_pack.tools.offload_payload import PREVIEW, OffloadPayload
from adk_context_pack.tools.row_stub import FACTS, HANDLE, LIMITS, NOTE

# What a skill says is an instruction, and half of an instruction is none.
_READ_WHOLE = frozenset({"load_skill", "load_skill_resource"})
_OF_THE_STUB = frozenset({LIMITS, FACTS, HANDLE, NOTE})


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
        name = response.name or ""
        if name in _READ_WHOLE:
            return value
        capped = value
        if self.rows is not None:
            capped = await capped_response(self.rows, response, context, delta, self.offered)
        call = {"tool_name": name, "delta": delta, "call_id": response.id}
        return await self._offloaded(capped, context, call, is_stub=capped is not value)

    async def reduce(self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, result: Any) -> Any:
        """What a wrapped tool gives in place of its result, on releases that store an event before plugins see it."""
        actions, name = tool_context.actions, tool.name
        # Results that are themselves the answer to the user stay whole.
        if name in _READ_WHOLE or actions.skip_summarization:
            return result
        if is_exempt(name, result, actions, tool_context.function_call_id):
            return result
        capped = await self._capped(name, args, tool_context, result)
        return await self._offloaded(capped, tool_context, {"tool_name": name}, is_stub=capped is not result)

    async def _capped(self, name: str, args: Mapping[str, Any], context: ToolContext, result: Any) -> Any:
        own = self.rows.settings_for(name) if self.rows else None
        if own is None:
            return result
        return await own.capped(result, context, tool_name=name, args=args, offered=self.offered)

    async def _offloaded(self, value: Any, context: Any, call: dict[str, Any], *, is_stub: bool) -> Any:
        own = self.payloads.settings_for(call["tool_name"]) if self.payloads else None
        if own is None:
            return value
        settings = {**call, "offered": self.offered}
        if not is_stub:
            return await own.offloaded(value, context, **settings)
        # A capped result may hold long texts beside its tables.
        rest = _beside_tables(value)
        return _merged(value, rest, await own.offloaded(rest, context, **settings))


def _beside_tables(stub: Mapping[str, Any]) -> dict[str, Any]:
    tables = {str(path).partition(".")[0] for path in stub[LIMITS]} | _OF_THE_STUB
    return {key: value for key, value in stub.items() if key not in tables}


def _merged(stub: Mapping[str, Any], rest: Mapping[str, Any], smaller: Mapping[str, Any]) -> Mapping[str, Any]:
    if smaller is rest:
        return stub
    kept = {key: smaller.get(key, value) for key, value in stub.items() if key not in rest or key in smaller}
    return {**kept, PREVIEW: smaller[PREVIEW]} if PREVIEW in smaller else kept

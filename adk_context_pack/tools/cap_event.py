"""Capping the function responses of an event before it is stored."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.genai import types

from adk_context_pack.tools.reduce_event import reduce_event

if TYPE_CHECKING:
    from adk_context_pack.tools.cap_rows import CapRows


async def cap_event(settings: CapRows, context: InvocationContext, event: Event, offered: frozenset[str]) -> bool:
    """Gives `event` a new content with capped responses; see `CapRows.cap_event`."""

    async def reduce(response: types.FunctionResponse, delta: MutableMapping[str, Any]) -> Any:
        return await capped_response(settings, response, context, delta, offered)

    return await reduce_event(context, event, reduce)


async def capped_response(
    settings: CapRows,
    response: types.FunctionResponse,
    context: InvocationContext,
    delta: MutableMapping[str, Any],
    offered: frozenset[str],
) -> Any:
    """The capped form of one response, or its own value."""
    name = response.name or ""
    own = settings.settings_for(name)
    if own is None:
        return response.response
    args = _args_of(response.id, context.session.events) if own.state_key is not None else {}
    return await own.capped(
        response.response, context, tool_name=name, args=args, delta=delta, offered=offered, call_id=response.id
    )


def _args_of(call_id: str | None, events: Sequence[Event]) -> Mapping[str, Any]:
    for event in reversed(events):
        for call in event.get_function_calls():
            if call.id == call_id:
                return call.args or {}
    return {}

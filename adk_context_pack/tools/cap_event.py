"""Capping the function responses of an event before it is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.genai import types

from adk_context_pack.tools.exempt import is_exempt

if TYPE_CHECKING:
    from adk_context_pack.tools.cap_rows import CapRows

# Where ADK stores an event first, it is the newest one when a plugin sees it; parallel agents may add a few.
_NEWEST = 16


async def cap_event(settings: CapRows, context: InvocationContext, event: Event, offered: frozenset[str]) -> bool:
    """Gives `event` a new content with capped responses; see `CapRows.cap_event`."""
    content = event.content
    parts = (content.parts if content else None) or []
    responses = [part for part in parts if part.function_response]
    if content is None or not responses or event.partial or _is_stored(context, event):
        return False
    capped = [await _capped_part(settings, part, context, event, offered) for part in parts]
    if all(new is old for new, old in zip(capped, parts, strict=True)):
        return False
    event.content = content.model_copy(update={"parts": capped})
    return True


async def _capped_part(
    settings: CapRows, part: types.Part, context: InvocationContext, event: Event, offered: frozenset[str]
) -> types.Part:
    response = part.function_response
    if response is None or is_exempt(response.name or "", response.response, event.actions, response.id):
        return part
    name = response.name or ""
    own = settings.settings_for(name)
    if own is None:
        return part
    args = _args_of(response.id, context.session.events) if own.state_key is not None else {}
    delta = event.actions.state_delta
    smaller = await own.capped(response.response, context, tool_name=name, args=args, delta=delta, offered=offered)
    if smaller is response.response:
        return part
    # Media that ADK has moved beside the response stays there.
    return part.model_copy(update={"function_response": response.model_copy(update={"response": smaller})})


def _is_stored(context: InvocationContext, event: Event) -> bool:
    return any(stored.id == event.id for stored in context.session.events[-_NEWEST:])


def _args_of(call_id: str | None, events: Sequence[Event]) -> Mapping[str, Any]:
    for event in reversed(events):
        for call in event.get_function_calls():
            if call.id == call_id:
                return call.args or {}
    return {}

"""Making the function responses of an event smaller before it is stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.genai import types

from adk_context_pack.tools.exempt import is_exempt

Reduce = Callable[[types.FunctionResponse, MutableMapping[str, Any]], Awaitable[Any]]
"""From a response and the event's state delta to what shall stand in its place, or the response's own value."""

# Where ADK stores an event first, it is the newest one when a plugin sees it; parallel agents may add a few.
_NEWEST = 16


async def reduce_event(context: InvocationContext, event: Event, reduce: Reduce) -> bool:
    """Gives `event` a new content with smaller responses; nothing that it shared with the session is written to.

    Args:
        context: ADK's context of the run.
        event: an event that is not stored yet.
        reduce: what makes one response smaller.

    Returns:
        Whether anything was changed. False for an event that is stored already, and for results that are themselves
        the answer to the user.
    """
    content = event.content
    parts = (content.parts if content else None) or []
    if content is None or event.partial or not any(part.function_response for part in parts):
        return False
    if event.actions.skip_summarization or is_stored(context, event):
        return False
    reduced = [await _reduced(part, event, reduce) for part in parts]
    if all(new is old for new, old in zip(reduced, parts, strict=True)):
        return False
    event.content = content.model_copy(update={"parts": reduced})
    return True


def is_stored(context: InvocationContext, event: Event) -> bool:
    """Whether ADK has stored an event already, as releases up to 1.22 do before a plugin sees it."""
    return any(stored.id == event.id for stored in context.session.events[-_NEWEST:])


async def _reduced(part: types.Part, event: Event, reduce: Reduce) -> types.Part:
    response = part.function_response
    if response is None or is_exempt(response.name or "", response.response, event.actions, response.id):
        return part
    smaller = await reduce(response, event.actions.state_delta)
    if smaller is response.response:
        return part
    # Media that ADK has moved beside the response stays there.
    return part.model_copy(update={"function_response": response.model_copy(update={"response": smaller})})

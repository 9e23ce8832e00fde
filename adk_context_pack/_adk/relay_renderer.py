"""ADK's own rendering of another agent's event, for relay formats that this package does not know."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from google.adk.events.event import Event
from google.genai import types

_NAME = "_present_other_agent_message"


def relay_renderer() -> Callable[..., Any] | None:
    """Returns the function with which the installed ADK renders relays, or None where it has none by that name."""
    contents: Any = import_module("google.adk.flows.llm_flows.contents")
    # ADK moved its content builder to another module in later releases; the renderer is always beside it.
    builder = sys.modules[contents._get_contents.__module__]  # noqa: SLF001 - private in every release
    return getattr(builder, _NAME, None) or getattr(contents, _NAME, None)


def render_relay(event: Event, source: types.Part) -> types.Content | None:
    """Returns the block that ADK would make of one part of an event, or None where it would show nothing.

    Args:
        event: another agent's event.
        source: the part.
    """
    renderer = relay_renderer()
    if renderer is None:
        return None
    more: dict[str, Any] = {"include_thoughts": True} if _takes_thoughts(renderer) else {}
    content = types.Content(role="model", parts=[]).model_copy(update={"parts": [source]})
    shown = renderer(event.model_copy(update={"content": content}), **more)
    return getattr(shown, "content", None)


def _takes_thoughts(renderer: Callable[..., Any]) -> bool:
    return "include_thoughts" in inspect.signature(renderer).parameters

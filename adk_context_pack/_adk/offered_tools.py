"""Which tools an agent has, as far as that can be told without listing its toolsets."""

from __future__ import annotations

from typing import Any


def offered_tools(context: Any) -> frozenset[str]:
    """The names of the tools of the agent that `context` belongs to.

    Args:
        context: ADK's tool, callback or invocation context. Tools within toolsets are known from 2.x on, where ADK
            keeps what it resolved for the model call.
    """
    invocation = getattr(context, "_invocation_context", context)
    declared = getattr(getattr(invocation, "agent", None), "tools", None) or ()
    resolved = getattr(invocation, "canonical_tools_cache", None) or ()
    return frozenset(name for tool in (*declared, *resolved) if (name := _name(tool)))


def _name(tool: Any) -> str | None:
    name = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    return name if isinstance(name, str) else None

"""The tools that an agent has, and whether a request can take more of them."""

from __future__ import annotations

from typing import Any

from google.adk.models.llm_request import LlmRequest

from adk_context_pack._adk.known_tools import kind_of


def offered_tools(context: Any) -> frozenset[str]:
    """Returns the names of the tools of the agent that `context` belongs to.

    Args:
        context: ADK's tool, callback or invocation context. Tools within toolsets are known from 2.x on, where ADK
            keeps what it resolved for the model call.
    """
    invocation = getattr(context, "_invocation_context", context)
    declared = getattr(getattr(invocation, "agent", None), "tools", None) or ()
    resolved = getattr(invocation, "canonical_tools_cache", None) or ()
    return frozenset(
        name
        for tool in (*declared, *resolved)
        # A tool of the app's own may have the name of one of ours.
        if (name := _name(tool)) and kind_of(tool, name) == kind_of(None, name)
    )


def takes_references(context: Any, *, in_answers: bool = False) -> bool:
    """Returns whether a tool of the agent that `context` belongs to resolves references to stored results.

    Args:
        context: ADK's tool, callback or invocation context.
        in_answers: asks whether the agent may write references in its answers, and not only in arguments.
    """
    agent = getattr(getattr(context, "_invocation_context", context), "agent", None)
    asked = "takes_references_in_answers" if in_answers else "takes_references"
    return any(getattr(tool, asked, False) for tool in getattr(agent, "tools", None) or ())


def takes_tools(request: LlmRequest) -> bool:
    """Returns whether function tools can join a request without making the provider refuse it.

    An agent that has function tools can be offered another. Without any, providers refuse function tools beside
    their built-in tools, beside a response schema, and beside a cached content, which has its tools in it.
    """
    if request.tools_dict:
        return True
    config = request.config
    if config is None:
        return True
    fixed = ("tools", "response_schema", "response_json_schema", "response_mime_type", "cached_content")
    return not any(getattr(config, name, None) for name in fixed)


def _name(tool: Any) -> str | None:
    name = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    return name if isinstance(name, str) else None

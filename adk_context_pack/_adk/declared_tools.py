"""Makes tools as ADK makes them, and reads what they declare."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

from google.adk.tools.base_tool import BaseTool
from google.genai import types


@functools.cache
def _llm_agent() -> Any:
    # Loaded with the first agent of the app.
    return import_module("google.adk.agents.llm_agent")


def declaration_of(tool: BaseTool) -> types.FunctionDeclaration | None:
    """Returns what a tool declares to the model, or None for a tool that declares nothing."""
    return tool._get_declaration()  # noqa: SLF001 - ADK has no public way to ask a tool


def is_node(tool: Any) -> bool:
    """Tells whether `tool` is a node of a `Workflow`, which `LlmAgent` takes as a tool from 2.x on."""
    return isinstance(tool, getattr(_llm_agent(), "BaseNode", ())) and hasattr(_llm_agent(), "_wrap_base_node_as_tool")


def has_nodes() -> bool:
    """Tells whether this release has workflows, whose nodes do not know the app that they are part of."""
    return hasattr(_llm_agent(), "BaseNode")


def node_tool(node: Any) -> BaseTool:
    """Makes a tool of a node, as `LlmAgent` does.

    Raises:
        ValueError: the node cannot be a tool.
    """
    made: BaseTool = _llm_agent()._wrap_base_node_as_tool(node)  # noqa: SLF001 - what LlmAgent itself does with a node
    return made


def function_tool(function: Callable[..., Any]) -> BaseTool:
    """Makes a tool of a function, bound method, callable object or partial that this ADK release can declare."""
    # ADK's own FunctionTool reads name, docstring and signature. A wrapping function would change what it reads:
    # functools.wraps alters the declaration of callable objects and partials.
    make: Callable[..., BaseTool] = import_module("google.adk.tools.function_tool").FunctionTool
    tool = make(func=function)
    if hasattr(function, "__name__") or _is_callable_by_name(tool):
        return tool
    return make(func=_named(function, tool.name))


def _is_callable_by_name(tool: BaseTool) -> bool:
    # 1.x declares a tool by `__name__`. Partials and callable objects have none, so each model call would fail. 2.0
    # declares such a tool under a name that it does not find again.
    try:
        declaration = declaration_of(tool)
    except AttributeError:
        return False
    return declaration is not None and declaration.name == tool.name


def _named(function: Callable[..., Any], name: str) -> functools.partial[Any]:
    if isinstance(function, functools.partial):
        inner = function.func
        named = functools.partial(inner, *function.args, **function.keywords)
        named.__name__ = getattr(inner, "__name__", name)  # type: ignore[attr-defined]
        named.__doc__ = inner.__doc__
        return named
    named = functools.partial(function.__call__)  # type: ignore[operator]
    named.__name__ = name  # type: ignore[attr-defined]
    named.__doc__ = function.__doc__
    return named

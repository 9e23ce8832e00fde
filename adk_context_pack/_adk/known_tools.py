"""Knows the tools of ADK and of the pack by what they are, and which of them an agent and a request have."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, Literal, NamedTuple

from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from adk_context_pack._adk.releases import invocation_of

ToolKind = Literal["instructions", "resource", "catalog", "control", "memory", "read_back"]
"""The kinds of tools, by the results that they return:

* "instructions": instructions that hold while their skill is active.
* "resource": a part of a skill, for the turn that loads it.
* "catalog": what the model may call or load from then on.
* "control": a result that ADK, or the next step of the model, needs word for word.
* "memory": what a memory service found.
* "read_back": a part of what the pack has kept out of a prompt, or has computed from it.
"""

READ_BACK = "read_back"
"""The name of the pack's tool that opens whatever is not shown."""

DECLARED = 140
"""No less than the tokens of its declaration."""


class Openers(NamedTuple):
    """Holds the names of the tools that ask rows, read payloads and find history, each "" if an agent has none."""

    rows: str = ""
    payload: str = ""
    history: str = ""


NO_OPENERS = Openers()
OPENERS = Openers("query_rows", "read_payload", "search_history")
"""The pack's tools that open one kind alone."""

_KINDS: Mapping[str, ToolKind] = {
    "load_skill": "instructions",
    "load_skill_resource": "resource",
    **dict.fromkeys(("list_skills", "search_skills", "find_tools"), "catalog"),
    **dict.fromkeys(("finish_task", "transfer_to_agent", "set_model_response", "exit_loop", "unload_skill"), "control"),
    **dict.fromkeys(("load_artifacts", "load_mcp_resource", "use_tool"), "control"),
    "load_memory": "memory",
    **dict.fromkeys((READ_BACK, *OPENERS, "get_summarized_results"), "read_back"),
}
"""The tools of ADK and of the pack by the names that these give them."""

# Class names are the same in all releases, and the modules that hold them are not: `load_skill` is `LoadSkillTool`.
_CLASSES = {name.replace("_", "") + end: kind for name, kind in _KINDS.items() for end in ("", "tool")}
_OWNERS = ("google.adk.", "adk_context_pack.")

CREDENTIALS = "adk_request_credential"
"""ADK's call that asks for credentials. Its answer is the user's secret, and no conversation."""
APPROVALS = frozenset({CREDENTIALS, "adk_request_confirmation", "adk_request_input"})
"""ADK's calls that ask the user. No tool is behind them, and releases differ in which of them reach a request."""


def kind_of(tool: Any, name: str | None) -> ToolKind | None:
    """Returns what a tool, or a function in its place, is if it is ADK's or the pack's, or None for any other tool."""
    # A tool is known by its class or function, in a subclass, in a copy under another name, and within a tool that
    # holds it in order to call it. The name counts if `tool` is None, as in a recording.
    if tool is None:
        return _KINDS.get(name or "")
    for _ in range(4):
        if not isinstance(tool, BaseTool):
            return _kind_of_function(tool)
        function = vars(tool).get("func")
        if (kind := _kind_of_class(type(tool)) or _kind_of_function(function)) is not None:
            return kind
        held = {id(value): value for value in vars(tool).values() if isinstance(value, BaseTool)}
        # A tool that holds several others does not stand for one of them.
        tool = next(iter(held.values())) if len(held) == 1 else getattr(function, "__self__", None)
    return None


def kind_in(tools: Mapping[str, Any] | None, name: str | None) -> ToolKind | None:
    """Returns what the tool of this name is. A name that is not among a request's tools counts for itself."""
    return kind_of((tools or {}).get(name or ""), name)


def offers(tools: Mapping[str, Any] | None, name: str) -> bool:
    """Tells whether a request offers the tool of ADK or of the pack that `name` is the name of."""
    tool = (tools or {}).get(name)
    return tool is not None and kind_of(tool, name) == _KINDS[name] and not getattr(tool, "is_alias", False)


def openers_in(request: LlmRequest, *, offered: Collection[str] = ()) -> Openers:
    """Returns the tools with which the agent of a request opens what it is not shown, those `offered` later as well."""
    return openers_of(lambda name: name in offered or offers(request.tools_dict, name))


def openers_of(has: Callable[[str], bool]) -> Openers:
    """Returns the tools with which an agent opens what it is not shown: those for one kind, or the one for all."""
    one = READ_BACK if has(READ_BACK) else ""
    return Openers(*[name if has(name) else one for name in OPENERS])


def active_skills(state: Mapping[str, Any], agent_name: str) -> Collection[str]:
    """Returns the names of the skills that ADK counts as active for an agent."""
    names = state.get(f"_adk_activated_skill_{agent_name}")
    return frozenset(map(str, names)) if isinstance(names, list | tuple | set) else frozenset()


@functools.lru_cache(maxsize=1_000)
def _kind_of_class(tool_class: type) -> ToolKind | None:
    owned = [each.__name__.lower() for each in tool_class.__mro__ if each.__module__.startswith(_OWNERS)]
    return next(filter(None, map(_CLASSES.get, owned)), None)


def _kind_of_function(function: Any) -> ToolKind | None:
    if not str(getattr(function, "__module__", "")).startswith(_OWNERS):
        return None
    return _KINDS.get(getattr(function, "__name__", ""))


def offered_tools(context: Any, offered: frozenset[str] = frozenset()) -> frozenset[str]:
    """Returns the names of the tools of the agent that `context` belongs to, and of those that it will be given."""
    # Tools within toolsets are known from 2.x on, where ADK keeps what it resolved for the model call. Of the tools
    # that the pack will declare, those for one kind come in the place of `read_back` if the app has one of that name.
    invocation = invocation_of(context)
    declared = getattr(getattr(invocation, "agent", None), "tools", None) or ()
    resolved = getattr(invocation, "canonical_tools_cache", None) or ()
    named = ((getattr(tool, "name", None) or getattr(tool, "__name__", ""), tool) for tool in (*declared, *resolved))
    # A tool of the app's own may have the name of one of ours.
    is_right = {name: kind_of(tool, name) == kind_of(None, name) for name, tool in named if isinstance(name, str)}
    if READ_BACK in offered and not is_right.get(READ_BACK, True):
        offered = frozenset(OPENERS)
    return frozenset((*offered, *(name for name, right in is_right.items() if right)))


def takes_references(context: Any) -> str:
    """Returns where the agent may refer to stored results, in words for its model, or "" if no tool resolves them."""
    tools = getattr(getattr(invocation_of(context), "agent", None), "tools", None) or ()
    return max((getattr(tool, "takes_references", "") for tool in tools), key=len, default="")


def takes_tools(request: LlmRequest) -> bool:
    """Returns whether function tools can join a request without making the provider refuse it."""
    # Without any yet, providers refuse them beside their built-in tools, a response schema or a cached content.
    fixed = ("tools", "response_schema", "response_json_schema", "response_mime_type", "cached_content")
    return bool(request.tools_dict) or request.config is None or not any(map(vars(request.config).get, fixed))


def _llm_agent() -> Any:
    # Loaded with the first agent of the app.
    return import_module("google.adk.agents.llm_agent")


def declaration_of(tool: BaseTool) -> types.FunctionDeclaration | None:
    """Returns what a tool declares to the model, or None for a tool that declares nothing."""
    return tool._get_declaration()  # noqa: SLF001 - ADK has no public way to ask a tool


def declared_in(request: Any) -> Iterator[Any]:
    """Yields the function declarations of a request, and tools of other kinds as they are."""
    for tool in (request.config.tools if request.config else None) or ():
        yield from getattr(tool, "function_declarations", None) or (tool,)


class ReadBackTool(FunctionTool):
    """Declares itself without what no model reads: titles, empty defaults and line breaks."""

    is_alias = False
    """Tells whether the tool answers calls of its name, which a session may show, without being declared."""

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        declared = super()._get_declaration()
        schema: Any = getattr(declared, "parameters_json_schema", None)
        if declared is None or schema is None:
            return declared
        properties = {name: {"type": each["type"]} for name, each in schema["properties"].items()}
        short = {name: value for name, value in schema.items() if name != "title"} | {"properties": properties}
        said = " ".join((declared.description or "").split())
        return declared.model_copy(update={"description": said, "parameters_json_schema": short})


def is_node(tool: Any) -> bool:
    """Tells whether `tool` is a node of a `Workflow`, which `LlmAgent` takes as a tool from 2.x on."""
    return isinstance(tool, getattr(_llm_agent(), "BaseNode", ())) and hasattr(_llm_agent(), "_wrap_base_node_as_tool")


def has_nodes() -> bool:
    """Tells whether this release has workflows, whose nodes do not know the app that they are part of."""
    return hasattr(_llm_agent(), "BaseNode")


def node_tool(node: Any) -> BaseTool:
    """Makes a tool of a node, as `LlmAgent` does, or raises a ValueError if it cannot be one."""
    made: BaseTool = _llm_agent()._wrap_base_node_as_tool(node)  # noqa: SLF001 - what LlmAgent itself does with a node
    return made


def function_tool(function: Callable[..., Any]) -> BaseTool:
    """Makes a tool of a function, bound method, callable object or partial that this ADK release can declare."""
    # ADK's own FunctionTool reads name, docstring and signature. A wrapping function would change what it reads:
    # functools.wraps alters the declaration of callable objects and partials.
    tool = FunctionTool(func=function)
    if hasattr(function, "__name__"):
        return tool
    # 1.x declares a tool by `__name__`. Partials and callable objects have none, so each model call would fail. 2.0
    # declares such a tool under a name that it does not find again.
    with suppress(AttributeError):
        if (declaration := declaration_of(tool)) is not None and declaration.name == tool.name:
            return tool
    inner = function.func if isinstance(function, functools.partial) else function
    named = functools.partial(function if inner is not function else inner.__call__)  # type: ignore[operator]
    named.__name__ = getattr(inner, "__name__", tool.name)  # type: ignore[attr-defined]
    named.__doc__ = inner.__doc__
    return FunctionTool(func=named)

"""Knows the tools of ADK and of the pack by what they are, whatever name a model calls them by."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from typing import Any, Literal

from google.adk.tools.base_tool import BaseTool

ToolKind = Literal["instructions", "resource", "catalog", "control", "memory", "read_back"]
"""What a tool gives:

* "instructions": instructions that hold while their skill is active.
* "resource": a part of a skill, for the turn that loads it.
* "catalog": what the model may call or load from then on.
* "control": a result that ADK, or the next step of the model, needs word for word.
* "memory": what a memory service found.
* "read_back": a part of what the pack has kept out of a prompt, or has computed from it.
"""

READ_BACK_TOOLS = frozenset({"query_rows", "read_payload", "search_history"})
"""The pack's tools that read back what is not shown."""

_KINDS: Mapping[str, ToolKind] = {
    "load_skill": "instructions",
    "load_skill_resource": "resource",
    **dict.fromkeys(("list_skills", "search_skills", "find_tools"), "catalog"),
    **dict.fromkeys(("finish_task", "transfer_to_agent", "set_model_response", "exit_loop", "unload_skill"), "control"),
    **dict.fromkeys(("load_artifacts", "load_mcp_resource", "use_tool"), "control"),
    "load_memory": "memory",
    **dict.fromkeys((*READ_BACK_TOOLS, "get_summarized_results"), "read_back"),
}
"""The tools of ADK and of the pack by the names that these give them."""

# Class names are the same in all releases, and the modules that hold them are not: `load_skill` is `LoadSkillTool`.
_CLASSES = {name.replace("_", "") + end: kind for name, kind in _KINDS.items() for end in ("", "tool")}
_OWNERS = ("google.adk.", "adk_context_pack.")
_MAX_WRAPPERS = 4

CREDENTIALS = "adk_request_credential"
"""ADK's call that asks for credentials. Its answer is the user's secret, and no conversation."""
APPROVALS = frozenset({CREDENTIALS, "adk_request_confirmation", "adk_request_input"})
"""ADK's calls that ask the user. No tool is behind them, and releases differ in which of them reach a request."""


def kind_of(tool: Any, name: str | None) -> ToolKind | None:
    """Returns what a tool is if it is ADK's or the pack's, or None for any other tool.

    A tool is known by its class or function, in a subclass, in a copy under another name, and within a tool that holds
    it in order to call it.

    Args:
        tool: the tool, or a function in its place. None if only its name is known, as in a recording.
        name: the name, which counts if there is no tool.
    """
    if tool is None:
        return _KINDS.get(name or "")
    for _ in range(_MAX_WRAPPERS):
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
    """Returns what the tool of this name is.

    Args:
        tools: a request's tools by name. A name that is not among them counts for itself.
        name: the name under which the model calls it.
    """
    return kind_of((tools or {}).get(name or ""), name)


def offers(tools: Mapping[str, Any] | None, name: str) -> bool:
    """Tells whether a request offers the tool of ADK or of the pack that `name` is the name of.

    Args:
        tools: the request's tools by name.
        name: the name that ADK or the pack gives the tool.
    """
    return name in (tools or {}) and kind_in(tools, name) == _KINDS[name]


def active_skills(state: Mapping[str, Any], agent_name: str) -> Collection[str]:
    """Returns the names of the skills that ADK counts as active for an agent.

    Args:
        state: the session's state.
        agent_name: the agent.
    """
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

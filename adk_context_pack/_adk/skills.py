"""The tools and the state of ADK's skills: which results are instructions that hold, and for which agent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

try:
    from google.adk.tools import skill_toolset as _adk_skills
except ImportError:  # Releases without skills.
    _adk_skills = None  # type: ignore[assignment]

SkillResult = Literal["instructions", "resource"]
LOAD_SKILL, LOAD_RESOURCE = "load_skill", "load_skill_resource"
_CLASSES: Mapping[SkillResult, type | None] = {
    "instructions": getattr(_adk_skills, "LoadSkillTool", None),
    "resource": getattr(_adk_skills, "LoadSkillResourceTool", None),
}
# The attributes in which wrappers keep the tool that they call.
_INNER = ("__wrapped__", "_tool", "tool", "_wrapped", "wrapped", "_inner", "inner")
_MAX_WRAPPERS = 4


def skill_tools(tools: Mapping[str, Any] | None) -> dict[str, SkillResult]:
    """Returns what each tool that loads a part of a skill gives, by the name under which the model calls it.

    Tools are known by their class, so that a prefix in the name or a wrapper hides none. The plain names of ADK's tools
    count where no tool of that name is declared, as in a recorded session.

    Args:
        tools: a request's tools by name.
    """
    found: dict[str, SkillResult] = {LOAD_SKILL: "instructions", LOAD_RESOURCE: "resource"}
    for name, tool in (tools or {}).items():
        kind = _kind(tool)
        if kind is not None:
            found[name] = kind
        elif _CLASSES["instructions"] is not None:
            # A tool of the app's own that happens to have the name.
            found.pop(name, None)
    return found


def active_skills(state: Mapping[str, Any], agent_name: str) -> Collection[str]:
    """Returns the names of the skills that ADK counts as active for an agent.

    Args:
        state: the session's state.
        agent_name: the agent.
    """
    names = state.get(f"_adk_activated_skill_{agent_name}")
    return frozenset(map(str, names)) if isinstance(names, list | tuple | set) else frozenset()


def _kind(tool: Any) -> SkillResult | None:
    for _ in range(_MAX_WRAPPERS):
        for kind, class_ in _CLASSES.items():
            if class_ is not None and isinstance(tool, class_):
                return kind
        held = getattr(tool, "__dict__", None) or {}
        tool = next((held[name] for name in _INNER if held.get(name) is not None), None)
        if tool is None:
            return None
    return None

"""The tools that an agent has."""

from types import SimpleNamespace

from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.function_tool import FunctionTool

from adk_context_pack._adk.offered_tools import offered_tools


def look() -> str:
    """Looks."""


def find() -> str:
    """Finds."""


def test_names_of_functions_tools_and_what_adk_has_resolved():
    """Functions by their own name, tools by theirs, toolsets by what ADK listed for the call."""
    agent = LlmAgent(name="a", tools=[look, FunctionTool(find)])
    listed = SimpleNamespace(name="listed")
    context = SimpleNamespace(_invocation_context=SimpleNamespace(agent=agent, canonical_tools_cache=[listed]))
    assert offered_tools(context) == {"look", "find", "listed"}


def test_a_context_without_an_agent_has_none():
    """A fake or foreign context is no failure."""
    assert offered_tools(object()) == frozenset()

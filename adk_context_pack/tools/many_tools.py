"""A toolset made of functions, tools and toolsets, and its way to an agent's model calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.tool_context import ToolContext

from adk_context_pack._adk.instruction import agent_of
from adk_context_pack.errors import SettingError
from adk_context_pack.tools.wrap import tool_of


class ManyTools(BaseToolset):
    """Delegates what ADK asks of a toolset to the toolsets that it was given.

    Args:
        owner: the public function that makes it, for errors.
        tools: functions, tools and toolsets. They are never changed, and closing this one closes them.

    Raises:
        SettingError: there is none, or an entry is not a tool.
    """

    def __init__(self, owner: str, tools: Sequence[Any]) -> None:
        super().__init__()
        if not tools:
            raise SettingError.of(owner, "tools", tools, "one tool or toolset at least")
        self._given = [tool_of(tool, owner=owner, name="tools") for tool in tools]

    @property
    def takes_references(self) -> bool:
        """Tells whether a tool in it resolves references."""
        return any(getattr(given, "takes_references", False) for given in self._given)

    @property
    def takes_references_in_answers(self) -> bool:
        """Tells whether a toolset in it lets the agent write references in its answers."""
        return any(getattr(given, "takes_references_in_answers", False) for given in self._given)

    async def inner_tools(self, context: ReadonlyContext | None) -> list[BaseTool]:
        """Returns all tools under their prefixed names, in order."""
        found: list[BaseTool] = []
        for given in self._given:
            found += await given.get_tools_with_prefix(context) if isinstance(given, BaseToolset) else [given]
        return found

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Lets the inner toolsets add to a request."""
        for given in self._given:
            if isinstance(given, BaseToolset):
                await given.process_llm_request(tool_context=tool_context, llm_request=llm_request)

    def get_auth_config(self) -> Any:
        """Returns the auth config of the first toolset that has one."""
        configs = (getattr(given, "get_auth_config", lambda: None)() for given in self._given)
        return next((config for config in configs if config is not None), None)

    async def close(self) -> None:
        """Closes the inner toolsets."""
        for given in self._given:
            if isinstance(given, BaseToolset):
                await given.close()


def attach(context: ToolContext, *, before: Callable[..., Any], after: Callable[..., Any]) -> None:
    """Adds callbacks to the agent whose request is being made, once: `before` as its last, `after` as its first.

    ADK has no hook for a toolset between the whole request and the model, or between the model's answer and the calls
    made from it.
    """
    agent = agent_of(context)
    if agent is not None:
        agent.after_model_callback = [after, *_others(agent.after_model_callback, after)]
        agent.before_model_callback = [*_others(agent.before_model_callback, before), before]


def _others(present: Any, callback: Callable[..., Any]) -> list[Any]:
    callbacks = present if isinstance(present, list) else [] if present is None else [present]
    return [other for other in callbacks if other != callback]

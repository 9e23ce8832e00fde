"""Agents that many tests need."""

from __future__ import annotations

from typing import Any

from google.adk.agents import LlmAgent

from tests.support.scripted_model import ScriptedModel, call


def calling(*tools: Any, calls: Any = None, name: str = "analyst", then: Any = "done", **settings: Any) -> LlmAgent:
    """An agent that makes all `calls` at once in each turn, and then says `then`.

    Args:
        tools: its tools, or toolsets.
        calls: names with arguments; by default one call of the first tool that it is offered.
        name: its name.
        then: what it says when it has the results, or a function of the request that says it.
        settings: further settings of the agent.
    """

    def answer(request: Any) -> Any:
        if request.contents[-1].parts[-1].function_response:
            return then(request) if callable(then) else then
        offered = [declared.name for tool in request.config.tools for declared in tool.function_declarations]
        return [call(name, **args) for name, args in (calls or [(offered[0], {})])]

    return LlmAgent(name=name, model=ScriptedModel(answer=answer), tools=list(tools), **settings)

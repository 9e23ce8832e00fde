"""Runs code with a real tool context: within a tool, called by a scripted model, in a real run."""

from __future__ import annotations

import json
import re
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.tools.tool_context import ToolContext

from tests.support.run import Run, run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in


async def in_tool(action: Any, **settings: Any) -> Any:
    """What `action(tool_context)` returned or raised, called from a tool of a real run; see `run_agent`."""
    return (await run_in_tool(action, **settings))[0]


async def run_in_tool(action: Any, **settings: Any) -> tuple[Any, Run]:
    """The same, and the run."""
    outcome: list[Any] = []

    async def act(tool_context: ToolContext) -> str:
        """Does what the test wants."""
        try:
            outcome.append((await action(tool_context), None))
        except Exception as error:
            outcome.append((None, error))
        return "done"

    def answer(request: Any) -> Any:
        return "done" if request.contents[-1].parts[0].function_response else call("act")

    run = await run_agent(LlmAgent(name="actor", model=ScriptedModel(answer=answer), tools=[act]), "go", **settings)
    value, error = outcome[0]
    if error is not None:
        raise error
    return value, run


def model_that_calls(*calls: tuple[str, dict[str, Any]]) -> ScriptedModel:
    """A model that makes calls one after the other; arguments may be functions of the results so far."""

    def answer(request: Any) -> Any:
        results = [result.response for result in results_in(request)]
        if len(results) == len(calls):
            return "done"
        name, args = calls[len(results)]
        given = {key: value(results) if callable(value) else value for key, value in args.items()}
        return call(name, given.pop("call_id", None), **given)

    return ScriptedModel(answer=answer)


async def pages_of(tool: Any, read: Any, **settings: Any) -> list[Any]:
    """What an agent gets that calls a tool without arguments, and reads on until there is no next offset."""

    def answer(request: Any) -> Any:
        first, *pages = [result.response for result in results_in(request)] or [None]
        if first is None:
            return call(getattr(tool, "name", None) or tool.__name__)
        if pages and pages[-1]["next_offset"] is None:
            return "done"
        handle = re.search(r"\b2[0-9a-z]{10}\b", json.dumps(first))[0]
        return call("read_payload", handle=handle, offset=pages[-1]["next_offset"] if pages else 0)

    agent = LlmAgent(name="reader", model=ScriptedModel(answer=answer), tools=[tool, read])
    run = await run_agent(agent, "go", **settings)
    return [result.response for result in results_in(run.requests[-1], "read_payload")]

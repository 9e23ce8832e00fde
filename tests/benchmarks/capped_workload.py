"""The same session as it is stored when large results are kept out of it where they are made."""

from __future__ import annotations

from dataclasses import replace

from google.adk.agents import LlmAgent

from adk_context_pack import OffloadPayload
from tests.benchmarks.workload import AGENT, Workload
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, answers


async def capped(work: Workload, *, max_tokens: int = 400, preview_tokens: int = 120) -> Workload:
    """`work`, run through a real agent whose tool results over `max_tokens` become previews with a handle.

    The agent says what it said in `work`, so that both sessions have the same calls and the same answers.
    """
    bodies = [
        part.function_response.response
        for event in work.events
        for part in event.content.parts
        if part.function_response
    ]

    def read_source(source: int) -> dict:
        """Reads a source."""
        return bodies[source]

    said = [event.content.parts[0].model_copy(deep=True) for event in work.events if event.author == AGENT]
    script = [part for part in said if not part.function_response]
    for part in script:
        if part.function_call:
            part.function_call.id = None
    agent = LlmAgent(
        name=AGENT,
        model=ScriptedModel(answer=answers(*script, "All of them.")),
        tools=[read_source],
        after_tool_callback=OffloadPayload(max_tokens=max_tokens, preview_tokens=preview_tokens),
    )
    asked = [event.content.parts[0].text for event in work.events if event.author == "user"]
    run = await run_agent(agent, *asked)
    return replace(work, events=run.session.events[: len(work.events)])

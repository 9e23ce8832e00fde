"""The same session as it is stored when large results are kept out of it where they are made."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest

from adk_context_pack import OffloadPayload, read_payload
from tests.benchmarks.workload import AGENT, Workload
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

_HANDLE = re.compile(r"read_payload\(handle='([^']+)'")


async def capped(
    work: Workload, *, max_tokens: int = 400, preview_tokens: int = 32, read_backs: bool = False
) -> Workload:
    """`work`, run through a real agent whose tool results over `max_tokens` become previews with a handle.

    The agent says what it said in `work`, so that both sessions have the same answers.

    Args:
        work: the session without the pack.
        max_tokens: from where on a result becomes a preview.
        preview_tokens: the size of a preview.
        read_backs: whether the agent looks up, in each result whose preview does not show it, the fact that it needs:
            one more call, one more result and one more request each.
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

    model = ScriptedModel(answer=_answer(work, read_backs=read_backs))
    agent = LlmAgent(
        name=AGENT,
        model=model,
        tools=[read_source, read_payload] if read_backs else [read_source],
        after_tool_callback=OffloadPayload(max_tokens=max_tokens, preview_tokens=preview_tokens),
    )
    run = await run_agent(agent, *[event.content.parts[0].text for event in work.events if event.author == "user"])
    events = run.session.events
    calls = [index for index, event in enumerate(events) if event.content.role == "model"]
    return Workload(events[: calls[-1]], calls, work.facts)


def _answer(work: Workload, *, read_backs: bool) -> Callable[[LlmRequest], Any]:
    said = [event.content.parts[0].model_copy(deep=True) for event in work.events if event.author == AGENT]
    script = [part for part in said if not part.function_response]
    for part in script:
        if part.function_call:
            part.function_call.id = None

    def answer(request: LlmRequest) -> Any:
        newest = request.contents[-1].parts[-1].function_response
        if read_backs and newest and newest.name == "read_source":
            shown = str(newest.response)
            number = len(results_in(request, "read_source")) - 1
            if work.facts[number] not in shown and (handle := _HANDLE.search(shown)):
                return call("read_payload", handle=handle[1], search="FACT-")
        return script.pop(0) if script else "All of them."

    return answer

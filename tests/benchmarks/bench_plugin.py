"""What the plugin costs: its passes alone, and the whole plugin with its reports, on the 74-message history.

    python -m tests.benchmarks.bench_plugin

A ratio of one run, taken over both of the plugin's model callbacks with ADK's own contexts; and what the plugin still
holds after 2,000 and after 10,000 calls in 1,000 sessions.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
import tracemalloc
from collections.abc import Callable, Sequence

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from adk_context_pack import ContextPackPlugin, ModelCall, default_passes
from tests.benchmarks.workload import AGENT, workload
from tests.support.adk_contents import contents_of, request_of
from tests.support.events import agent_called, agent_said, tool_returned, user_said

BUDGET = 200_000
ROUNDS = 40
SESSIONS = 1_000
_SERVICE = InMemorySessionService()


def read_source(source: int) -> dict:
    """Reads a source."""
    return {"source": source}


def context_of(events: Sequence[Event], session_id: str = "s") -> CallbackContext:
    """ADK's own context of the call that comes next in `events`."""
    session = Session(id=session_id, app_name="app", user_id="u", events=list(events))
    message = next(event.content for event in reversed(events) if event.author == "user")
    invocation = InvocationContext(
        invocation_id="run", agent=LlmAgent(name=AGENT), session=session, session_service=_SERVICE, user_content=message
    )
    return CallbackContext(invocation)


def plugin_ratio(rounds: int = ROUNDS) -> tuple[float, float]:
    """Milliseconds of the default passes alone, and of the plugin, for the newest call of the history."""
    events = workload().events
    contents = contents_of(events, AGENT)
    passes = default_passes(max_tokens=BUDGET)
    plugin = ContextPackPlugin(max_tokens=BUDGET)
    context, tool = context_of(events), FunctionTool(read_source)
    # As after the first event of any app; until then tools are copied, too.
    plugin._stored_first = False

    def alone(request: LlmRequest) -> None:
        call = ModelCall.of(context)
        for entry in passes:
            request = entry.apply(request, call)

    def whole(request: LlmRequest) -> None:
        asyncio.run(_one_call(plugin, context, request))

    def nothing(request: LlmRequest) -> None:
        asyncio.run(_no_call())

    times: dict[Callable[[LlmRequest], None], list[float]] = {alone: [], whole: [], nothing: []}
    for _ in range(rounds):
        for work, taken in times.items():
            request = request_of(contents)
            request.append_tools([tool])
            start = time.process_time()
            work(request)
            taken.append((time.process_time() - start) * 1000)
    # Starting a loop is the benchmark's own doing.
    return min(times[alone]), min(times[whole]) - min(times[nothing])


def held_after(calls: int, plugin: ContextPackPlugin, *, start: int = 0) -> int:
    """Bytes held by all that lives, after `calls` further calls in up to 1,000 sessions."""

    async def run() -> None:
        for number in range(start, start + calls):
            session_id = f"s{number % SESSIONS}"
            events = _events(number)
            await _one_call(plugin, context_of(events, session_id), request_of(contents_of(events, AGENT)))

    asyncio.run(run())
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def growth(warm: int = 2_000, more: int = 8_000) -> tuple[int, int]:
    """Bytes held after `warm` calls, and after `more` on top."""
    plugin = ContextPackPlugin(max_tokens=BUDGET)
    tracemalloc.start()
    try:
        first = held_after(warm, plugin)
        return first, held_after(more, plugin, start=warm)
    finally:
        tracemalloc.stop()


def _events(number: int) -> list[Event]:
    return [
        user_said(f"Where is number {number}?"),
        agent_called(AGENT, "look_up", f"c{number}", city=f"city {number}"),
        tool_returned(AGENT, "look_up", {"rows": list(range(number, number + 50))}, f"c{number}"),
        agent_said("other", f"I have seen number {number}."),
    ]


async def _one_call(plugin: ContextPackPlugin, context: CallbackContext, request: LlmRequest) -> None:
    await plugin.before_model_callback(callback_context=context, llm_request=request)
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=1000)
    response = LlmResponse(content=types.Content(role="model", parts=[types.Part(text="ok")]), usage_metadata=usage)
    await plugin.after_model_callback(callback_context=context, llm_response=response)


async def _no_call() -> None:
    return None


def main() -> None:
    """Prints the figures."""
    logging.disable(logging.ERROR)
    alone, whole = plugin_ratio()
    print(f"passes alone {alone:.2f} ms, the plugin with its reports {whole:.2f} ms: {whole / alone:.2f} times")
    first, last = growth()
    print(f"held after 2,000 calls {first / 2**20:.2f} MB, after 10,000 in {SESSIONS:,} sessions {last / 2**20:.2f} MB")


if __name__ == "__main__":
    main()

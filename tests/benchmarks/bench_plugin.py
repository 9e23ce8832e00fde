"""What the plugin costs in a whole turn and in memory.

    python -m tests.benchmarks.bench_plugin [--timed 10] [--baseline none]

A turn is a question, a tool call with its result and an answer, after a history that ADK relays from another agent. Its
figure is the least processor time of several turns, as a ratio to the same app without the pack, since other work on
the machine only ever adds time. The memory is what lives after 2,000 and after 10,000 calls in 1,000 sessions.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Sequence

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.genai import types

from adk_context_pack import ContextPackPlugin
from tests.benchmarks.baseline import Row, parser_of, print_rows
from tests.benchmarks.bench_session_size import APPS, Analyst
from tests.benchmarks.workload import AGENT, session
from tests.support.adk_contents import contents_of, request_of
from tests.support.events import agent_called, agent_said, tool_returned, user_said

BUDGET = 200_000
SESSIONS = 1_000
EVENTS = (400, 4_000)
_SERVICE = InMemorySessionService()


def context_of(events: Sequence[Event], session_id: str = "s") -> CallbackContext:
    """ADK's own context of the call that comes next in `events`."""
    session = Session(id=session_id, app_name="app", user_id="u", events=list(events))
    message = next(event.content for event in reversed(events) if event.author == "user")
    invocation = InvocationContext(
        invocation_id="run", agent=LlmAgent(name=AGENT), session=session, session_service=_SERVICE, user_content=message
    )
    return CallbackContext(invocation)


async def turn_ratio(size: int, timed: int) -> dict[str, float]:
    """Returns the time of a turn after so many relayed events, against the app without the pack."""
    apps = {name: Analyst(name, InMemorySessionService(), 5) for name in APPS[:2]}
    for app in apps.values():
        await app.turn()
        stored = await app.sessions.get_session(app_name="bench", user_id="user", session_id="session")
        for event in session(size):
            await app.sessions.append_event(stored, event)
        await app.turn()
    seconds: dict[str, list[float]] = {name: [] for name in apps}
    for _ in range(timed):
        for name, app in apps.items():
            seconds[name].append(await app.turn())
    without, packed = map(min, seconds.values())
    return {"against without the pack": packed / without}


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


def growth(warm: int, more: int) -> dict[str, float]:
    """Returns the megabytes held after `warm` calls, and after `more` on top."""
    plugin = ContextPackPlugin(max_tokens=BUDGET)
    tracemalloc.start()
    try:
        first, last = held_after(warm, plugin), held_after(more, plugin, start=warm)
        return {f"after {warm:,} calls": first / 2**20, f"after {warm + more:,} calls": last / 2**20}
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


def main() -> None:
    """Prints the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--timed", type=int, default=10)
    asked = parser.parse_args()
    goals = {"against without the pack": 1.03}
    rows = [Row(f"a turn after {size:,} relayed events", turn_ratio, (size, asked.timed), goals) for size in EVENTS]
    rows.append(Row(f"MB in {SESSIONS:,} sessions", growth, (2_000, 8_000)))
    print_rows(rows, asked.baseline)


if __name__ == "__main__":
    main()

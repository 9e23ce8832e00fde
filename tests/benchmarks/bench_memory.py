"""Memory of a process after thousands of sessions; `python -m tests.benchmarks.bench_memory [SESSIONS]`.

Each session has 400 events and goes through the plugin's `before_model_callback` with ADK's own contexts, once, or in
two runs. Both are measured in a process of their own: what the process holds beyond what it held after a few sessions,
by the operating system, beside the bound that the pack states for what it keeps of sessions.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import logging
import subprocess
import sys
from pathlib import Path

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session

from adk_context_pack import ContextPackPlugin
from adk_context_pack.conversation import memos
from tests.benchmarks.bench_passes import session
from tests.support.adk_contents import contents_of, request_of

SESSIONS, WARM, EVENTS = 3_000, 20, 400
AGENT = LlmAgent(name="worker")
SERVICE = InMemorySessionService()


def resident() -> float:
    """Megabytes that the operating system has given to this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


async def one_run(plugin: ContextPackPlugin, name: str, events: list[Event]) -> None:
    """One model call in a run of its own, for which ADK loads the session anew."""
    loaded = copy.deepcopy(events)
    run = InvocationContext(
        invocation_id=name,
        agent=AGENT,
        session=Session(id=name, app_name="app", user_id="user", events=loaded),
        session_service=SERVICE,
        user_content=loaded[-4].content,
    )
    request = request_of(contents_of(loaded, "worker"))
    await plugin.before_model_callback(callback_context=CallbackContext(run), llm_request=request)


async def grown(sessions: int, runs: int) -> float:
    """Megabytes that the process gained."""
    plugin, events = ContextPackPlugin(max_tokens=100_000, max_reports=20), list(session(EVENTS))
    before = 0.0
    for number in range(WARM + sessions):
        if number == WARM:
            before = resident()
        for _ in range(runs):
            await one_run(plugin, f"s{number}", events)
    return resident() - before


def main() -> None:
    """Prints the figures, or one of them in a process of its own."""
    logging.disable(logging.CRITICAL)
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else SESSIONS
    if len(sys.argv) > 2:
        print(f"{asyncio.run(grown(sessions, int(sys.argv[2]))):.0f} MB", flush=True)
        return
    bound = getattr(memos, "MAX_BYTES", 32 * 2**20) / 2**20
    for runs, words in ((1, "once"), (2, "twice")):
        print(f"{sessions:,} sessions of {EVENTS} events, called {words}, bound {bound:.0f} MB: +", end="", flush=True)
        again = [sys.executable, "-m", "tests.benchmarks.bench_memory", str(sessions), str(runs)]
        subprocess.run(again, check=True)  # noqa: S603 - this file


if __name__ == "__main__":
    main()

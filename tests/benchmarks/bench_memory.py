"""Memory of a process after thousands of sessions.

    python -m tests.benchmarks.bench_memory [SESSIONS] [--baseline none]

Each session has 400 events and goes through the plugin's `before_model_callback` with ADK's own contexts, once, or in
two runs. Each figure is what a process of its own holds beyond what it held after a few sessions: by the operating
system, and what of it is in use, without what the allocators keep of freed memory. The goal is the bound that the pack
states for what it keeps of sessions.
"""

from __future__ import annotations

import copy
from importlib import import_module

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session

from adk_context_pack import ContextPackPlugin
from tests.benchmarks.baseline import Row, parser_of, print_rows
from tests.benchmarks.process_memory import Memory, measured
from tests.benchmarks.workload import session
from tests.support.adk_contents import contents_of, request_of

SESSIONS, WARM, EVENTS = 3_000, 20, 400
AGENT = LlmAgent(name="worker")
SERVICE = InMemorySessionService()


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


async def grown(sessions: int, runs: int) -> dict[str, float]:
    """Returns how many megabytes the process gained."""
    plugin, events = ContextPackPlugin(max_tokens=100_000, max_reports=20), list(session(EVENTS))
    before: Memory | None = None
    for number in range(WARM + sessions):
        if number == WARM:
            before = measured()
        for _ in range(runs):
            await one_run(plugin, f"s{number}", events)
    after = measured()
    if before is None or after is None:
        raise RuntimeError("the C library is not glibc 2.33 or newer")
    return {"MB": after.resident - before.resident, "MB in use": after.used - before.used}


def main() -> None:
    """Prints the figures, each of a process of its own."""
    parser = parser_of(__doc__)
    parser.add_argument("sessions", type=int, nargs="?", default=SESSIONS)
    asked = parser.parse_args()
    # Inside, since version 0.1.0 has no such module and measures too.
    memos = import_module("adk_context_pack.conversation.memos")
    bound = dict.fromkeys(("MB", "MB in use"), memos.MAX_BYTES / 2**20)
    rows = (
        Row(
            f"memory after {asked.sessions:,} sessions of {EVENTS} events, called {words}",
            grown,
            (asked.sessions, runs),
            bound,
        )
        for runs, words in ((1, "once"), (2, "twice"))
    )
    print_rows(rows, asked.baseline)


if __name__ == "__main__":
    main()

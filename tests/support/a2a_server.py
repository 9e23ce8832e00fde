"""Serves an agent over A2A from a local port of the test process, and shows what ADK would send to a remote one."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session


@asynccontextmanager
async def served(agent: Any) -> AsyncIterator[str]:
    """The address of the agent's card, while ADK's own server runs."""
    uvicorn = import_module("uvicorn")
    to_a2a = import_module("google.adk.a2a.utils.agent_to_a2a").to_a2a
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        app = to_a2a(agent, host="127.0.0.1", port=port)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        # The port listens at once, so that a request waits until the server takes it.
        listening.listen()
        task = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield f"http://127.0.0.1:{port}/.well-known/agent-card.json"
        finally:
            server.should_exit = True
            await task


def remote_agent(**settings: Any) -> Any:
    """A remote agent called `remote` that is never reached."""
    card = import_module("a2a.types").AgentCard(name="remote")
    return import_module("google.adk.agents.remote_a2a_agent").RemoteA2aAgent("remote", card, **settings)


def parts_sent(agent: Any, events: Sequence[Event], **settings: Any) -> list[Any]:
    """The A2A parts that ADK sends to `agent` after `events`; `settings` are those of the invocation."""
    session = Session(id="session", app_name="app", user_id="user")
    session.events = list(events)
    typed = [event.content for event in events if event.author == "user"]
    context = InvocationContext(
        session_service=InMemorySessionService(),
        invocation_id="run",
        agent=agent,
        session=session,
        user_content=typed[-1] if typed else None,
        **settings,
    )
    parts, _ = agent._build_message_parts_for_request(context)
    return list(parts)


def text_sent(agent: Any, events: Sequence[Event], **settings: Any) -> str:
    """The texts of the same, one part a line."""
    text_of = import_module("google.adk.a2a._compat").part_text
    return "\n".join(map(text_of, parts_sent(agent, events, **settings)))

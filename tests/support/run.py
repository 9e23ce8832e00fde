"""Runs an agent, an app or a Workflow node with ADK's real Runner and real services, and says what happened.

run = await run_agent(agent, "first question", "second question")
run.requests[0].contents, run.events, run.session.state, run.answer
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from google.adk.apps.app import App
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.genai import types

from tests.support.scripted_model import RecordedRequest, recording

APP, USER, SESSION = "app", "user", "session"
SERVICES = ("memory", "sqlite", "database")
"""The session services that `session_service` can make."""


@dataclass(kw_only=True)
class Run:
    """What one or several user turns led to."""

    turns: list[list[Event]] = field(default_factory=list)
    requests: list[RecordedRequest]
    session: Session
    session_service: BaseSessionService
    artifact_service: Any

    @property
    def events(self) -> list[Event]:
        """The events that the runner gave out, of all turns."""
        return [event for turn in self.turns for event in turn]

    @property
    def answer(self) -> str:
        """The last text that an agent said."""
        return next((text for event in reversed(self.events) if (text := said(event))), "")

    def requests_of(self, agent: str) -> list[RecordedRequest]:
        """The requests that one agent sent."""
        return [request for request in self.requests if request.agent == agent]


async def run_agent(  # noqa: PLR0913 - each is a seam of ADK's own runner
    target: Any,
    *messages: str | types.Content | types.Part | Sequence[types.Part],
    plugins: Sequence[Any] = (),
    state: dict[str, Any] | None = None,
    session_service: BaseSessionService | None = None,
    artifact_service: Any = ...,
    app_name: str = APP,
    user_id: str = USER,
    session_id: str = SESSION,
    run_config: Any = None,
    **app_settings: Any,
) -> Run:
    """Sends `messages` as user turns, one after the other, in one session.

    Args:
        target: a BaseAgent, a node of a 2.x Workflow, or an App (then `plugins` and `app_settings` are the app's own).
        messages: texts, contents or parts (a function response, for a resumed long-running tool).
        plugins: plugins of the app.
        state: state of the session when it is created; an existing session is gone on with.
        session_service: by default in memory.
        artifact_service: by default in memory; None for an app that has none.
        app_name: the app's name, where `target` is no App.
        user_id: the user.
        session_id: the session.
        run_config: ADK's RunConfig.
        app_settings: further settings of the App, such as `events_compaction_config`.
    """
    sessions = session_service or InMemorySessionService()
    artifacts = InMemoryArtifactService() if artifact_service is ... else artifact_service
    app = target if isinstance(target, App) else make_app(target, app_name, plugins, app_settings)
    key = {"app_name": app.name, "user_id": user_id, "session_id": session_id}
    if await sessions.get_session(**key) is None:
        await sessions.create_session(**key, state=state)
    runner = Runner(
        app=app, session_service=sessions, artifact_service=artifacts, memory_service=InMemoryMemoryService()
    )
    turns: list[list[Event]] = []
    with recording() as requests:
        for message in messages:
            settings = {"run_config": run_config} if run_config is not None else {}
            stream = runner.run_async(
                user_id=user_id, session_id=session_id, new_message=content_of(message), **settings
            )
            turns.append([event async for event in stream])
    session = await sessions.get_session(**key)
    return Run(turns=turns, requests=requests, session=session, session_service=sessions, artifact_service=artifacts)


def make_app(target: Any, name: str = APP, plugins: Sequence[Any] = (), settings: dict[str, Any] | None = None) -> App:
    """An App around an agent or a node."""
    return App(name=name, root_agent=target, plugins=list(plugins), **(settings or {}))


def content_of(message: str | types.Content | types.Part | Sequence[types.Part]) -> types.Content:
    """A user message in any form as the content that the runner takes."""
    if isinstance(message, types.Content):
        return message
    if isinstance(message, str):
        message = types.Part(text=message)
    parts = [message] if isinstance(message, types.Part) else list(message)
    return types.Content(role="user", parts=parts)


def said(event: Event) -> str:
    """What an event says in words, thoughts left out."""
    parts = (event.content.parts if event.content else None) or []
    return "".join(part.text for part in parts if part.text and not part.thought)


@asynccontextmanager
async def session_service(kind: str, folder: Path) -> AsyncIterator[BaseSessionService]:
    """A real session service of one of `SERVICES`, closed at the end.

    A second one over the same `folder` sees the same data. Skips the test where the installed release has no such
    service or its driver is not installed.
    """
    async with closed_at_the_end(_service(kind, folder)) as service:
        yield service


@asynccontextmanager
async def closed_at_the_end(service: BaseSessionService) -> AsyncIterator[BaseSessionService]:
    """Closes what needs to be closed on this release, such as connections to a database."""
    try:
        yield service
    finally:
        close = getattr(service, "close", None)
        if close is not None and inspect.isawaitable(closed := close()):
            await closed


def _service(kind: str, folder: Path) -> BaseSessionService:
    if kind == "memory":
        return InMemorySessionService()
    if kind == "sqlite":
        module = pytest.importorskip(
            "google.adk.sessions.sqlite_session_service", reason="this ADK has no SQLite service"
        )
        return module.SqliteSessionService(db_path=str(folder / "sessions.sqlite"))
    if kind == "database":
        for driver in ("sqlalchemy", "aiosqlite", "greenlet"):
            if find_spec(driver) is None:
                pytest.skip(f"DatabaseSessionService needs {driver}, which is not installed")
        module = import_module("google.adk.sessions.database_session_service")
        return module.DatabaseSessionService(db_url=f"sqlite+aiosqlite:///{folder / 'sessions.db'}")
    raise ValueError(f"{kind!r} is none of {SERVICES}")

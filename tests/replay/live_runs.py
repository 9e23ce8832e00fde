"""Compares what live runs of an app send, without the pack and with it, to a replay of the run without it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.adk.apps.app import App
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session

from adk_context_pack import ContextPackPlugin
from adk_context_pack._adk.requests import AppRequests
from adk_context_pack.replay.recordings import RecordedSession, open_recording
from adk_context_pack.replay.replayer import Replayer
from tests.replay.live_apps import REWIND, LiveApp
from tests.support.histories import o200k
from tests.support.run import content_of
from tests.support.scripted_model import RecordedRequest, ScriptedModel, recording

KEY = {"app_name": "app", "user_id": "user", "session_id": "session"}
PACK_TOOLS = {"read_back"}
_ENVELOPE, _MEDIA = 4, 258


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What one agent sent.

    Attributes:
        live: tokens without the pack and with it, as the models received them.
        replayed: the same as the replay of the run without the pack tells them.
    """

    live: tuple[int, int]
    replayed: tuple[int, int]

    @property
    def difference(self) -> float:
        """The larger one of the two differences, as a share of what was sent."""
        return max(
            abs(there - here) / here if here else float(there > 0)
            for here, there in zip(self.live, self.replayed, strict=True)
        )


async def run_live(
    app: LiveApp, *, plugins: Iterable[Any] = (), usage: Any = None, artifacts: Any = None
) -> tuple[list[RecordedRequest], Session]:
    """Runs an app, and returns what its models received and the session."""
    sessions = InMemorySessionService()
    target = App(name="app", root_agent=app.make(), plugins=list(plugins), **app.settings())
    runner = Runner(
        app=target,
        session_service=sessions,
        artifact_service=artifacts or InMemoryArtifactService(),
        memory_service=InMemoryMemoryService(),
    )
    await sessions.create_session(**KEY, state=dict(app.state))
    with recording() as requests, ScriptedModel.counting(usage):
        for message in app.messages:
            events = (await sessions.get_session(**KEY)).events
            if message is REWIND:
                newest = events[-1].invocation_id
                await runner.rewind_async(user_id="user", session_id="session", rewind_before_invocation_id=newest)
                continue
            said = content_of(message(events) if callable(message) else message)
            async for _ in runner.run_async(user_id="user", session_id="session", new_message=said):
                pass
    return [request for request in requests if request.agent], await sessions.get_session(**KEY)


def usage_of(request: LlmRequest) -> int:
    """Counts a request as the provider behind the scripted models does."""
    return weigh(RecordedRequest.of(request), whole=True)


def weigh(request: RecordedRequest, *, whole: bool) -> int:
    """Counts a request with o200k: its contents, and instruction and declarations too where it is `whole`."""
    count = o200k()
    tokens = sum(_ENVELOPE + sum(map(_part, content.parts or ())) for content in request.contents)
    if whole:
        tokens += count(request.system)
        return tokens + sum(count(tool.model_dump_json(exclude_none=True)) for tool in request.config.tools or ())
    declared = [f for tool in request.config.tools or () for f in tool.function_declarations or ()]
    return tokens + sum(count(f.model_dump_json(exclude_none=True)) for f in declared if f.name in PACK_TOOLS)


def _part(part: Any) -> int:
    count = o200k()
    if part.text is not None:
        return count(part.text)
    for used in (part.function_call, part.function_response):
        if used is not None:
            payload = used.args if used is part.function_call else used.response
            return count(used.name or "") + (
                count(json.dumps(payload, ensure_ascii=False, separators=(",", ":"))) if payload else 1
            )
    return _MEDIA if part.inline_data or part.file_data else 0


def written(session: Session, folder: Path) -> RecordedSession:
    """Returns a session as a recording that was written to a file and read again."""
    path = folder / "session.json"
    path.write_text(session.model_dump_json(by_alias=True, exclude_none=True), encoding="utf-8")
    (found,) = open_recording(str(path))
    assert isinstance(found, RecordedSession), found
    return found


async def compare(app: LiveApp, folder: Path, *, given: bool, counted: bool = False) -> Mapping[str, Compared]:
    """Returns for each agent what it sent and what a replay tells.

    Args:
        app: the app.
        folder: where the recording is written.
        given: whether the replay is given the app, and tells whole requests. Otherwise it tells contents.
        counted: whether the recording holds the provider's figures. A replay tells whole requests then.
    """
    alone, session = await run_live(app, usage=usage_of if counted else None)
    given_or_counted = given or counted
    packed, _ = await run_live(app, plugins=[ContextPackPlugin(counter=o200k(), **app.plugin)])
    replayed = replay(app, written(session, folder), given=given)
    live: dict[str, list[int]] = {}
    for side, requests in enumerate((alone, packed)):
        for request in requests:
            live.setdefault(request.agent, [0, 0])[side] += weigh(request, whole=given_or_counted)
    return {
        name: Compared(live=tuple(live.get(name, (0, 0))), replayed=tuple(replayed.get(name, (0, 0))))
        for name in sorted((live.keys() | replayed.keys()) - app.unrecorded)
    }


def replay(app: LiveApp, session: RecordedSession, *, given: bool) -> dict[str, list[int]]:
    """Returns for each agent the tokens without the pack and with it, as a replay tells them."""
    found: dict[str, list[int]] = {}
    settings_for = ContextPackPlugin(**app.plugin).settings_for
    given_app = AppRequests(app.make()) if given else None
    replayer = Replayer(settings_for, counter=o200k(), app=given_app)
    for call in replayer.replay(session):
        if isinstance(call, Exception):
            continue
        sums = found.setdefault(call.report.agent, [0, 0])
        sums[0] += call.report.tokens_before
        sums[1] += call.report.tokens_after
    return found

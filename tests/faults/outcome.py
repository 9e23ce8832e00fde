"""How a run ended, in a form in which two runs can be compared: one with the pack, and one without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session

from tests.support.databases import canonical
from tests.support.run import APP, SESSION, USER, run_agent
from tests.support.scripted_model import RecordedRequest, recording


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What a run left behind.

    Attributes:
        error: the exception that ended it, as type and text; "" where none did.
        session: what is stored, without ids, times and reports.
        requests: what the models received.
    """

    error: str
    session: str
    requests: list[RecordedRequest]

    def same_as(self, other: Ending) -> bool:
        """Whether both ended alike and left the same session."""
        return (self.error, self.session) == (other.error, other.session)


async def ending(agent: Any, *messages: str, sessions: Any = None, artifacts: Any = None, **settings: Any) -> Ending:
    """Runs `agent` to its end, whatever it is; see `run_agent`. Of several messages, all but the last may fail."""
    sessions = sessions or InMemorySessionService()
    services = {"session_service": sessions, "artifact_service": artifacts or InMemoryArtifactService()}
    error = ""
    with recording() as requests:
        for message in messages or ("go",):
            try:
                await run_agent(agent, message, **services, **settings)
                error = ""
            except Exception as exception:
                error = f"{type(exception).__name__}: {exception}"
    session = await sessions.get_session(app_name=APP, user_id=USER, session_id=SESSION)
    return Ending(error=error, session=_told(session), requests=requests)


def _told(session: Session) -> str:
    try:
        return canonical(session)
    except (ValueError, RecursionError):
        # In memory a session holds what has no JSON; then who said what kind of thing is compared.
        return str([(event.author, _kinds(event)) for event in session.events])


def _kinds(event: Event) -> list[list[str]]:
    return [sorted(part.model_fields_set) for part in (event.content.parts if event.content else None) or ()]

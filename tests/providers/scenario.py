"""What a conversation for real clients is made of; its models answer from what came over the wire.

Each agent says in its instruction which role it plays; the one model behind the server answers by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from tests.support.run import Run, run_agent
from tests.support.scripted_model import instruction_text, text_of

Answer = Callable[[LlmRequest], Any]
Make = Callable[..., LlmAgent]
Message = str | Callable[[list[Event]], types.Part]

PROSE = "It is a port with a long quay, and the ferry leaves at nine, except on Sundays. "


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A conversation.

    Attributes:
        build: from what makes an agent of a role to the agent or node that the app runs.
        roles: what the model answers in each role.
        messages: what the user says, or sends in reply to the events so far.
        ends_with: the answer at the end.
        declared: about the tokens of what ADK and the plugin declare in each request, where that alone would fill
            a small budget: an agent that may transfer is told so at length, and is offered all read-back tools.
    """

    build: Callable[[Make], Any]
    roles: dict[str, Answer] = field(default_factory=dict)
    messages: Sequence[Message]
    ends_with: str
    declared: int = 0

    def brain(self, request: LlmRequest) -> Any:
        """The model's answer in the role that the request's instruction names."""
        role = re.search(r"ROLE: (\w+)", instruction_text(request.config.system_instruction))
        return self.roles[role[1]](request) if role else "I was told no role."


async def converse(scenario: Scenario, target: Any, plugins: Sequence[Any] = (), **settings: Any) -> Run:
    """Has the whole conversation in one session; `settings` are those of `run_agent`."""
    services: dict[str, Any] = {
        "session_service": InMemorySessionService(), "artifact_service": InMemoryArtifactService()
    }  # fmt: skip
    events: list[Event] = []
    run: Run | None = None
    for message in scenario.messages:
        said = message if isinstance(message, str) else message(events)
        run = await run_agent(target, said, plugins=plugins, **services, **settings)
        events += run.events
    assert run is not None
    return run


def maker(model: BaseLlm, callbacks: Sequence[Any] = ()) -> Make:
    """What makes agents with a model and `before_model` callbacks; each says in its instruction which role it plays."""

    def make(role: str, **settings: Any) -> LlmAgent:
        return LlmAgent(
            name=role,
            model=model,
            instruction=f"ROLE: {role}",
            description=f"Plays {role}.",
            before_model_callback=list(callbacks),
            **settings,
        )

    return make


def look_up(city: str) -> str:
    """Looks a city up."""
    return f"{city}: " + PROSE * 8


def list_ships(city: str) -> list:
    """Lists the ships in a port."""
    return [{"ship": f"{city} {n}", "tons": 1000 + n, "cargo": "grain and timber"} for n in range(40)]


def fresh(request: LlmRequest) -> bool:
    """Whether somebody spoke last, and no tool."""
    return not any(part.function_response for part in request.contents[-1].parts or ())


def numbers(pattern: str, request: LlmRequest) -> list[int]:
    return [int(found) for found in re.findall(pattern, text_of(request))]

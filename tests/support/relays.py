"""Sessions of several agents in few words, and the requests that the installed ADK builds from them.

    researcher = events("researcher", call("search", q="oslo"), result("search", {"rows": 3}), "Oslo is in Norway.")
    request, model_call = request_for("writer", [user("Where is Oslo?"), *researcher])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import ModelCall
from tests.support.adk_contents import build_contents
from tests.support.render_relay import FENCED, PLAIN, render_relay

FORMATS = (PLAIN, FENCED)


def user(*parts: str | types.Part) -> Event:
    """An event that the user wrote."""
    return _event("user", [_part(part) for part in parts], role="user")


def said(author: str, *parts: str | types.Part) -> Event:
    """One event of an agent with all of `parts`."""
    built = [_part(part) for part in parts]
    role = "user" if any(part.function_response for part in built) else "model"
    return _event(author, built, role=role)


def events(author: str, *parts: str | types.Part) -> list[Event]:
    """Several events of an agent, one for each part."""
    return [said(author, part) for part in parts]


def call(name: str, call_id: str | None = None, /, **args: Any) -> types.Part:
    """A function call."""
    return types.Part(function_call=types.FunctionCall(name=name, args=args, id=call_id or f"id-{name}"))


def result(name: str, response: Any, call_id: str | None = None, /) -> types.Part:
    """A function response."""
    answer = types.FunctionResponse.model_construct(name=name, response=response, id=call_id or f"id-{name}")
    return types.Part.model_construct(function_response=answer)


def request_for(agent: str, session: Sequence[Event]) -> tuple[LlmRequest, ModelCall]:
    """The request that the installed ADK builds for `agent`, and the model call behind it."""
    return LlmRequest(contents=build_contents(session, agent)), call_for(agent, session)


def request_in(form: str, agent: str, session: Sequence[Event]) -> tuple[LlmRequest, ModelCall]:
    """A request in one relay format, whichever the installed ADK uses; own and user's events stand as they are."""
    contents = []
    for event in session:
        if event.author in (agent, "user"):
            contents.append(event.content.model_copy(deep=True))
        elif block := render_relay(event, form):
            contents.append(block)
    return LlmRequest(contents=contents), call_for(agent, session)


def call_for(agent: str, session: Sequence[Event]) -> ModelCall:
    """The model call of an agent in a session."""
    messages = [event.content for event in session if event.author == "user"]
    return ModelCall(agent_name=agent, events=session, user_content=messages[-1] if messages else None)


def texts(request: LlmRequest) -> list[list[str | None]]:
    """The texts of a request, content by content."""
    return [[part.text for part in content.parts or ()] for content in request.contents]


def everything(request: LlmRequest) -> str:
    """All texts of a request."""
    return "\n".join(text or "" for content in texts(request) for text in content)


def _part(part: str | types.Part) -> types.Part:
    return types.Part(text=part) if isinstance(part, str) else part


def _event(author: str, parts: list[types.Part], *, role: str) -> Event:
    return Event(author=author, invocation_id="run", content=types.Content(role=role, parts=parts))

"""A request as a pass receives it, from a session written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest

from adk_context_pack import ContextPass, ModelCall
from tests.support.adk_contents import contents_of, request_of


def request_for(agent: str, session: Sequence[Event], **settings: Any) -> LlmRequest:
    """The request that ADK builds for `agent` from `session`; settings are those of `contents_of`."""
    return request_of(contents_of(session, agent, **settings))


def call_for(agent: str, session: Sequence[Event]) -> ModelCall:
    """The model call of an agent in a session, for the last message that the user wrote."""
    messages = [event.content for event in session if event.author == "user"]
    return ModelCall(agent_name=agent, events=session, user_content=messages[-1] if messages else None)


def applied(entry: ContextPass, agent: str, session: Sequence[Event], **settings: Any) -> LlmRequest:
    """What one pass makes of the request that ADK builds for `agent`."""
    return entry.apply(request_for(agent, session, **settings), call_for(agent, session))


def texts(request: LlmRequest) -> list[list[str | None]]:
    """The texts of a request, content by content."""
    return [[part.text for part in content.parts or ()] for content in request.contents]


def everything(request: LlmRequest) -> str:
    """All texts of a request."""
    return "\n".join(text or "" for content in texts(request) for text in content)

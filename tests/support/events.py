"""Events in one line each, for sessions written by hand."""

from __future__ import annotations

from typing import Any

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.genai import types


def user_said(*texts: str, **settings: Any) -> Event:
    """The user speaks."""
    return event("user", *(types.Part(text=text) for text in texts), role="user", **settings)


def agent_said(author: str, *texts: str, **settings: Any) -> Event:
    """An agent speaks."""
    return event(author, *(types.Part(text=text) for text in texts), **settings)


def agent_called(author: str, name: str, call_id: str | None = None, /, **args: Any) -> Event:
    """An agent calls one tool."""
    return event(author, call_part(name, args, call_id))


def tool_returned(author: str, name: str, response: Any, call_id: str | None = None, **settings: Any) -> Event:
    """A tool of an agent returns."""
    return event(author, result_part(name, response, call_id), role="user", **settings)


def summary(text: str, start: float, end: float, *, timestamp: float) -> Event:
    """ADK's compaction of the events from `start` to `end`."""
    content = types.Content(role="model", parts=[types.Part(text=text)])
    compaction = EventCompaction(start_timestamp=start, end_timestamp=end, compacted_content=content)
    return Event(
        author="user", invocation_id="compaction", timestamp=timestamp, actions=EventActions(compaction=compaction)
    )


def event(author: str, *parts: types.Part, role: str | None = "model", **settings: Any) -> Event:
    """An event of `parts`."""
    return Event(author=author, content=types.Content(role=role, parts=list(parts)), **settings)


def scouted(*more: Event) -> list[Event]:
    """A session in which a scout has looked something up."""
    return [
        user_said("Where is Oslo?"),
        agent_called("scout", "get-issue", "c1", query="oslo", limit=3),
        tool_returned("scout", "get-issue", {"status": "ok", "rows": [{"id": 1, "name": "secret"}] * 50}, "c1"),
        agent_said("scout", "Oslo is in Norway."),
        *more,
    ]


def call_part(name: str | None, args: dict[str, Any] | None, call_id: str | None = None) -> types.Part:
    """A call of one tool."""
    return types.Part(function_call=types.FunctionCall(name=name, args=args, id=call_id))


def result_part(name: str | None, response: Any, call_id: str | None = None) -> types.Part:
    """The result of one tool; what is no dict is wrapped as ADK wraps it."""
    response = response if isinstance(response, dict) else {"result": response}
    return types.Part(function_response=types.FunctionResponse(name=name, response=response, id=call_id))

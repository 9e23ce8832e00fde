"""Finds the agent that called the running one, and what it saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from google.adk.agents.callback_context import CallbackContext
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.genai import types

from adk_context_pack._adk.releases import invocation_of, isolation_scope_of, scope_of_event
from adk_context_pack._adk.requests import call_on_branch, contents_of


class Caller(NamedTuple):
    """Holds what an agent saw when it called another one."""

    events: Sequence[Event]
    state: Mapping[str, Any]
    branch: str | None
    isolation_scope: str | None

    def contents(self, agent_name: str) -> list[types.Content]:
        """Returns what it saw, as ADK relays it to the agent that it called."""
        return contents_of(self.events, agent_name, branch=self.branch, isolation_scope=self.isolation_scope)


def caller_of(context: CallbackContext | None) -> Caller | None:
    """Returns the caller of an `AgentTool` child or a delegate (2.x), whose requests hold nothing of the caller.

    An agent that was reached by transfer shares the session of its caller, and so has none here. The events end before
    the call, so that what is returned does not change while the called agent runs.
    """
    invocation = invocation_of(context)
    agent = getattr(invocation, "agent", None)
    # ADK's ForwardingArtifactService leads from a child to the call that started it.
    parent = getattr(getattr(invocation, "artifact_service", None), "tool_context", None)
    if parent is not None and getattr(agent, "parent_agent", None) is None:
        return _caller(invocation_of(parent).session, parent.function_call_id)
    if scope := isolation_scope_of(invocation):
        return _caller(invocation.session, scope)
    branch, name = getattr(invocation, "branch", None), getattr(agent, "name", "")
    call = call_on_branch(branch, name, invocation.session.events) if branch else None
    return None if call is None else _caller(invocation.session, call.id)


def _caller(session: Session, call_id: str | None) -> Caller | None:
    for place, event in enumerate(session.events):
        if call_id and any(call.id == call_id for call in event.get_function_calls()):
            return Caller(session.events[:place], session.state, event.branch, scope_of_event(event))
    return None

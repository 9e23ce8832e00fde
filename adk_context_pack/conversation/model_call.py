"""Describes the model call that a pass serves."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.genai import types

from adk_context_pack.conversation import memos

OFFERED = "offered"
"""The key in a call's memo of the names of tools that its agent is given where its request shows what they open."""


@dataclass(frozen=True, kw_only=True, slots=True, weakref_slot=True)
class ModelCall:
    """Describes one model call as ADK is about to make it: the agent, the session, and the user's message.

    It holds the session's own objects, not copies. Read them, and never write into them.

    Attributes:
        agent_name: the agent whose request this is.
        invocation_id: ADK's id of the run that the call belongs to.
        session_id: the session's id.
        user_content: the message that started the invocation, where there is one.
        events: the session's events, oldest first.
        state: the session's state at this call (`app:`, `user:` and `temp:` keys included).
        context: ADK's callback context, for what the fields above do not cover. None in a test of a pure pass.
        memo: what the passes of this call share, by name.
        run_memo: what all calls of a run share. It lives as long as ADK's session object does, and may hold payloads.
        session_memo: what all calls of a session share while the process remembers the session. It holds hashes,
            counts and identifiers only, and each entry states its weight in `bytes`.
        notes: short sentences of the running pass for the report. See `note`.
        is_shadow: whether the request is only made for the report and never sent, so that a pass must not write to
            state or to any service.
    """

    agent_name: str = ""
    invocation_id: str = ""
    session_id: str = ""
    user_content: types.Content | None = None
    events: Sequence[Event] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    context: CallbackContext | None = None
    memo: dict[str, Any] = field(default_factory=dict)
    run_memo: dict[Hashable, Any] = field(default_factory=dict)
    session_memo: dict[Hashable, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    is_shadow: bool = False

    @classmethod
    def of(cls, context: CallbackContext) -> ModelCall:
        """Returns the call behind an ADK callback context, without copying an event or a value of the state.

        Its memos are empty. Use `remembering` in a callback that runs before each model call.
        """
        # The raw session, since `context.state[...]` makes a deep copy of a value at each read.
        session = context.session
        return cls(
            agent_name=context.agent_name,
            invocation_id=context.invocation_id,
            session_id=session.id,
            user_content=context.user_content,
            # Of the moment: passes over a long history run in a thread while others append to the session.
            events=list(session.events),
            state=dict(session.state),
            context=context,
        )

    @classmethod
    def remembering(cls, context: CallbackContext) -> AbstractContextManager[ModelCall]:
        """Returns a context with the call behind an ADK callback context, and what earlier calls computed.

        No other call has the memos of this run and session until the context ends. Overlapping runs of one session
        therefore do not disturb each other.
        """
        return _remembering(cls.of(context), context.session)

    def note(self, text: str) -> None:
        """Adds one short sentence about this call to the report. Never pass a payload."""
        self.notes.append(text)


@contextmanager
def _remembering(call: ModelCall, session: Session) -> Iterator[ModelCall]:
    with memos.RUNS.lent(session) as run_memo, memos.SESSIONS.lent(session) as session_memo:
        yield replace(call, run_memo=run_memo, session_memo=session_memo)

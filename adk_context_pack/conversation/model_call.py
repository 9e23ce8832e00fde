"""What a pass may know of the model call it serves."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.events.event import Event
from google.genai import types

from adk_context_pack.conversation import memos


@dataclass(frozen=True, kw_only=True, slots=True, weakref_slot=True)
class ModelCall:
    """One model call as ADK is about to make it: who calls, in which session, for which message.

    It holds the session's own objects, not copies: read them, never write into them.

    Attributes:
        agent_name: the agent whose request this is.
        invocation_id: ADK's id of the run that the call belongs to.
        session_id: the session's id.
        user_content: the message that started the invocation, where there is one.
        events: the session's events, oldest first.
        state: the session's state as it stands at this very call (`app:`, `user:` and `temp:` keys included).
        context: ADK's callback context, for what the fields above do not cover; None in a test of a pure pass.
        memo: what passes of one call share so as not to find it out twice; a pass names its entry.
        run_memo: the same for all calls of a run: it lives as long as ADK's session object does.
        session_memo: the same for all calls in a session, as long as the process remembers them; each entry says in
            `bytes` what it weighs.
        notes: what the running pass wants in the report, one short sentence each; see `note`.
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

    @classmethod
    def of(cls, context: CallbackContext) -> ModelCall:
        """The call behind an ADK callback context, without copying anything."""
        # The raw session, since `context.state[...]` deep-copies a value at each read (429 ms for 1.75 MB).
        session = context.session
        return cls(
            agent_name=context.agent_name,
            invocation_id=context.invocation_id,
            session_id=session.id,
            user_content=context.user_content,
            events=session.events,
            state=session.state,
            context=context,
            run_memo=memos.RUNS.of(session),
            session_memo=memos.SESSIONS.of(session),
        )

    def note(self, text: str) -> None:
        """Puts one short sentence about this call into the report. Never a payload."""
        self.notes.append(text)

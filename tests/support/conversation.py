"""A session and the agent whose turn it is, for requests that ADK's own builder makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.genai import types

from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.testing.conversation import current_message
from tests.support.adk_contents import contents_of, request_of

_SERVICE = InMemorySessionService()


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """A session and the agent whose turn it is.

    Attributes:
        agent: whose request is built.
        events: the session's events, oldest first.
        settings: what `contents_of` is called with (ids, include, relay format and so on).
        instruction: the agent's instruction, or its static one where there is a dynamic one as well.
        dynamic: the text of ADK's dynamic instruction, where the agent has a static one.
        state: the session's state.
    """

    agent: str
    events: tuple[Event, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    instruction: str = "You are helpful."
    dynamic: str | None = None
    state: dict[str, Any] = field(default_factory=dict)

    def upto(self, count: int) -> Conversation:
        """The same conversation when only its first `count` events had happened."""
        return replace(self, events=self.events[:count])

    def contents(self) -> list[types.Content]:
        """ADK's contents for this moment; raises ValueError where ADK does."""
        return contents_of(self.events, self.agent, **self.settings)

    def request(self) -> LlmRequest:
        """ADK's request for this moment; raises ValueError where ADK does."""
        return request_of(self.contents(), instruction=self.instruction, dynamic=self.dynamic)

    def call(self) -> ModelCall:
        """The model call of this moment, as passes are told of it, with ADK's own context."""
        session = Session(id="session", app_name="app", user_id="user", state=self.state, events=list(self.events))
        static = {"instruction": self.dynamic, "static_instruction": self.instruction} if self.dynamic else {}
        invocation = InvocationContext(
            invocation_id=self.events[-1].invocation_id if self.events else "",
            agent=LlmAgent(name=self.agent, **(static or {"instruction": self.instruction})),
            session=session,
            session_service=_SERVICE,
            branch=self.settings.get("branch"),
            user_content=self.user_content(),
        )
        return ModelCall.of(CallbackContext(invocation))

    def built(self) -> tuple[LlmRequest, ModelCall]:
        """Request and call of this moment; raises ValueError where ADK does."""
        return self.request(), self.call()

    def moments(self) -> Iterator[Conversation]:
        """The conversation after its first event, its second, and so on, where a model may be called."""
        for count in range(1, len(self.events) + 1):
            now = self.upto(count)
            if now.events[-1].actions.rewind_before_invocation_id:
                continue
            with suppress(ValueError):
                now.contents()
                yield now

    def user_content(self) -> types.Content | None:
        """The user's current message: the newest that is no result posted back."""
        return current_message(self.events)

    def buildable(self) -> Conversation:
        """This conversation without the last events that the installed ADK refuses to build a request from."""
        for count in range(len(self.events), 0, -1):
            try:
                self.upto(count).contents()
            except ValueError:
                continue
            return self.upto(count)
        return self.upto(0)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: FBT001 - the protocol's signature
        """Hypothesis shows a failing conversation in lines of its own, not as the constructor of a dataclass."""
        printer.text(repr(self))

    def __repr__(self) -> str:
        lines = [f"agent={self.agent!r} settings={self.settings} dynamic={self.dynamic!r}"]
        lines += [f"  {index}: {_brief(entry)}" for index, entry in enumerate(self.events)]
        return "\n".join(lines)


def _brief(entry: Event) -> str:
    if entry.actions.compaction:
        return f"summary of {entry.actions.compaction.start_timestamp}..{entry.actions.compaction.end_timestamp}"
    if before := entry.actions.rewind_before_invocation_id:
        return f"rewound to before {before}"
    parts = None if entry.content is None else entry.content.parts
    shown = None if parts is None else [part.model_dump(exclude_none=True) for part in parts]
    return f"{entry.author!r} {entry.content and entry.content.role} {shown!r:.500}"

"""A session at the moment at which one of its agents is about to call its model."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.genai import types

from adk_context_pack._adk.requests import contents_of
from adk_context_pack.conversation.model_call import ModelCall


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """The events of a session, and the agent whose request ADK builds from them.

    Args:
        agent: the name of the agent that calls its model.
        events: the session's events, oldest first, such as `session.events` of a recorded session.
        state: the session's state.
        instruction: the agent's instruction, as the request has it.
        keep_ids: whether ADK's own call ids stay, as for models that pair calls and results by id. By default they are
            taken out, as for Gemini. Releases without the setting always take them out.
        branch: the agent's branch, within a `ParallelAgent`.
        session_id: the session's id. What is known of a session's events is kept under it.
    """

    agent: str
    events: Sequence[Event]
    state: Mapping[str, Any] = field(default_factory=dict)
    instruction: str = "You are helpful."
    keep_ids: bool = False
    branch: str | None = None
    session_id: str = "session"

    def upto(self, count: int) -> Self:
        """Returns the conversation as it was after its first `count` events."""
        return replace(self, events=self.events[:count])

    def contents(self) -> list[types.Content]:
        """Returns the contents that ADK builds at this moment.

        Raises:
            ValueError: ADK refuses these events. Older releases do so if a result has no call.
        """
        return contents_of(self.events, self.agent, branch=self.branch, keep_ids=self.keep_ids)

    def request(self) -> LlmRequest:
        """Returns the request that ADK builds at this moment, or raises as `contents` does."""
        config = types.GenerateContentConfig(system_instruction=self.instruction)
        request = LlmRequest(model="a-model", config=config)
        # Set after construction, since pydantic would copy the list.
        request.contents = self.contents()
        return request

    def agent_settings(self) -> dict[str, Any]:
        """Returns what the agent is built with, beside its name."""
        return {"instruction": self.instruction}

    def call(self) -> ModelCall:
        """Returns the model call of this moment, with a context of ADK's own."""
        state, events = dict(self.state), list(self.events)
        session = Session(id=self.session_id, app_name="app", user_id="user", state=state, events=events)
        invocation = InvocationContext(
            invocation_id=self.events[-1].invocation_id if self.events else "",
            agent=LlmAgent(name=self.agent, **self.agent_settings()),
            session=session,
            session_service=InMemorySessionService(),
            branch=self.branch,
            user_content=self.user_content(),
        )
        return ModelCall.of(CallbackContext(invocation))

    def built(self) -> tuple[LlmRequest, ModelCall]:
        """Returns the request and the call of this moment."""
        return self.request(), self.call()

    def moments(self) -> Iterator[Self]:
        """Yields the conversation after its first event, its second, and so on, where a model may be called."""
        return self._callable_at(range(1, len(self.events) + 1))

    def backwards(self) -> Iterator[Self]:
        """Yields the same moments, the last one first."""
        return self._callable_at(range(len(self.events), 0, -1))

    def may_call(self) -> bool:
        """Returns whether ADK may call the model now: not before the results of the last calls."""
        return not self.events[-1].get_function_calls()

    def _callable_at(self, counts: Iterable[int]) -> Iterator[Self]:
        for now in map(self.upto, counts):
            if now.may_call():
                with suppress(ValueError):
                    now.contents()
                    yield now

    def user_content(self) -> types.Content | None:
        """Returns the user's current message: the newest one that is not a tool result."""
        for candidate in reversed(self.events):
            if candidate.author == "user" and candidate.content and not candidate.get_function_responses():
                return candidate.content
        return None

    def __repr__(self) -> str:
        said = [(event.author, (event.content.parts if event.content else None) or ()) for event in self.events]
        dumped = [(author, [part.model_dump(exclude_none=True) for part in parts]) for author, parts in said]
        lines = (f"  {index}: {author!r}: {parts!r:.300}" for index, (author, parts) in enumerate(dumped))
        return "\n".join([f"Conversation for agent {self.agent!r}, keep_ids={self.keep_ids}:", *lines])


@dataclass(frozen=True)
class OneRequest:
    """One request and its call, in the place of a `Conversation` that grows.

    Each check gets its own copy of the request, so that a pass that writes into one does not spoil another.
    """

    given: LlmRequest
    given_call: ModelCall

    def built(self) -> tuple[LlmRequest, ModelCall]:
        """Returns a copy of the request, and its call."""
        request = self.given.model_copy()
        request.contents = copy.deepcopy(self.given.contents)
        return request, self.call()

    def call(self) -> ModelCall:
        """Returns the call without notes and caches."""
        return replace(self.given_call, memo={}, run_memo={}, session_memo={}, notes=[])

    def __repr__(self) -> str:
        parts = [part.model_dump(exclude_none=True) for c in self.given.contents or () for part in c.parts or ()]
        return f"request for agent {self.given_call.agent_name!r}: {parts!r:.2000}"

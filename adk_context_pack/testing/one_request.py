"""A request without a session to build it from."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

from google.adk.models.llm_request import LlmRequest

from adk_context_pack.conversation.model_call import ModelCall


@dataclass(frozen=True)
class OneRequest:
    """Stands where a `Conversation` stands, for one request and its call, of which there is no growing.

    Each check gets a request of its own, so that a pass that writes into one spoils no other.
    """

    given: LlmRequest
    given_call: ModelCall

    def built(self) -> tuple[LlmRequest, ModelCall]:
        """A copy of the request, and its call."""
        request = self.given.model_copy()
        request.contents = copy.deepcopy(self.given.contents)
        return request, self.call()

    def call(self) -> ModelCall:
        """The call, with nothing noted or remembered yet."""
        return replace(self.given_call, memo={}, run_memo={}, session_memo={}, notes=[])

    def __repr__(self) -> str:
        parts = [part.model_dump(exclude_none=True) for c in self.given.contents or () for part in c.parts or ()]
        return f"request for agent {self.given_call.agent_name!r}: {parts!r:.2000}"

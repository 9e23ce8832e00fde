"""Builds the request of each recorded model call, from the recording alone or with the app that was recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.session import Session

from adk_context_pack._adk.app_requests import AppRequests
from adk_context_pack._adk.requests import contents_for, request_of, with_node_input
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.tokens import Counter, TokenMeter
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.passes.pipeline import attempt
from adk_context_pack.replay.figures import agents_without_history
from adk_context_pack.replay.stored_event import RecordedSession


class RebuiltRequests:
    """Builds the requests of one session.

    Args:
        session: the recorded session.
        app: the app that was recorded, or None. Without it, requests have neither instructions nor declarations, and an
            agent's tools are those that it has called.
        counter: from text to tokens, or None for an estimate.

    Attributes:
        blind: the agents that are shown the current turn alone, as far as the provider's figures tell.
    """

    def __init__(self, session: RecordedSession, app: AppRequests | None, counter: Counter | None = None) -> None:
        self._session = session
        self._app = app
        self.blind = agents_without_history(session.events, TokenMeter(counter=counter)) if app is None else frozenset()
        self._tools: dict[str, dict[str, Any]] = {}
        for event in session.events:
            for call in event.get_function_calls():
                self._tools.setdefault(event.author, {})[call.name or ""] = None

    def build(self, event: Event, call: ModelCall) -> tuple[LlmRequest, ModelCall]:
        """Returns the request that `event` answers, and the call, with ADK's context where the app is known.

        Args:
            event: the answer.
            call: the call, with the events and the state before the answer.

        Raises:
            ValueError: ADK refuses to build it.
        """
        if self._app is None or not self._app.has(event.author):
            request = request_of(event, contents_for(event, call.events, turn_only=event.author in self.blind))
            return request.model_copy(update={"tools_dict": self._tools.get(event.author, {})}), call
        named = self._session
        session = Session.model_construct(
            id=named.id,
            app_name=named.app_name,
            user_id=named.user_id,
            state=dict(call.state),
            events=with_node_input(event, call.events),
        )
        context = self._app.context(event, session, call.user_content)
        return self._app.request(context), replace(call, context=context)


def attempted(passes: Iterable[ContextPass], request: LlmRequest, call: ModelCall) -> LlmRequest:
    """Returns a request after passes, of which one that fails is skipped."""
    for entry in passes:
        request = attempt(entry, request, call)[0]
    return request

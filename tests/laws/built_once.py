"""A conversation whose requests ADK builds only once, however many checks ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from google.adk.models.llm_request import LlmRequest

from adk_context_pack import ModelCall
from tests.support.conversation import Conversation


class BuiltOnce:
    """Stands where a `Conversation` stands in a law.

    Requests are handed out as copies with a list of contents of their own. The contents themselves are shared, as ADK
    shares them with the session, so that `pure` must be the first law to look.

    Args:
        conversation: what is told.
        moments: the moments of it to look at; by default all.
    """

    def __init__(self, conversation: Conversation, moments: Sequence[Conversation] | None = None) -> None:
        self.conversation = conversation
        self._moments = moments

    def built(self) -> tuple[LlmRequest, ModelCall]:
        """Request and call of this moment."""
        request = self._request.model_copy()
        request.contents = list(self._request.contents)
        return request, self.call()

    def call(self) -> ModelCall:
        """A fresh call of this moment."""
        return self.conversation.call()

    def moments(self) -> list[BuiltOnce]:
        """The conversation as it grew."""
        return self._grown

    def stretches(self) -> list[BuiltOnce]:
        """The moments between which a request only grows.

        With `include_contents="none"` a message of the user starts the request anew. Where an attacker typed just the
        block that it began with, it would look as if it went on. A moment at which a request is shorter than the one
        before begins nothing: up to 1.39 ADK leaves out what stands between a call without an id and a late result,
        to show it again with the next event.
        """
        if self.conversation.settings.get("include", "default") != "none":
            sizes = [len(now.built()[0].contents) for now in self._grown]
            shorter = {index for index in range(1, len(sizes)) if sizes[index] < sizes[index - 1]}
            kept = [now.conversation for index, now in enumerate(self._grown) if index not in shorter]
            return [BuiltOnce(self.conversation, kept)] if shorter else [self]
        runs: dict[int, list[Conversation]] = {}
        for now in self._grown:
            events = now.conversation.events
            runs.setdefault(sum(event.author == "user" for event in events), []).append(now.conversation)
        return [BuiltOnce(self.conversation, run) for run in runs.values()]

    @cached_property
    def _request(self) -> LlmRequest:
        return self.conversation.request()

    @cached_property
    def _grown(self) -> list[BuiltOnce]:
        return [BuiltOnce(now) for now in self._moments or self.conversation.moments()]

    def __repr__(self) -> str:
        return repr(self.conversation)

"""The kit's scripted model, with what the tests ask for beyond it: readable requests, and recording of all models.

The answer is a function of the request, so a fact that did not reach the model cannot appear in what it says:

    def answer(request):
        return call("look_up", city="Oslo") if "Oslo" in text_of(request) else "I was told of no city."

    agent = LlmAgent(name="guide", model=ScriptedModel(answer=answer), tools=[look_up])
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import testing
from adk_context_pack.testing import RecordedRequest, call, response_of
from adk_context_pack.testing.scripted_model import instruction_text, text_of

__all__ = [
    "RecordedRequest", "ScriptedModel", "answers", "call", "instruction_text", "recording", "response_of",
    "results_in", "text_of",
]  # fmt: skip
_listeners: ContextVar[tuple[list[RecordedRequest], ...]] = ContextVar("listeners", default=())
_usage: ContextVar[Callable[[LlmRequest], Any] | None] = ContextVar("usage", default=None)


@contextmanager
def recording():
    """Collects the requests that any scripted model receives within the block, in order."""
    seen: list[RecordedRequest] = []
    token = _listeners.set((*_listeners.get(), seen))
    try:
        yield seen
    finally:
        _listeners.reset(token)


class ScriptedModel(testing.ScriptedModel):
    """The kit's model with an answer by default, and without figures of its own."""

    model: str = "scripted-model"
    answer: Callable[[LlmRequest], Any] = lambda request: "done"
    usage: Callable[[LlmRequest], Any] | None = lambda request: (usage := _usage.get()) and usage(request)

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["scripted-.*"]

    @staticmethod
    @contextmanager
    def counting(usage: Callable[[LlmRequest], Any] | None):
        """Lets all scripted models without figures of their own report those of `usage` within the block."""
        token = _usage.set(usage)
        try:
            yield
        finally:
            _usage.reset(token)

    def record(self, request: RecordedRequest) -> None:
        super().record(request)
        for seen in _listeners.get():
            seen.append(request)


def answers(*values: Any) -> Callable[[LlmRequest], Any]:
    """Answers one after the other, the last one for ever; for tests in which the request decides nothing."""
    left = list(values)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


def results_in(request: LlmRequest | RecordedRequest, name: str | None = None) -> list[types.FunctionResponse]:
    """The function responses that the model was shown, oldest first, of one tool or of all."""
    parts = [part for content in request.contents or () for part in content.parts or ()]
    found = [part.function_response for part in parts if part.function_response]
    return [response for response in found if name is None or response.name == name]

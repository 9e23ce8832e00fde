"""A model without a network: its answers are computed from the request that it received."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from adk_context_pack.conversation.tokens import TokenMeter
from adk_context_pack.testing.recorded_request import RecordedRequest

Answer = Callable[[LlmRequest], Any]
"""From the request to what the model says or calls, see `ScriptedModel`."""


def estimated_usage(request: LlmRequest) -> int:
    """Returns the estimated prompt tokens of a request."""
    return TokenMeter().request(request)


class ScriptedModel(BaseLlm):
    """Answers with `answer(request)`, so that what did not reach the model cannot appear in its answer.

        agent = LlmAgent(name="guide", model=ScriptedModel(answer=lambda request: call("look_up", city="Oslo")))

    Args:
        answer: from the request to a text, a part such as `call(…)` returns, a list of both, a `Content`, an
            `LlmResponse`, an exception to raise, or an awaitable of any of these. It must not change the request.
        usage: from the request to the prompt tokens that the model reports, or to a whole usage record. By default
            these are an estimate of what the model received.
    """

    model: str = "scripted"
    answer: Answer
    usage: Callable[[LlmRequest], Any] | None = estimated_usage
    _requests: list[RecordedRequest] = PrivateAttr(default_factory=list)

    @property
    def requests(self) -> list[RecordedRequest]:
        """A copy of each request that the model received, oldest first."""
        return self._requests

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002, ARG002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yields one answer."""
        self.record(RecordedRequest.of(llm_request))
        value = self.answer(llm_request)
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, BaseException):
            raise value
        yield self._with_usage(response_of(value), llm_request)

    def record(self, request: RecordedRequest) -> None:
        """Keeps a request that the model received."""
        self._requests.append(request)

    def _with_usage(self, response: LlmResponse, request: LlmRequest) -> LlmResponse:
        usage = self.usage(request) if self.usage else None
        if isinstance(usage, int):
            usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=usage)
        return response.model_copy(update={"usage_metadata": usage}) if usage else response


def call(name: str, call_id: str | None = None, /, **args: Any) -> types.Part:
    """Returns a call of one tool, with an id of the model's own or without one."""
    return types.Part(function_call=types.FunctionCall(name=name, args=args, id=call_id))


def response_of(value: Any) -> LlmResponse:
    """Returns what an `answer` function returned as the response that ADK expects."""
    if isinstance(value, LlmResponse):
        return value
    if isinstance(value, types.Content):
        return LlmResponse(content=value)
    values = value if isinstance(value, list | tuple) else [value]
    parts = [part if isinstance(part, types.Part) else types.Part(text=str(part)) for part in values]
    return LlmResponse(content=types.Content(role="model", parts=parts))


def results_in(request: LlmRequest, name: str) -> list[Any]:
    """Returns the results of the tool called `name` as the model is shown them, oldest first."""
    parts = [part for content in request.contents for part in content.parts or ()]
    return [p.function_response.response for p in parts if p.function_response and p.function_response.name == name]


def text_in(request: LlmRequest) -> str:
    """Returns all texts of a request's contents, one a line."""
    return "\n".join(part.text for content in request.contents for part in content.parts or () if part.text)

"""A model without a network: its answers are computed from the request that it received."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from adk_context_pack.conversation.tokens import TokenMeter

Answer = Callable[[LlmRequest], str | types.Part]
"""From the request to what the model says or calls."""


class ScriptedModel(BaseLlm):
    """Answers with `answer(request)`, so that what did not reach the model cannot appear in what it says.

        agent = LlmAgent(name="guide", model=ScriptedModel(answer=lambda request: call("look_up", city="Oslo")))

    The prompt tokens that it reports are the estimate of what it received.

    Args:
        answer: from the request to a text, or to a part such as `call(…)` gives.
    """

    model: str = "scripted"
    answer: Answer

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002, ARG002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        """One turn."""
        said = self.answer(llm_request)
        part = types.Part(text=said) if isinstance(said, str) else said
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=TokenMeter().request(llm_request))
        yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=usage)


def call(name: str, /, **args: Any) -> types.Part:
    """A call of one tool."""
    return types.Part(function_call=types.FunctionCall(name=name, args=args))


def results_in(request: LlmRequest, name: str) -> list[Any]:
    """What the tool called `name` returned, as the model is shown it, oldest first."""
    parts = [part for content in request.contents for part in content.parts or ()]
    return [p.function_response.response for p in parts if p.function_response and p.function_response.name == name]


def text_in(request: LlmRequest) -> str:
    """All texts of a request's contents, one a line."""
    return "\n".join(part.text for content in request.contents for part in content.parts or () if part.text)

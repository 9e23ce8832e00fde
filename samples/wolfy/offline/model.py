"""The offline model as ADK sees it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.genai import types

from adk_context_pack.conversation.token_estimate import TokenMeter

from .roles import answer

OFFLINE_MODEL = "wolfy-offline"


class OfflineModel(BaseLlm):
    """Answers as a careful analyst would, without a network, the same at every run.

    It reads its request and nothing else: what did not reach it cannot appear in what it says.
    """

    model: str = OFFLINE_MODEL

    @classmethod
    def supported_models(cls) -> list[str]:
        """The names under which ADK finds it."""
        return [r"wolfy-offline"]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002, ARG002
    ) -> AsyncGenerator[LlmResponse, None]:
        """One turn."""
        content = answer(llm_request)
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=TokenMeter().request(llm_request))
        yield LlmResponse(content=content, finish_reason=types.FinishReason.STOP, usage_metadata=usage)


LLMRegistry.register(OfflineModel)

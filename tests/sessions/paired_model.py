"""A scripted model of a provider that pairs calls by id, so that ADK leaves its own ids in the request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from tests.support.scripted_model import response_of


def paired_model(answer: Callable[[LlmRequest], Any]) -> BaseLlm:
    """A LiteLlm of which only the call to the provider is replaced, by `answer`."""
    lite_llm = pytest.importorskip(
        "google.adk.models.lite_llm", reason="LiteLLM is not installed", exc_type=ImportError
    )

    class PairedModel(lite_llm.LiteLlm):  # type: ignore[misc, name-defined]
        async def generate_content_async(
            self,
            llm_request: LlmRequest,
            stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
        ) -> AsyncGenerator[LlmResponse, None]:
            yield response_of(answer(llm_request))

    return PairedModel(model="openai/scripted")

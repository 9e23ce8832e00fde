"""A scripted model behind ADK's own Gemini cache manager, with a client that keeps caches in a dict."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from google.adk.models.gemini_context_cache_manager import GeminiContextCacheManager
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from adk_context_pack.conversation.tokens import TokenMeter
from tests.support.scripted_model import ScriptedModel, response_of


class FakeClient:
    """The part of google-genai's client that the cache manager uses."""

    vertexai = False

    def __init__(self) -> None:
        self.created = 0
        self.aio = SimpleNamespace(caches=SimpleNamespace(create=self._create, delete=self._delete))

    async def _create(self, **_: Any) -> Any:
        self.created += 1
        return SimpleNamespace(name=f"cachedContents/{self.created}", expire_time=None)

    async def _delete(self, **_: Any) -> None:
        return None


@dataclass
class Bill:
    """What was sent, call by call: tokens of each prompt, and how many of them the provider had cached."""

    prompts: list[int] = field(default_factory=list)
    cached: list[int] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The cached share of all tokens sent."""
        return sum(self.cached) / sum(self.prompts)

    def cost(self, price: float) -> float:
        """Tokens to pay for, where a cached one costs `price` of another."""
        return sum(self.prompts) - (1 - price) * sum(self.cached)


class CachedModel(ScriptedModel):
    """Answers as `ScriptedModel` does; `bill` says what the cache manager saved."""

    model: str = "gemini-2.5-flash"
    _manager: GeminiContextCacheManager = PrivateAttr()
    _bill: Bill = PrivateAttr(default_factory=Bill)

    def model_post_init(self, context: Any, /) -> None:
        """Makes the manager."""
        super().model_post_init(context)
        self._manager = GeminiContextCacheManager(FakeClient())

    @property
    def bill(self) -> Bill:
        return self._bill

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        prompt = TokenMeter().request(llm_request)
        answer = response_of(self.answer(llm_request))
        metadata = await self._manager.handle_context_caching(llm_request)
        cached = prompt - TokenMeter().request(llm_request) if metadata and metadata.cache_name else 0
        self._bill.prompts.append(prompt)
        self._bill.cached.append(cached)
        answer.usage_metadata = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=prompt, cached_content_token_count=cached
        )
        if metadata is not None:
            self._manager.populate_cache_metadata_in_response(answer, metadata)
        yield answer

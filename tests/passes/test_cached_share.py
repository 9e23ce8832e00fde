"""Steady cuts pay: ADK's own Gemini cache manager, with a fake client, over real runs."""

from __future__ import annotations

import pytest
from google.adk.agents import LlmAgent

from adk_context_pack import ClearToolResults, FitTokenBudget
from tests.support.histories import fetch
from tests.support.run import run_agent
from tests.support.scripted_model import call

pytest.importorskip("google.adk.models.gemini_context_cache_manager", reason="this ADK has no cache manager")
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from google.adk.agents.context_cache_config import ContextCacheConfig
from google.adk.models.gemini_context_cache_manager import GeminiContextCacheManager
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from adk_context_pack.conversation.token_estimate import TokenMeter
from tests.support.scripted_model import ScriptedModel, response_of


def answer(request):
    asked = request.contents[-1].parts[0].text
    return call("fetch", page=1) if asked and "Question" in asked else "Nothing unusual on that page."


async def bill(turns, *passes):
    model = CachedModel(answer=answer)
    agent = LlmAgent(
        name="a", model=model, instruction="You read pages. " * 20, tools=[fetch], before_model_callback=list(passes)
    )
    messages = [f"Question {turn}?" for turn in range(turns)]
    await run_agent(agent, *messages, context_cache_config=ContextCacheConfig())
    return model.bill


@pytest.mark.slow
async def test_over_16_turns_the_cached_share_is_no_smaller_at_half_the_tokens():
    """Clearing in batches sends at most half the tokens, and of those at least the share of no trimming is cached."""
    whole, ours = await bill(16), await bill(16, ClearToolResults(cached_price=0.25))
    assert sum(ours.prompts) <= 0.5 * sum(whole.prompts)
    assert ours.share >= whole.share


@pytest.mark.slow
async def test_over_30_turns_the_cost_is_at_most_half():
    """With cached tokens at 0.25, clearing costs at most half of no trimming, and so does a budget."""
    whole = await bill(32)
    for entry in (ClearToolResults(), FitTokenBudget(max_tokens=max(whole.prompts) // 4)):
        assert (await bill(32, entry)).cost(0.25) <= 0.5 * whole.cost(0.25)


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

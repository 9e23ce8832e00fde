"""Steady cuts pay: ADK's own Gemini cache manager, with a fake client, over real runs."""

import pytest
from google.adk.agents import LlmAgent

from adk_context_pack import ClearToolResults, FitTokenBudget
from tests.support.histories import rows
from tests.support.run import run_agent
from tests.support.scripted_model import call

pytest.importorskip("google.adk.models.gemini_context_cache_manager", reason="this ADK has no cache manager")
from google.adk.agents.context_cache_config import ContextCacheConfig

from tests.passes.cached_model import CachedModel


def fetch(page: int) -> dict:
    """Fetches a page."""
    return {"rows": rows(page, 40)}


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
    whole, ours = await bill(16), await bill(16, ClearToolResults())
    assert sum(ours.prompts) <= 0.5 * sum(whole.prompts)
    assert ours.share >= whole.share


@pytest.mark.slow
async def test_over_30_turns_the_cost_is_at_most_half():
    """With cached tokens at 0.25, clearing costs at most half of no trimming, and so does a budget."""
    whole = await bill(32)
    for entry in (ClearToolResults(), FitTokenBudget(max_tokens=max(whole.prompts) // 4)):
        assert (await bill(32, entry)).cost(0.25) <= 0.5 * whole.cost(0.25)

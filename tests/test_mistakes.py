"""Mistakes of a user speak up where the user looks: an exception where they cannot work, a warning otherwise."""

import pytest
from google.adk.agents import LlmAgent

from adk_context_pack import CapRows, ContextPackPlugin, ContextPipeline, FitTokenBudget, SettingError, StripForContext
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in


def fetch():
    """Fetches a page."""
    return {"page": "words and more of them " * 500}


def answer(request):
    return "done" if results_in(request) else call("fetch")


@pytest.mark.parametrize("kind", [StripForContext, ContextPipeline, CapRows])
async def test_a_class_among_the_callbacks_is_refused_by_name(kind):
    """A class in the place of an instance fails with the call to write, not with an unknown argument."""
    agent = LlmAgent(name="writer", model=ScriptedModel(answer=answer), before_model_callback=[kind])
    with pytest.raises(SettingError, match=rf"{kind.__name__}: a callback must be an instance, {kind.__name__}\(…\)"):
        await run_agent(agent, "go")


@pytest.mark.parametrize("build", [ContextPackPlugin, ContextPipeline])
@pytest.mark.parametrize(("passes", "said"), [
    (FitTokenBudget(max_tokens=9), r"a sequence of passes such as \[StripForContext\(\)\], not FitTokenBudget"),
    (FitTokenBudget, "a sequence of passes"), ([FitTokenBudget], r"made of instances such as FitTokenBudget\(…\)"),
    ("strip", "made of passes such as"), (3, "a sequence of passes"),
])  # fmt: skip
def test_passes_given_bare_are_refused_when_built(build, passes, said):
    """A single pass, a class or anything else in the place of a list of passes fails with what to write."""
    with pytest.raises(SettingError, match=f"passes must be {said}"):
        build(passes=passes)

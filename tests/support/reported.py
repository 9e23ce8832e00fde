"""A two-agent app with a reporting pipeline on each of its agents, for tests of reports."""

from google.adk.agents import LlmAgent, SequentialAgent
from google.genai import types

from adk_context_pack.passes.cast_narrative import CastNarrative
from adk_context_pack.passes.drop_old_parts import StripForContext
from adk_context_pack.passes.pipeline import ContextPipeline
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

SECRET = "hunter2-the-secret"  # noqa: S105 - it only has to be found again


def look_up(city: str) -> dict:
    """Looks a city up."""
    return {"rows": [{"city": city, "number": number, "token": SECRET} for number in range(50)]}


def scout_answer(request):
    return "Oslo is in Norway." if results_in(request, "look_up") else call("look_up", city="Oslo")


def usage_of(request):
    return types.GenerateContentResponseUsageMetadata(prompt_token_count=700, cached_content_token_count=300)


async def reported_run(*messages, pipeline=None, **settings):
    """Runs scout and writer; returns the run and the pipeline that reported on it."""
    pipeline = pipeline or ContextPipeline([StripForContext(), CastNarrative()])
    hooks = {"before_model_callback": [pipeline], "after_model_callback": [pipeline.after_model]}
    scout = LlmAgent(
        name="scout",
        model=ScriptedModel(answer=scout_answer, usage=usage_of),
        instruction="Find things out.",
        tools=[look_up],
        **hooks,
    )
    writer = LlmAgent(
        name="writer",
        model=ScriptedModel(answer=lambda request: "Done.", usage=usage_of),
        instruction="Write the report.",
        **hooks,
    )
    team = SequentialAgent(name="team", sub_agents=[scout, writer])
    return await run_agent(team, *(messages or ("Where is Oslo?",)), **settings), pipeline

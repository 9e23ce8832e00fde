"""ScriptedModel: answers computed from the request, and nothing else."""

from google.adk.agents import LlmAgent

from adk_context_pack.conversation.token_estimate import TokenMeter
from adk_context_pack.testing import ScriptedModel, call, results_in, text_in
from tests.support.run import run_agent


def look_up(city: str) -> dict:
    """Looks a city up."""
    return {"city": city}


async def test_it_answers_from_what_it_received():
    """It calls a tool for what it read, and says what came back; its figure is the size of its request."""
    sizes = []

    def answer(request):
        sizes.append(TokenMeter().request(request))
        if found := results_in(request, "look_up"):
            return f"Found {found[0]['city']}."
        return call("look_up", city=text_in(request).split()[-1])

    agent = LlmAgent(name="guide", model=ScriptedModel(answer=answer), tools=[look_up])
    run = await run_agent(agent, "Look up Oslo")
    assert run.answer == "Found Oslo."
    told = [event.usage_metadata.prompt_token_count for event in run.events if event.usage_metadata]
    assert told == sizes

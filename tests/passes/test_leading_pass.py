"""A leading pass runs once for each model call, whoever else changes the request."""

import pytest
from google.adk.agents import LlmAgent
from google.genai import types

from adk_context_pack import ContextPackPlugin, ContextPipeline, DropOldThoughts
from adk_context_pack.passes.leading_pass import LeadingPass
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel


class Stamp(LeadingPass):
    """Adds one content to each request."""

    def apply(self, request, call):
        stamp = types.Content(role="user", parts=[types.Part(text="STAMP")])
        return request.model_copy(update={"contents": [stamp, *request.contents]})


ALONE = {
    "alone": (lambda stamp: [stamp], []),
    "before another pass": (lambda stamp: [stamp, DropOldThoughts()], []),
    "before a pipeline": (lambda stamp: [stamp, ContextPipeline([DropOldThoughts()])], []),
    "behind a pipeline": (lambda stamp: [ContextPipeline([DropOldThoughts()]), stamp], []),
    "with the plugin": (lambda stamp: [stamp], [ContextPackPlugin]),
}


@pytest.mark.parametrize("way", ALONE)
async def test_it_runs_once_for_each_model_call(way):
    """Alone, beside other passes, around a pipeline and under the plugin, each request has one stamp and no more."""
    callbacks, plugins = ALONE[way]
    model = ScriptedModel(answer=lambda _: "Yes.")
    agent = LlmAgent(name="a", model=model, before_model_callback=callbacks(Stamp()))
    run = await run_agent(agent, "One?", "Two?", plugins=[make() for make in plugins])
    said = [[part.text for content in request.contents for part in content.parts] for request in run.requests]
    assert [texts.count("STAMP") for texts in said] == [1, 1]
    assert [texts[0] for texts in said] == ["STAMP", "STAMP"]

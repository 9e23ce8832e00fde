"""ContextPipeline: ordered passes as one callback, with a report for each call."""

import logging
from dataclasses import dataclass
from threading import current_thread, main_thread

import pytest
from google.adk.agents import LlmAgent
from google.genai import types

from adk_context_pack import ContextPackPlugin, ContextPass, ContextPipeline, DropOldThoughts
from adk_context_pack.passes.context_pass import LeadingPass
from tests.support.adk_contents import request_of
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, text_of


@dataclass(frozen=True, kw_only=True)
class AddWord(ContextPass):
    """Adds a word at the end."""

    word: str = "x"

    def apply(self, request, call):
        call.note(f"added {len(self.word)} characters")
        more = types.Content(role="user", parts=[types.Part(text=self.word)])
        return request.model_copy(update={"contents": [*request.contents, more]})


@dataclass(frozen=True, kw_only=True)
class FailAlways(ContextPass):
    """Fails."""

    def apply(self, request, call):
        raise KeyError("nothing here")


def agent(pipeline):
    return LlmAgent(
        name="a",
        model=ScriptedModel(answer=text_of, usage=lambda request: 42),
        before_model_callback=[pipeline],
        after_model_callback=[pipeline.after_model] if isinstance(pipeline, ContextPipeline) else [],
    )


async def test_a_failing_pass_is_skipped_logged_and_reported(caplog):
    """The pass that raises is named with its error, the others run, and the model is asked."""
    pipeline = ContextPipeline([AddWord(word="one"), FailAlways(), AddWord(word="two")])
    with caplog.at_level(logging.ERROR, "adk_context_pack"):
        run = await run_agent(agent(pipeline), "hello")
    assert run.answer == "hello\none\ntwo"
    failed = pipeline.reports[-1].passes[1]
    assert failed.error == "KeyError: 'nothing here'"
    assert failed.tokens_before == failed.tokens_after
    assert "pass fail_always failed and was skipped" in caplog.text


async def test_the_providers_figures_join_the_report():
    """What the provider counted stands in the report, and the report on the stored event."""
    pipeline = ContextPipeline([AddWord()])
    run = await run_agent(agent(pipeline), "hello")
    assert pipeline.reports[-1].prompt_tokens == 42
    stored = [event for event in run.session.events if event.author == "a"]
    assert stored[-1].custom_metadata["adk_context_pack"]["tokens_before"] == pipeline.reports[-1].tokens_before


def test_a_context_that_cannot_be_read_does_not_end_the_run(caplog):
    """Called with something that is no context of ADK's, the request goes out as it is, with a line in the log."""
    request = request_of([types.Content(role="user", parts=[types.Part(text="hi")])])
    before = list(request.contents)
    pipeline = ContextPipeline([AddWord()])
    pipeline(object(), request)
    assert request.contents == before
    assert len(pipeline.reports) == 0
    assert "the callback context could not be read" in caplog.text


async def test_on_error_raise_lets_the_exception_through():
    """For tests of one's own, a pass may raise, by itself, in a pipeline and in the plugin."""
    failing = FailAlways(on_error="raise")
    callbacks = [failing, ContextPipeline([failing]), ContextPipeline([])]
    for each, plugins in zip(callbacks, ([], [], [ContextPackPlugin(passes=[failing])]), strict=True):
        with pytest.raises((KeyError, RuntimeError), match="nothing here"):
            await run_agent(agent(each), "hello", plugins=plugins)


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


@pytest.mark.parametrize("size", [10, 200_000])
async def test_a_long_text_is_read_beside_the_loop(size, monkeypatch):
    """A lone pass, a pipeline and the plugin leave the event loop for a request with a long text, and no other."""
    found, one = [], DropOldThoughts()

    def look(_, request, call):
        found.append(current_thread() is main_thread())
        return request

    monkeypatch.setattr(DropOldThoughts, "apply", look)
    for callback, plugins in ((one, []), (ContextPipeline([one]), []), (None, [ContextPackPlugin(passes=[one])])):
        looking = LlmAgent(name="a", model=ScriptedModel(answer=text_of), before_model_callback=callback)
        await run_agent(looking, "x" * size, plugins=plugins)
    assert found == [size == 10] * 3

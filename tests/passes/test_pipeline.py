"""ContextPipeline: ordered passes as one callback, with a report for each call."""

import gc
import logging
import weakref
from dataclasses import dataclass

import pytest
from google.adk.agents import LlmAgent
from google.genai import types

from adk_context_pack import ContextPass, ContextPipeline, ModelCall, default_passes
from tests.support.adk_contents import request_of
from tests.support.events import agent_called, tool_returned, user_said
from tests.support.requests import call_for, request_for
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
class DropAll(ContextPass):
    """Drops all but the last content."""

    def apply(self, request, call):
        return request.model_copy(update={"contents": request.contents[-1:]})


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
        after_model_callback=[pipeline.after_model],
    )


async def test_runs_passes_in_order_and_reports_on_each():
    """Each pass gets what the one before it left, and its tokens before are the other's tokens after."""
    pipeline = ContextPipeline([AddWord(word="one"), AddWord(word="two"), DropAll()])
    run = await run_agent(agent(pipeline), "hello")
    assert run.answer == "two"
    report = pipeline.reports[-1]
    assert [each.name for each in report.passes] == ["add_word", "add_word", "drop_all"]
    assert report.passes[0].tokens_before == report.tokens_before
    assert report.passes[0].tokens_after == report.passes[1].tokens_before > report.tokens_before
    assert report.passes[2].tokens_after == report.tokens_after
    assert report.passes[0].note == "added 3 characters"
    assert report.passes[2].note == ""
    assert sum(report.categories.values()) == report.tokens_after
    assert (report.agent, report.invocation_id) == ("a", run.events[0].invocation_id)


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


async def test_the_old_way_to_run_other_passes_still_works():
    """`process` warns, changes the request and reports, as `run` and `deliver` do together."""
    pipeline = ContextPipeline([])

    def other(callback_context, llm_request):
        with ModelCall.remembering(callback_context) as call, pytest.warns(DeprecationWarning, match="run"):
            pipeline.process(callback_context, llm_request, call, [AddWord(word="other")])

    model = ScriptedModel(answer=text_of)
    run = await run_agent(LlmAgent(name="a", model=model, before_model_callback=[other]), "hello")
    assert run.answer == "hello\nother"
    assert [each.name for each in pipeline.reports[-1].passes] == ["add_word"]


async def test_the_providers_figures_join_the_report():
    """What the provider counted stands in the report, and the report on the stored event."""
    pipeline = ContextPipeline([AddWord()])
    run = await run_agent(agent(pipeline), "hello")
    assert pipeline.reports[-1].prompt_tokens == 42
    stored = [event for event in run.session.events if event.author == "a"]
    assert stored[-1].custom_metadata["adk_context_pack"]["tokens_before"] == pipeline.reports[-1].tokens_before


def test_counts_with_a_counter_of_ones_own():
    """A tokenizer that is passed in decides every figure."""
    request = request_of([types.Content(role="user", parts=[types.Part(text="a b c")])], instruction="d e")
    _, report = ContextPipeline([], counter=lambda text: len(text.split())).run(request, ModelCall())
    assert report.categories["system_instruction"] == 2
    envelope = 4
    assert report.tokens_before == report.tokens_after == 2 + 3 + envelope


def test_a_context_that_cannot_be_read_does_not_end_the_run(caplog):
    """Called with something that is no context of ADK's, the request goes out as it is, with a line in the log."""
    request = request_of([types.Content(role="user", parts=[types.Part(text="hi")])])
    before = list(request.contents)
    pipeline = ContextPipeline([AddWord()])
    pipeline(object(), request)
    assert request.contents == before
    assert len(pipeline.reports) == 0
    assert "the callback context could not be read" in caplog.text


def test_nothing_of_a_call_waits_for_the_collector():
    """A finished call lets go of its session and its requests at once: with many sessions at once that is the load."""
    events = [user_said("Hi"), agent_called("b", "t", "c"), tool_returned("b", "t", {"rows": [1] * 999}, "c")]
    call, request = call_for("writer", events), request_for("writer", events)
    gc.collect()
    gc.disable()
    try:
        sent, _ = ContextPipeline(default_passes(max_tokens=300)).run(request, call)
        assert sent is not request
        finished = weakref.ref(call)
        del call
        assert finished() is None
    finally:
        gc.enable()

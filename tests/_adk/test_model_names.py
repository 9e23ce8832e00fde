"""model_names: a request's budget fits the smallest of the models that may answer it."""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import Any

import pytest
from google.adk import models
from google.adk.agents import LlmAgent
from google.adk.tools.load_artifacts_tool import LoadArtifactsTool
from hypothesis import given
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from pydantic import Field, PrivateAttr

from adk_context_pack import ContextPackPlugin, defer_tools, query_rows, resolve_results
from adk_context_pack._adk.instruction import model_names
from adk_context_pack._adk.known_tools import kind_of
from adk_context_pack._adk.releases import live_events
from adk_context_pack.reports.telemetry import ModelSpans, is_model_span
from tests.support.adk_contents import contents_of
from tests.support.conversation import Conversation
from tests.support.conversations import conversations
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, text_of

LONG = "A long tale of many words. " * 1_500


class Several(ScriptedModel):
    """A model of an app's own that may hand a request to others, in the shape of ADK's `FallbackModel`."""

    models: list[Any] = Field(default_factory=list)


class Settled(ScriptedModel):
    """A model with the settings that `LiteLlm` hands on to LiteLLM."""

    _additional_args: dict[str, Any] = PrivateAttr(default_factory=dict)


class OfAgent:
    """A context of an agent."""

    def __init__(self, agent):
        self.agent = agent


def named(model, request_model="first"):
    """The models that an agent with `model` may ask."""
    return model_names(OfAgent(LlmAgent(name="a", model=model)), request_model)


def settled(fallbacks):
    """A model with LiteLLM's `fallbacks`."""
    model = Settled(model="first")
    model._additional_args = {"fallbacks": fallbacks}
    return model


def test_backups_are_named_however_they_are_given():
    """Names, models, backups of backups, and each form of LiteLLM's fallbacks are found."""
    inner = Several(model="second", models=["third", ScriptedModel(model="fourth")])
    assert named(Several(model="first", models=["first", inner])) == ("first", "second", "third", "fourth")
    fallbacks = ["second", {"model": "third", "api_key": "k"}, {"first": ["fourth", "fifth"]}]
    assert named(settled(fallbacks)) == ("first", "second", "third", "fourth", "fifth")


def test_a_model_that_names_itself_ends():
    """A ring of models gives each name once."""
    ring = Several(model="first")
    ring.models = [ring, "second"]
    assert set(named(ring)) == {"first", "second"}


def test_lite_llm_tells_its_fallbacks():
    """The fallbacks that a real `LiteLlm` is built with are found."""
    pytest.importorskip("litellm", reason="LiteLLM is not installed")
    from google.adk.models.lite_llm import LiteLlm  # noqa: PLC0415

    model = LiteLlm(model="openai/gpt-4.1", fallbacks=["openai/gpt-4o", {"model": "gpt-4"}])
    assert named(model, "openai/gpt-4.1") == ("openai/gpt-4.1", "openai/gpt-4o", "gpt-4")


def with_backup(first, second):
    """ADK's own model with backups where the release has one, else one of its shape."""
    kind = getattr(models, "FallbackModel", None)
    if kind is None:
        return Several(model=first, models=[ScriptedModel(model=second)])
    return kind(models=[ScriptedModel(model=first), ScriptedModel(model=second)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("backup", "fits"), [("gemini-2.5-pro", False), ("gpt-4", True)])
async def test_a_request_fits_the_smallest_window(backup, fits):
    """A history beyond the window of the backup is cut although the first model would take it, and else is not."""
    agent = LlmAgent(name="a", model=with_backup("gemini-2.5-flash", backup))
    run = await run_agent(agent, LONG, "And now?", plugins=[ContextPackPlugin()])
    assert (LONG not in text_of(run.requests[-1])) is fits


async def test_the_tools_of_defer_tools_are_known():
    """`find_tools` gives a catalog, `use_tool` an answer to read whole, and a deferred tool stays what it is."""
    find, use, artifacts, rows = await defer_tools(LoadArtifactsTool(), resolve_results(query_rows)).get_tools()
    kinds = [kind_of(tool, "") for tool in (find, use, artifacts, rows)]
    assert kinds == ["catalog", "control", "control", "read_back"]


@pytest.mark.slow
@given(conversations())
def test_adk_builds_the_same_contents_of_them(conversation: Conversation):
    """What is left out, ADK's own content builder leaves out as well."""
    left = live_events(conversation.events)
    with suppress(ValueError):
        assert contents_of(left, conversation.agent, **conversation.settings) == conversation.contents()


NAME = "adk_context_pack.test"


def ended(exporter):
    return {span.name: dict(span.attributes) for span in exporter.get_finished_spans()}


def test_a_call_of_another_agent_has_none(spans):
    """A model call within the span of another agent does not take what waits for this agent's call."""
    tracer, ours = trace.get_tracer("test"), ModelSpans()
    with tracer.start_as_current_span("invoke_agent a"):
        ours.attach({NAME: 1})
        with tracer.start_as_current_span("invoke_agent b"), tracer.start_as_current_span("generate_content b"):
            pass
        with tracer.start_as_current_span("generate_content a"):
            pass
    assert ended(spans)["generate_content b"] == {}
    assert ended(spans)["generate_content a"] == {NAME: 1}


def test_the_span_of_the_callback_may_be_that_of_the_call(spans):
    """Where the callback runs within the model call's span, that span has them, as has the one within it."""
    tracer, ours = trace.get_tracer("test"), ModelSpans()
    with tracer.start_as_current_span("call_llm"):
        ours.attach({NAME: 1})
        with tracer.start_as_current_span("generate_content m"):
            pass
    assert ended(spans) == {"call_llm": {NAME: 1}, "generate_content m": {NAME: 1}}


def test_calls_that_never_come_are_forgotten(spans):
    """What waits goes with the span that it waits in, and nothing waits where no span is recorded."""
    tracer, ours = trace.get_tracer("test"), ModelSpans()
    ours.attach({NAME: 0})
    assert not ours._waiting
    for number in range(5):
        with tracer.start_as_current_span(f"invoke_agent {number}"):
            ours.attach({NAME: number})
            assert len(ours._waiting) == 1
            gc.collect()
    gc.collect()
    assert not ours._waiting
    assert len(ours._providers) == 1
    assert isinstance(next(iter(ours._providers)), TracerProvider)
    assert not is_model_span(trace.INVALID_SPAN)

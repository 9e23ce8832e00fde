"""model_names: a request's budget fits the smallest of the models that may answer it."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk import models
from google.adk.agents import LlmAgent
from pydantic import Field, PrivateAttr

from adk_context_pack import ContextPackPlugin
from adk_context_pack._adk.model_names import model_names
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

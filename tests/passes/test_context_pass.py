"""The contract of a pass, where it meets ADK."""

import logging
from dataclasses import dataclass

import pytest
from google.adk.agents import LlmAgent
from google.genai import types

from adk_context_pack import ContextPass, SettingError
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, text_of


@dataclass(frozen=True, kw_only=True)
class ShoutBack(ContextPass):
    """Answers whatever was said with a louder request."""

    def apply(self, request, call):
        words = "\n".join(part.text or "" for content in request.contents for part in content.parts)
        loud = types.Content(role="user", parts=[types.Part(text=words.upper())])
        return request.model_copy(update={"contents": [loud], "config": types.GenerateContentConfig(seed=7)})


@dataclass(frozen=True, kw_only=True)
class FailAlways(ContextPass):
    """Fails."""

    def apply(self, request, call):
        raise RuntimeError("out of order")


def agent(*callbacks):
    return LlmAgent(name="a", model=ScriptedModel(answer=text_of), before_model_callback=list(callbacks))


async def test_changes_the_request_that_the_model_receives():
    """The instance is a before_model callback: contents and config of what it returns reach the model."""
    run = await run_agent(agent(ShoutBack()), "hello")
    assert run.answer == "HELLO"
    assert run.requests[0].config.seed == 7


async def test_a_pass_that_fails_leaves_the_request_as_it_was(caplog):
    """By default a failing pass is logged with its traceback, and the model gets what ADK built."""
    with caplog.at_level(logging.ERROR, "adk_context_pack"):
        run = await run_agent(agent(FailAlways()), "hello")
    assert run.answer == "hello"
    assert "pass fail_always failed and was skipped" in caplog.text
    assert "out of order" in caplog.text


async def test_on_error_raise_lets_the_exception_through():
    """For tests of one's own, a pass may raise."""
    with pytest.raises(RuntimeError, match="out of order"):
        await run_agent(agent(FailAlways(on_error="raise")), "hello")


def test_refuses_an_unknown_on_error():
    """A setting that cannot work fails when built, with the value in the message."""
    with pytest.raises(SettingError, match=r"on_error.*'explode'"):
        ShoutBack(on_error="explode")


def test_is_named_in_snake_case():
    """A pass's name in logs and reports is its class in snake case."""
    assert ShoutBack().name == "shout_back"

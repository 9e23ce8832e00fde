"""The contract of a pass, where it meets ADK."""

import logging
from dataclasses import dataclass

import pytest
from google.adk.agents import LlmAgent

from adk_context_pack import ContextPass
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, text_of


@dataclass(frozen=True, kw_only=True)
class FailAlways(ContextPass):
    """Fails."""

    def apply(self, request, call):
        raise RuntimeError("out of order")


def agent(*callbacks):
    return LlmAgent(name="a", model=ScriptedModel(answer=text_of), before_model_callback=list(callbacks))


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

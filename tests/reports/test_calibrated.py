"""Reports tell tokens as the provider counts them, as soon as it has counted any."""

from __future__ import annotations

import pytest
from google.adk.agents import LlmAgent
from google.genai import types

from adk_context_pack import ContextPackPlugin, PassReport, PrefixReport
from adk_context_pack.reports.call_report import hear, rescale
from tests.reports.test_report_log import report as plain_report
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, text_of


def usage(tokens):
    return types.GenerateContentResponseUsageMetadata(prompt_token_count=tokens)


def report(**given):
    passes = (
        PassReport(name="one", tokens_before=1000, tokens_after=700),
        PassReport(name="two", tokens_before=700, tokens_after=500),
    )
    settings = {
        "tokens_before": 1000, "tokens_after": 500, "passes": passes,
        "categories_before": {"user": 300, "tool_calls_and_results": 700},
        "categories": {"user": 300, "tool_calls_and_results": 200}, "tools_before": {"a": 300, "b": 400},
        "tools": {"a": 100, "b": 100}, "results": {"a": 2000}, "pack_tools": 100,
        "prefix": PrefixReport(tokens=200, previous_tokens=400),
    }  # fmt: skip
    return plain_report(**{**settings, **given})


def adds_up(one):
    """Holds that all sums of a report are those of their parts."""
    assert sum(one.categories_before.values()) == one.tokens_before
    assert sum(one.categories.values()) == one.tokens_after
    assert sum(one.tools.values()) == one.categories["tool_calls_and_results"]
    assert sum(one.tools_before.values()) == one.categories_before["tool_calls_and_results"]
    assert [each.tokens_before for each in one.passes] == [one.tokens_before, one.passes[0].tokens_after]
    assert one.passes[-1].tokens_after == one.tokens_after


@pytest.mark.parametrize("figure", [99, 2501, 0, None])
def test_a_figure_that_no_tokenizer_explains_changes_nothing(figure):
    """Less than a fifth or more than five times the estimate is kept beside it."""
    one = report()
    hear(one, usage(figure), is_estimate=True)
    assert (one.tokens_after, one.scale, one.prompt_tokens) == (500, 1.0, figure)


def test_factors_multiply():
    """A second figure for the same request corrects what the first one had corrected."""
    one = report()
    rescale(one, 0.5)
    hear(one, usage(750), is_estimate=True)
    assert one.scale == pytest.approx(1.5)
    assert one.tokens_after == 750


def reader(**settings):
    """An agent that reads once per turn, whose provider counts two tokens for three characters."""

    def answer(request):
        return "read" if request.contents[-1].parts[0].function_response else call("read")

    def read() -> dict:
        """Reads."""
        return {"text": "some plain words of a page " * 40}

    def counted(request):
        return 20 + len(text_of(request)) * 2 // 3

    model = ScriptedModel(answer=answer, usage=counted)
    return LlmAgent(name="reader", model=model, tools=[read], **settings)


class Sent:
    """A destination of telemetry that keeps what a report told before the provider had answered."""

    def __init__(self):
        self.tokens = []

    def sent(self, told):
        self.tokens.append(told.tokens_after)

    def heard(self, told):
        pass


async def test_the_next_call_begins_with_what_the_last_one_was_worth():
    """Before the provider has answered, later calls are within a tenth, and a new process knows it from the session."""
    sent = Sent()
    plugin = ContextPackPlugin(telemetry=sent, passes=[])
    run = await run_agent(reader(), "one", "two", plugins=[plugin])
    figures = [each.prompt_tokens for each in plugin.reports]
    assert [each.tokens_after for each in plugin.reports] == figures
    assert abs(sent.tokens[0] - figures[0]) > 0.1 * figures[0]
    later = Sent()
    again = ContextPackPlugin(telemetry=later, passes=[])
    await run_agent(
        reader(), "three", plugins=[again], session_service=run.session_service, artifact_service=run.artifact_service
    )
    told = [*zip(sent.tokens[2:], figures[2:], strict=True)]
    told += zip(later.tokens, [each.prompt_tokens for each in again.reports], strict=True)
    assert len(told) == 4
    assert all(abs(tokens - figure) <= 0.1 * figure for tokens, figure in told)

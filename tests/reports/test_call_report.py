"""CallReport: its numbers add up, and it prints as a table."""

import json
import logging

import pytest
from hypothesis import given, settings

from adk_context_pack import CATEGORIES, CastNarrative, ContextPass, ContextPipeline, ReportTotals, StripForContext
from tests.reports.test_calibrated import report
from tests.support.conversations import conversations
from tests.support.events import user_said
from tests.support.reported import SECRET, reported_run
from tests.support.requests import call_for, request_for


class FailOnPurpose(ContextPass):
    def apply(self, request, call):
        raise ValueError(f"cannot read {SECRET}")


class BreakTheCount(ContextPass):
    def apply(self, request, call):
        return request.model_copy(update={"contents": [*request.contents, object()]})


def assert_adds_up(report):
    assert list(report.categories) == list(report.categories_before) == list(CATEGORIES)
    assert sum(report.categories.values()) == report.tokens_after
    assert sum(report.categories_before.values()) == report.tokens_before
    assert min(report.categories.values()) >= 0
    assert sum(report.tools.values()) == report.categories["tool_calls_and_results"]
    assert sum(report.tools_before.values()) == report.categories_before["tool_calls_and_results"]
    count = report.tokens_before
    for each in report.passes:
        assert each.tokens_before == count
        count = each.tokens_after
    assert count == report.tokens_after
    assert report.tokens_saved == sum(each.tokens_saved for each in report.passes)


@pytest.mark.parametrize("counter", [None, len])
@settings(max_examples=25, deadline=None)
@given(conversations())
def test_adds_up(counter, conversation):
    """Categories add up to the whole and passes lead from before to after, whatever the conversation and counter."""
    request, call = conversation.buildable().built()
    pipeline = ContextPipeline([StripForContext(), FailOnPurpose(), CastNarrative()], counter=counter)
    assert_adds_up(pipeline.run(request, call)[1])


async def test_prints_as_a_table():
    """`print(report)` shows each pass, the prefix, the provider's figures, and categories that add up to all."""
    _, pipeline = await reported_run()
    text = str(pipeline.reports[1])
    names = ("scout · scripted-model", "strip_for_context", "whole request", "tool_declarations", "(100 %)", "700")
    assert [name for name in names if name not in text] == []
    assert "media" not in text
    smaller = report()
    for table in map(str, (smaller, ReportTotals.of([smaller]))):
        cells = [[cell.replace(",", "") for cell in line.split()] for line in table.splitlines()]
        saved = {row[0]: int(row[3]) for row in cells if row and row[0] in CATEGORIES}
        assert sum(saved.values()) == smaller.tokens_saved, table


async def test_holds_no_payload(caplog):
    """Neither the report, its repr, its dict nor the log holds what a tool returned, also where a pass quotes it."""
    pipeline = ContextPipeline([StripForContext(), CastNarrative()])
    with caplog.at_level(logging.INFO, "adk_context_pack"):
        await reported_run(pipeline=pipeline)
    for one in pipeline.reports:
        assert SECRET not in repr(one) + str(one) + json.dumps(one.to_dict())
    assert SECRET not in caplog.text
    _, failed = await reported_run(pipeline=ContextPipeline([FailOnPurpose()]))
    assert failed.reports[0].passes[0].error == f"ValueError: cannot read {SECRET}"
    assert failed.reports[0].to_dict()["passes"][0]["error"] == "ValueError"


async def test_a_request_that_cannot_be_counted_does_not_fail_the_run(caplog):
    """Where counting fails the numbers are missing from the report, and the call goes on."""
    events = [user_said("Hello")]
    pipeline = ContextPipeline([BreakTheCount()])
    result, report = pipeline.run(request_for("me", events), call_for("me", events))
    assert len(result.contents) == 2
    assert report.tokens_after == 0 == sum(report.categories.values())
    assert "could not be counted" in caplog.text

"""ResultPass: a pass over tool results of the user's own, and the one runner of them."""

from dataclasses import dataclass

import pytest
from google.adk.agents.llm_agent import LlmAgent

from adk_context_pack import CapRows, ContextPackPlugin, ResultPass, SettingError, StoreError, ToolCall
from adk_context_pack.tools.result_pass import reduce_result
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in


@dataclass(frozen=True, kw_only=True)
class DropHtml(ResultPass):
    """Leaves out a field."""

    field: str = "html"

    async def apply(self, result, call):
        """Returns the result without the field, or the very same one."""
        if not isinstance(result, dict) or self.field not in result:
            return result
        call.note(f"left out {self.field}")
        return {key: value for key, value in result.items() if key != self.field}


@dataclass(frozen=True, kw_only=True)
class Fails(ResultPass):
    """Fails on every result."""

    error: type[Exception] = ZeroDivisionError
    said: str = "a secret payload"

    async def apply(self, result, call):
        """Raises."""
        raise self.error(self.said)


PAGE = {"title": "t", "html": "<b>", "css": "b{}"}


def fetch() -> dict:
    """Fetches a page."""
    return dict(PAGE)


def reader(**settings):
    """An agent that fetches a page and stops."""
    model = ScriptedModel(answer=lambda request: "done" if results_in(request) else call("fetch"))
    return LlmAgent(name="reader", model=model, tools=[fetch], **settings)


async def seen(agent, **settings):
    run = await run_agent(agent, "go", **settings)
    return results_in(run.requests[-1])[0].response


async def test_a_pass_of_ones_own_runs_in_the_plugin_and_as_a_callback():
    """The same instance reduces results for a whole app, for one agent, and reports what it noted."""
    reports = []
    entry = DropHtml(on_report=reports.append)
    plugin = ContextPackPlugin(result_passes=[entry, DropHtml(field="css")])
    assert await seen(reader(), plugins=[plugin]) == {"title": "t"}
    assert await seen(reader(after_tool_callback=[entry])) == {"title": "t", "css": "b{}"}
    assert [(report.tool, report.pass_name, report.notes) for report in reports] == [
        ("fetch", "drop_html", ("left out html",))
    ] * 2
    assert all(report.session_id and report.invocation_id for report in reports)


async def test_passes_run_in_order_and_each_gets_what_the_one_before_made():
    """A later pass sees the result of an earlier one, and one that failed is passed over."""
    passes = (DropHtml(), Fails(), DropHtml(field="css"))
    assert await reduce_result(passes, dict(PAGE), ToolCall(tool_name="fetch")) == {"title": "t"}


@pytest.mark.parametrize(
    ("error", "message", "said"),
    [
        (ZeroDivisionError, "a secret payload", "ZeroDivisionError"),
        (StoreError, "the disk is full", "the disk is full"),
    ],
)
async def test_a_pass_that_fails_is_skipped_logged_and_reported(error, message, said, caplog):
    """The result stays the same object; log and report name the kind of error, and no payload."""
    reports = []
    result = dict(PAGE)
    entry = Fails(error=error, said=message, on_report=reports.append)
    assert await reduce_result([entry], result, ToolCall(tool_name="fetch")) is result
    assert f"a result of fetch stays whole: {said}" in caplog.text
    assert "secret" not in caplog.text
    assert [(report.pass_name, report.error, report.handle) for report in reports] == [("fails", said, None)]


async def test_a_pass_may_raise_in_a_test():
    """With `on_error="raise"` the exception comes through."""
    with pytest.raises(ZeroDivisionError):
        await reduce_result([Fails(on_error="raise")], dict(PAGE), ToolCall(tool_name="fetch"))


@pytest.mark.parametrize(
    "settings",
    [{"on_error": "stop"}, {"on_report": 3}, {"tools": ["a"]}, {"tools": {"a": CapRows()}}, {"tools": {"": None}}],
)
def test_settings_that_cannot_work_fail_when_built(settings):
    """A pass of the user's own checks the shared settings; single tools take settings of the same pass only."""
    with pytest.raises(SettingError, match="DropHtml"):
        DropHtml(**settings)


async def test_notes_are_of_the_pass_that_runs():
    """What one pass noted is not reported by the next."""
    reports = []
    passes = (DropHtml(), DropHtml(field="css", on_report=reports.append))
    await reduce_result(passes, dict(PAGE), ToolCall(tool_name="fetch"))
    assert [report.notes for report in reports] == [("left out css",)]

"""A pass, a counter, a store, a selector, a report that raises: skipped, said, and the run ends as without it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.tool_context import ToolContext

from adk_context_pack import (
    CapRows,
    ClearToolResults,
    CompactState,
    ContextPackPlugin,
    ContextPass,
    ContextPipeline,
    FitTokenBudget,
    OffloadPayload,
    PayloadStore,
    cap_rows,
    offload_payload,
)
from tests.faults.outcome import ending
from tests.support.scripted_model import ScriptedModel, call, results_in

ROWS = [{"id": n, "city": f"city {n}"} for n in range(300)]
TEXT = "all well. " * 3000


class NastyError(Exception):
    """An error whose own text cannot be made."""

    def __str__(self):
        raise RuntimeError("no text")


def list_rows(tool_context: ToolContext) -> dict:
    """Lists rows."""
    tool_context.state["plan"] = [{"id": 1}]
    return {"rows": ROWS}


def read_text() -> str:
    """Reads a text."""
    return TEXT


def agent(*, tools=(list_rows, read_text), **settings) -> LlmAgent:
    """Calls both tools, then answers."""
    return LlmAgent(
        name="a",
        model=ScriptedModel(
            answer=lambda request: "done" if results_in(request) else [call("list_rows"), call("read_text")]
        ),
        tools=list(tools),
        instruction="The plan: {compact:plan?}",
        **settings,
    )


@dataclass(frozen=True, kw_only=True)
class Failing(ContextPass):
    """A pass that fails."""

    error: Exception = field(default_factory=lambda: RuntimeError("broken pass"))

    def apply(self, request, call):
        raise self.error


class FailingStore(PayloadStore):
    """A store of somebody's own."""

    async def put(self, *args, **settings):
        raise LookupError("the secret payload")


def failing(*_):
    raise ZeroDivisionError("the secret payload")


async def same_as_bare(*, requests: bool = True, **settings) -> None:
    """Holds a run with a broken part to the run without the pack."""
    bare, found = await ending(agent()), await ending(agent(), **settings)
    assert found.error == ""
    assert found.same_as(bare)
    if requests:
        assert [request.contents for request in found.requests] == [request.contents for request in bare.requests]


@pytest.mark.parametrize(
    "error", [RuntimeError("broken pass"), NastyError(), RecursionError(), MemoryError()], ids=repr
)
async def test_a_pass_that_raises_alone(error, caplog):
    """As a callback of an agent: skipped, with its traceback in the log."""
    bare = await ending(agent())
    found = await ending(agent(before_model_callback=[Failing(error=error)]))
    assert found.same_as(bare)
    assert "pass failing failed and was skipped" in caplog.text


@pytest.mark.parametrize(
    "error", [RuntimeError("broken pass"), NastyError(), RecursionError(), MemoryError()], ids=repr
)
async def test_a_pass_that_raises_between_others(error):
    """In a pipeline: the others do their work, and the report names the error."""
    pipeline = ContextPipeline([ClearToolResults(), Failing(error=error), FitTokenBudget(max_tokens=50_000)])
    bare = await ending(agent())
    assert (await ending(agent(before_model_callback=[pipeline]))).same_as(bare)
    before, broken, after = pipeline.reports[-1].passes
    assert broken.error.startswith(type(error).__name__)
    assert (before.error, after.error) == (None, None)
    assert type(error).__name__ in str(pipeline.reports[-1])


async def test_a_pass_that_raises_in_the_plugin():
    """For a whole app: the same, and nothing else is touched."""
    plugin = ContextPackPlugin(passes=[Failing()], rows=None, payloads=None)
    await same_as_bare(plugins=[plugin])
    assert [report.passes[0].error for report in plugin.reports] == ["RuntimeError: broken pass"] * 2


@pytest.mark.parametrize(
    "broken", [lambda text: 1 / 0, lambda text: None, lambda text: "many", lambda text: -(10**9)], ids="0nm-"
)
async def test_a_counter_that_raises_or_counts_nonsense(broken):
    """Results and requests as without the pack, or smaller; never a failed run."""
    plugin = ContextPackPlugin(counter=broken, rows=CapRows(counter=broken, max_tokens=500), max_tokens=20_000)
    found = await ending(agent(), plugins=[plugin])
    assert found.error == ""
    assert len(plugin.reports) == len(found.requests) == 2


async def test_a_counter_that_raises_leaves_results_whole(caplog):
    """What needs the counter is left undone, and the log says so."""
    plugin = ContextPackPlugin(
        passes=(), rows=CapRows(counter=failing, max_tokens=9), payloads=OffloadPayload(counter=failing)
    )
    await same_as_bare(plugins=[plugin])
    assert "a result of list_rows stays whole: ZeroDivisionError" in caplog.text
    assert "a result of read_text stays whole: ZeroDivisionError" in caplog.text
    assert "secret" not in caplog.text


async def test_a_counter_that_raises_in_a_pass():
    """The passes that count are skipped and reported; the request goes out as it is."""
    plugin = ContextPackPlugin(
        passes=[
            ClearToolResults(keep_results=0, min_tokens=1, counter=failing),
            FitTokenBudget(max_tokens=9, counter=failing),
        ],
        rows=None,
        payloads=None,
    )
    await same_as_bare(plugins=[plugin])
    assert [each.error_type for each in plugin.reports[-1].passes] == ["ZeroDivisionError"] * 2


def assert_nothing_kept(found) -> None:
    """The run ended well, and each result is short and says why the rest of it is nowhere."""
    assert found.error == ""
    for result in results_in(found.requests[-1]):
        assert "was not kept (LookupError): call " in str(result.response)
        assert len(str(result.response)) < 2500
        assert "_handle" not in result.response
    assert '"rows:' not in found.session


async def test_a_store_that_raises_in_the_plugin(caplog):
    """Results are shown in part and said not to be kept, nothing is stored, the log names the type and no payload."""
    found = await ending(agent(), plugins=[ContextPackPlugin(passes=(), store=FailingStore())])
    assert_nothing_kept(found)
    assert "a result of list_rows could not be kept: LookupError" in caplog.text
    assert "secret" not in caplog.text


async def test_a_store_that_raises_in_wrapped_tools(caplog):
    """The same for tools that are wrapped one by one, and for a report that fails on top of it."""
    settings = {"store": FailingStore(), "on_report": failing}
    tools = [cap_rows(list_rows, max_rows=5, **settings), offload_payload(read_text, **settings)]
    with caplog.at_level(logging.WARNING, logger="adk_context_pack"):
        assert_nothing_kept(await ending(agent(tools=tools)))
    assert "a report could not be given" in caplog.text


async def test_a_selector_that_raises():
    """The instruction keeps its place for the view, the run goes on, and report or log says what happened."""
    plugin = ContextPackPlugin(passes=[CompactState(key="plan", select=failing)], rows=None, payloads=None)
    await same_as_bare(plugins=[plugin], requests=False)
    assert len(plugin.reports) == 2


async def test_a_selector_that_raises_is_said(caplog):
    """By its type, in the log or in the report."""
    pipeline = ContextPipeline([CompactState(key="plan", select=failing)])
    found = await ending(agent(before_model_callback=[pipeline]), state={"plan": [{"id": 1}]})
    assert found.error == ""
    said = [str(each.error) + str(each.note) for report in pipeline.reports for each in report.passes]
    assert "ZeroDivisionError" in caplog.text + str(said)


async def test_an_exporter_that_raises(caplog):
    """A log handler or an exporter of the app's own costs nothing but its report."""

    class Telemetry:
        sent = heard = failing

    await same_as_bare(plugins=[ContextPackPlugin(rows=None, payloads=None, telemetry=Telemetry())])
    assert "a report could not be handed on" in caplog.text

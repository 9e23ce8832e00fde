"""A pass, a counter, a store, a selector, a report that raises: skipped, said, and the run ends as without it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.tool_context import ToolContext

import adk_context_pack as p
from tests.faults.outcome import ending
from tests.support.agents import calling
from tests.support.databases import canonical, kept_results
from tests.support.run import run_agent
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


def list_plain() -> dict:
    """Lists rows."""
    return {"rows": ROWS}


def read_text() -> str:
    """Reads a text."""
    return TEXT


def agent(*, tools=(list_rows, read_text), **settings) -> LlmAgent:
    """Calls both tools, then answers."""
    calls = [("list_rows", {}), ("read_text", {})]
    return calling(*tools, calls=calls, instruction="The plan: {compact:plan?}", **settings)


@dataclass(frozen=True, kw_only=True)
class Failing(p.ContextPass):
    """A pass that fails."""

    error: Exception = field(default_factory=lambda: RuntimeError("broken pass"))

    def apply(self, request, call):
        raise self.error


class FailingStore(p.PayloadStore):
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
async def test_a_pass_that_raises(error, caplog):
    """Alone it is skipped, with its traceback in the log. Between others it is reported, and they do their work."""
    bare = await ending(agent())
    assert (await ending(agent(before_model_callback=[Failing(error=error)]))).same_as(bare)
    assert "pass failing failed and was skipped" in caplog.text
    pipeline = p.ContextPipeline([p.ClearToolResults(), Failing(error=error), p.FitTokenBudget(max_tokens=50_000)])
    assert (await ending(agent(before_model_callback=[pipeline]))).same_as(bare)
    before, broken, after = pipeline.reports[-1].passes
    assert broken.error.startswith(type(error).__name__)
    assert (before.error, after.error) == (None, None)
    assert type(error).__name__ in str(pipeline.reports[-1])


async def test_a_pass_that_raises_in_the_plugin():
    """For a whole app: the same, and nothing else is touched."""
    plugin = p.ContextPackPlugin(passes=[Failing()], rows=None, payloads=None)
    await same_as_bare(plugins=[plugin])
    assert [report.passes[0].error for report in plugin.reports] == ["RuntimeError: broken pass"] * 2


@pytest.mark.parametrize(
    "broken", [lambda text: 1 / 0, lambda text: None, lambda text: "many", lambda text: -(10**9)], ids="0nm-"
)
async def test_a_counter_that_raises_or_counts_nonsense(broken):
    """Results and requests as without the pack, or smaller; never a failed run."""
    plugin = p.ContextPackPlugin(counter=broken, rows=p.CapRows(counter=broken, max_tokens=500), max_tokens=20_000)
    found = await ending(agent(), plugins=[plugin])
    assert found.error == ""
    assert len(plugin.reports) == len(found.requests) == 2


async def test_a_counter_that_raises_leaves_results_whole(caplog):
    """What needs the counter is left undone, and the log says so."""
    plugin = p.ContextPackPlugin(
        passes=(), rows=p.CapRows(counter=failing, max_tokens=9), payloads=p.OffloadPayload(counter=failing)
    )
    await same_as_bare(plugins=[plugin])
    assert "a result of list_rows stays whole: ZeroDivisionError" in caplog.text
    assert "a result of read_text stays whole: ZeroDivisionError" in caplog.text
    assert "secret" not in caplog.text


async def test_a_counter_that_raises_in_a_pass():
    """The passes that count are skipped and reported; the request goes out as it is."""
    plugin = p.ContextPackPlugin(
        passes=[
            p.ClearToolResults(keep_results=0, min_tokens=1, counter=failing),
            p.FitTokenBudget(max_tokens=9, counter=failing),
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
    found = await ending(agent(), plugins=[p.ContextPackPlugin(passes=(), store=FailingStore())])
    assert_nothing_kept(found)
    assert "a result of list_rows could not be kept: LookupError" in caplog.text
    assert "secret" not in caplog.text


async def test_a_store_that_raises_in_wrapped_tools(caplog):
    """The same for tools that are wrapped one by one, and for a report that fails on top of it."""
    settings = {"store": FailingStore(), "on_report": failing}
    tools = [p.cap_rows(list_rows, max_rows=5, **settings), p.offload_payload(read_text, **settings)]
    with caplog.at_level(logging.WARNING, logger="adk_context_pack"):
        assert_nothing_kept(await ending(agent(tools=tools)))
    assert "a report could not be given" in caplog.text


async def test_a_selector_that_raises_is_said(caplog):
    """By its type, in the log or in the report."""
    pipeline = p.ContextPipeline([p.CompactState(key="plan", select=failing)])
    found = await ending(agent(before_model_callback=[pipeline]), state={"plan": [{"id": 1}]})
    assert found.error == ""
    said = [str(each.error) + str(each.note) for report in pipeline.reports for each in report.passes]
    assert "ZeroDivisionError" in caplog.text + str(said)


async def test_an_exporter_that_raises(caplog):
    """A log handler or an exporter of the app's own costs nothing but its report."""

    class Telemetry:
        sent = heard = failing

    await same_as_bare(plugins=[p.ContextPackPlugin(passes=[], result_passes=[], telemetry=Telemetry())])
    assert "a report could not be handed on" in caplog.text


KEY = {"app_name": "app", "user_id": "user", "session_id": "session"}


class Slow:
    """A tool that says when it has begun, and waits for ever the first time."""

    def __init__(self):
        self.begun = asyncio.Event()
        self.calls = 0

    async def slow(self) -> dict:
        """Takes its time."""
        self.calls += 1
        if self.calls == 1:
            self.begun.set()
            await asyncio.sleep(3600)
        return {"status": "ok"}


async def cancelled(task: asyncio.Task) -> bool:
    """Whether the task, once cancelled, ends as a cancelled one, and soon."""
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=20)
    return bool(done) and task.cancelled()


async def test_a_cancellation_in_the_middle_of_a_tool():
    """The cancellation reaches the caller, the session is as without the pack, and so is the next turn."""
    stored, requests = [], []
    for plugins in ([], [p.ContextPackPlugin()]):
        tool, sessions = Slow(), InMemorySessionService()
        settings = {"session_service": sessions, "plugins": plugins}
        task = asyncio.create_task(run_agent(calling(tool.slow), "go", **settings))
        await tool.begun.wait()
        assert await cancelled(task)
        cut = canonical(await sessions.get_session(**KEY))
        after = await ending(calling(tool.slow), "again", sessions=sessions, plugins=plugins)
        assert after.error == ""
        stored.append((cut, after.session))
        requests.append([request.contents for request in after.requests])
    assert stored[0] == stored[1]
    assert requests[0] == requests[1]


async def test_a_cancellation_while_a_result_is_being_kept():
    """A service that hangs does not hold up the cancellation, and nothing is left of the result."""
    begun = asyncio.Event()

    class Hangs(InMemoryArtifactService):
        async def save_artifact(self, **_):
            begun.set()
            await asyncio.sleep(3600)

    plugin = p.ContextPackPlugin(rows=p.CapRows(max_rows=5), store=p.PayloadStore(place="artifacts", timeout_s=3000))
    sessions = InMemorySessionService()
    settings = {"session_service": sessions, "plugins": [plugin]}
    run = run_agent(calling(list_plain), "go", artifact_service=Hangs(), **settings)
    task = asyncio.create_task(run)
    await begun.wait()
    assert await cancelled(task)
    session = await sessions.get_session(**KEY)
    assert kept_results(session.state) == []
    again = await run_agent(calling(list_plain), "again", **settings)
    assert len(kept_results(again.session.state)) == 1


async def test_a_cancellation_of_one_session_leaves_the_others_alone():
    """One plugin, two sessions: the one that is not cancelled ends well, with its rows kept."""
    plugin, tool = p.ContextPackPlugin(rows=p.CapRows(max_rows=5)), Slow()
    one = asyncio.create_task(run_agent(calling(tool.slow), "go", plugins=[plugin], session_id="one"))
    await tool.begun.wait()
    other = asyncio.create_task(run_agent(calling(list_plain), "go", plugins=[plugin], session_id="two"))
    assert await cancelled(one)
    run = await other
    assert run.answer == "done"
    assert len(kept_results(run.session.state)) == 1
    assert plugin.reports.by_session()["two"].calls == 2


ERRORS = [ConnectionError("away"), ValueError("429"), KeyError("k")]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
async def test_a_model_error_between_two_calls(error):
    """The provider's exception, the stored session and the next turn are as without the pack."""
    endings = []
    for plugins in ([], [p.ContextPackPlugin()]):
        left = [call("small"), error, call("small"), "done"]
        model = ScriptedModel(answer=lambda request, left=left: left.pop(0))
        sessions = InMemorySessionService()
        failing = LlmAgent(name="a", model=model, tools=[small])
        cut = await ending(failing, "go", sessions=sessions, plugins=plugins)
        after = await ending(failing, "go on", sessions=sessions, plugins=plugins)
        endings.append((cut, after))
    (bare, bare_after), (packed, packed_after) = endings
    assert bare.error.startswith(type(error).__name__)
    assert packed.same_as(bare)
    assert packed_after.same_as(bare_after)
    assert [each.contents for each in packed_after.requests] == [each.contents for each in bare_after.requests]


async def test_after_a_model_error_what_was_kept_is_there():
    """Rows kept before the error are opened by the next turn, and the failed call has its report."""

    def answer(request):
        if found := results_in(request, "query_rows"):
            return str(found[0].response["rows"])
        if "again" in str(request.contents[-1]):
            handle = results_in(request)[0].response["_handle"]
            return call("query_rows", handle=handle, sql="SELECT COUNT(*) FROM rows")
        return ConnectionError("away") if results_in(request) else call("list_plain")

    plugin, sessions = p.ContextPackPlugin(rows=p.CapRows(max_rows=5)), InMemorySessionService()
    reader = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[list_plain])
    settings = {"session_service": sessions, "artifact_service": InMemoryArtifactService(), "plugins": [plugin]}
    with pytest.raises(ConnectionError):
        await run_agent(reader, "go", **settings)
    run = await run_agent(reader, "again", **settings)
    assert run.answer == "[[300]]"
    assert len(plugin.reports) == 4


async def test_a_tool_error_is_the_tools_own():
    """A wrapped tool that raises ends the run with its own exception, as without the pack."""

    def breaks() -> dict:
        """Breaks."""
        raise FileNotFoundError("no such table")

    bare = await ending(calling(breaks))
    packed = await ending(calling(breaks), plugins=[p.ContextPackPlugin()])
    assert bare.error == "FileNotFoundError: no such table"
    assert packed.same_as(bare)


def small() -> dict:
    """Gives little."""
    return {"status": "ok"}

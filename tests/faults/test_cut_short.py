"""Runs that are cut short, by a cancellation or by the model: they end, and go on, as they would without the pack."""

from __future__ import annotations

import asyncio

import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.sessions.in_memory_session_service import InMemorySessionService

from adk_context_pack import CapRows, ContextPackPlugin, PayloadStore
from tests.faults.outcome import ending
from tests.support.databases import canonical, kept_results
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

ROWS = [{"id": n, "city": f"city {n}"} for n in range(300)]
KEY = {"app_name": "app", "user_id": "user", "session_id": "session"}


def quiet() -> ContextPackPlugin:
    """The plugin, for results that are too small for it to touch."""
    return ContextPackPlugin()


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


def agent(tools, *names) -> LlmAgent:
    """Calls the tools by name at once, then answers with how many results it has."""

    def answer(request):
        if request.contents[-1].parts[-1].function_response:
            return f"{len(results_in(request))} results"
        return [call(name) for name in names]

    return LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=tools)


async def cancelled(task: asyncio.Task) -> bool:
    """Whether the task, once cancelled, ends as a cancelled one, and soon."""
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=20)
    return bool(done) and task.cancelled()


async def test_a_cancellation_in_the_middle_of_a_tool():
    """The cancellation reaches the caller, the session is as without the pack, and so is the next turn."""
    stored, requests = [], []
    for plugins in ([], [quiet()]):
        tool, sessions = Slow(), InMemorySessionService()
        settings = {"session_service": sessions, "plugins": plugins}
        task = asyncio.create_task(run_agent(agent([tool.slow], "slow"), "go", **settings))
        await tool.begun.wait()
        assert await cancelled(task)
        cut = canonical(await sessions.get_session(**KEY))
        after = await ending(agent([tool.slow], "slow"), "again", sessions=sessions, plugins=plugins)
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

    def list_rows() -> dict:
        """Lists rows."""
        return {"rows": ROWS}

    plugin = ContextPackPlugin(rows=CapRows(max_rows=5), store=PayloadStore(place="artifacts", timeout_s=3000))
    sessions = InMemorySessionService()
    settings = {"session_service": sessions, "plugins": [plugin]}
    run = run_agent(agent([list_rows], "list_rows"), "go", artifact_service=Hangs(), **settings)
    task = asyncio.create_task(run)
    await begun.wait()
    assert await cancelled(task)
    session = await sessions.get_session(**KEY)
    assert kept_results(session.state) == []
    again = await run_agent(agent([list_rows], "list_rows"), "again", **settings)
    assert len(kept_results(again.session.state)) == 1


async def test_a_cancellation_of_one_session_leaves_the_others_alone():
    """One plugin, two sessions: the one that is not cancelled ends well, with its rows kept."""

    def list_rows() -> dict:
        """Lists rows."""
        return {"rows": ROWS}

    plugin, tool = ContextPackPlugin(rows=CapRows(max_rows=5)), Slow()
    one = asyncio.create_task(run_agent(agent([tool.slow], "slow"), "go", plugins=[plugin], session_id="one"))
    await tool.begun.wait()
    other = asyncio.create_task(run_agent(agent([list_rows], "list_rows"), "go", plugins=[plugin], session_id="two"))
    assert await cancelled(one)
    run = await other
    assert run.answer == "1 results"
    assert len(kept_results(run.session.state)) == 1
    assert plugin.reports.by_session()["two"].calls == 2


ERRORS = [ConnectionError("away"), ValueError("429"), KeyError("k")]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
async def test_a_model_error_between_two_calls(error):
    """The provider's exception, the stored session and the next turn are as without the pack."""
    endings = []
    for plugins in ([], [quiet()]):
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

    def list_rows() -> dict:
        """Lists rows."""
        return {"rows": ROWS}

    def answer(request):
        if found := results_in(request, "query_rows"):
            return str(found[0].response["rows"])
        if "again" in str(request.contents[-1]):
            handle = results_in(request)[0].response["_handle"]
            return call("query_rows", handle=handle, sql="SELECT COUNT(*) FROM rows")
        return ConnectionError("away") if results_in(request) else call("list_rows")

    plugin, sessions = ContextPackPlugin(rows=CapRows(max_rows=5)), InMemorySessionService()
    reader = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[list_rows])
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

    bare = await ending(agent([breaks], "breaks"))
    packed = await ending(agent([breaks], "breaks"), plugins=[quiet()])
    assert bare.error == "FileNotFoundError: no such table"
    assert packed.same_as(bare)


def small() -> dict:
    """Gives little."""
    return {"status": "ok"}

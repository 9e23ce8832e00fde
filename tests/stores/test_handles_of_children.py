"""Handles made inside an `AgentTool` open in the agents whose requests show them, and nowhere else."""

from __future__ import annotations

import re

import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from pydantic import BaseModel

from adk_context_pack import ContextPackPlugin, PayloadStore
from tests.support.agents import calling
from tests.support.kept import Shelf
from tests.support.plugin_apps import list_sales, read_log
from tests.support.run import run_agent, session_service
from tests.support.scripted_model import ScriptedModel, call, results_in, text_of

HANDLE = re.compile(r"\b[0-9a-hjkmnp-tv-z]{11}\b")
COUNT = "SELECT COUNT(*), MAX(CASE WHEN id = 700 THEN amount END) FROM rows"


def handle_in(text):
    """The handle that a text quotes, letters and digits both in it."""
    return next(word for word in HANDLE.findall(text) if re.search(r"\d", word) and re.search(r"[a-z]", word))


def opened(request, handle, kind):
    """A call that opens a handle with the tool that the request offers, or the reason why it cannot."""
    if kind == "none":
        return "not now"
    how = {"sql": COUNT} if kind == "rows" else {"search": "needle"}
    return call("read_back", handle=handle, **how) if "read_back" in request.tools_dict else "no read_back"


def quoting(name, tool):
    """An agent that calls `tool` and answers with nothing but the handle in the stub."""

    def then(request):
        return f"It is under {handle_in(str(results_in(request)[0].response))}."

    return calling(tool, name=name, then=then, description="d")


def passing_on(name, child):
    """An agent that asks a child and gives its answer on."""
    given = {"calls": [(child.name, {"request": "go"})], "then": lambda asked: results_in(asked)[0].response["result"]}
    return calling(AgentTool(child), name=name, description="d", **given)


def boss(child, kind):
    """An agent that asks a child and opens the handle which the child's answer quotes."""

    def answer(request):
        if found := results_in(request, "read_back"):
            return f"read: {found[-1].response}"
        answered = results_in(request, child.name)
        if not answered:
            return call(child.name, request="go")
        return opened(request, handle_in(answered[-1].response["result"]), kind)

    return LlmAgent(name="boss", model=ScriptedModel(answer=answer), tools=[AgentTool(child)])


PLACES = {place: lambda place=place: place for place in ("state", "artifacts", "auto")}
PLACES["own"] = lambda: PayloadStore(place=Shelf())
KINDS = {"rows": (list_sales, "703"), "payload": (read_log, "4711")}


@pytest.mark.parametrize(("service", "deep"), [("memory", False), ("sqlite", True)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
async def test_a_parent_opens_what_a_child_made(place, kind, service, deep, tmp_path):
    """The parent of a child, or of a child's child, is offered the tool for a quoted handle and opens the result."""
    tool, fact = KINDS[kind]
    child = quoting("child", tool)
    if deep:
        child = passing_on("between", child)
    async with session_service(service, tmp_path) as sessions:
        plugin = ContextPackPlugin(store=PLACES[place]())
        run = await run_agent(boss(child, kind), "go", plugins=[plugin], session_service=sessions)
    assert fact in run.answer


async def test_a_parent_opens_what_a_child_quotes_in_a_structured_answer():
    """A handle in a field of a child's output schema opens like one in its text."""

    class Found(BaseModel):
        result: str

    def then(request):
        return Found(result=handle_in(str(results_in(request)[0].response))).model_dump_json()

    calls = [("list_sales", {})]
    child = calling(list_sales, calls=calls, name="child", then=then, description="d", output_schema=Found)
    run = await run_agent(boss(child, "rows"), "go", plugins=[ContextPackPlugin()])
    assert "703" in run.answer


@pytest.mark.skipif("mode" not in LlmAgent.model_fields, reason="this ADK has no agent modes")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", ["task", "single_turn"])
async def test_a_coordinator_opens_what_a_delegate_made(mode, place):
    """A handle that a task agent or a single-turn agent quotes opens in the agent that delegated to it."""

    def work(request):
        if not (found := results_in(request, "list_sales")):
            return call("list_sales")
        answer = f"It is under {handle_in(str(found[0].response))}."
        return call("finish_task", result=answer) if mode == "task" else answer

    def answer(request):
        if found := results_in(request, "read_back"):
            return str(found[-1].response["rows"])
        answered = results_in(request, "child")
        if not answered:
            return call("child", request="go")
        return opened(request, handle_in(str(answered[-1].response)), "rows")

    child = LlmAgent(name="child", description="d", model=ScriptedModel(answer=work), tools=[list_sales], mode=mode)
    root = LlmAgent(name="boss", model=ScriptedModel(answer=answer), sub_agents=[child])
    run = await run_agent(root, "go", plugins=[ContextPackPlugin(store=PLACES[place]())])
    assert run.answer == "[[1000, 703]]"


async def test_parallel_children_lose_no_handle_of_each_other():
    """Two children that run at once each make a handle, and their parent opens both."""

    def answer(request):
        if found := results_in(request, "read_back"):
            return str([one.response["rows"] for one in found])
        if answered := [*results_in(request, "first"), *results_in(request, "second")]:
            return [opened(request, handle_in(one.response["result"]), "rows") for one in answered]
        return [call("first", request="go"), call("second", request="go")]

    children = [AgentTool(quoting(name, list_sales)) for name in ("first", "second")]
    parent = LlmAgent(name="boss", model=ScriptedModel(answer=answer), tools=children)
    run = await run_agent(parent, "go", plugins=[ContextPackPlugin()])
    assert run.answer == str([[[1000, 703]]] * 2)


@pytest.mark.parametrize("place", PLACES)
async def test_a_child_opens_what_its_parent_was_shown(place):
    """A handle that the parent writes into its request to a child opens within the child."""

    def child_answer(request):
        if found := results_in(request, "read_back"):
            return str(found[-1].response["rows"])
        return opened(request, handle_in(text_of(request)), "rows")

    def answer(request):
        if answered := results_in(request, "child"):
            return answered[-1].response["result"]
        listed = results_in(request, "list_sales")
        return call("child", request=listed[0].response["_handle"]) if listed else call("list_sales")

    child = LlmAgent(name="child", description="d", model=ScriptedModel(answer=child_answer))
    parent = LlmAgent(name="boss", model=ScriptedModel(answer=answer), tools=[AgentTool(child), list_sales])
    run = await run_agent(parent, "go", plugins=[ContextPackPlugin(store=PLACES[place]())])
    assert run.answer == "[[1000, 703]]"


async def test_a_child_opens_what_version_0_1_0_kept_for_its_parent():
    """An entry that names a state key, and that an event of the parent wrote, opens within a child of a later turn."""
    kept = {"rows:list_sales:0123456789a": {"stored": "key", "key": "sales"}, "sales": {"rows": [{"id": 1}] * 7}}

    def answer(request):
        found = results_in(request, "read_back")
        if not found:
            return call("read_back", handle="0123456789a", sql="SELECT COUNT(*) FROM rows")
        return str(found[-1].response["rows"])

    child = LlmAgent(name="child", description="d", model=ScriptedModel(answer=answer))
    between = passing_on("between", child)
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="app", user_id="user", session_id="session")
    await sessions.append_event(session, Event(author="boss", actions=EventActions(state_delta=kept)))
    plugins = [ContextPackPlugin(read_back="always")]
    run = await run_agent(between, "go", plugins=plugins, session_service=sessions)
    assert run.answer == "[[7]]"


@pytest.mark.parametrize("place", PLACES)
async def test_a_later_turn_opens_it_after_a_restart(place, tmp_path):
    """The child's session is gone by the next turn, and the handle opens for a new process's services and agents."""
    settings = {"plugins": [ContextPackPlugin(store=PLACES[place]())], "artifact_service": InMemoryArtifactService()}
    for kind in ("none", "rows"):
        async with session_service("sqlite", tmp_path) as sessions:
            run = await run_agent(boss(quoting("child", list_sales), kind), "go", session_service=sessions, **settings)
    assert "703" in run.answer

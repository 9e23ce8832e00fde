"""ContextPackPlugin in apps of every shape that ADK has."""

from __future__ import annotations

import asyncio
import re

import pytest
from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.exit_loop_tool import exit_loop
from google.genai import types

from adk_context_pack import CapRows, ContextPackPlugin
from tests.support.agents import calling
from tests.support.kept import kept_in_state
from tests.support.plugin_apps import ROWS, analyst, list_sales
from tests.support.run import make_app, run_agent, said
from tests.support.scripted_model import ScriptedModel, call, results_in, text_of

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
FOUND = "There are 1000 sales, the 700th of 703."


async def test_children_of_agent_tool():
    """A child's result is capped and read back within the child; parent and child are reported on apart."""
    given = {"calls": [("analyst", {"request": "count"})], "then": lambda asked: str(results_in(asked)[0].response)}
    parent = calling(AgentTool(analyst()), name="boss", **given)
    plugin = ContextPackPlugin()
    run = await run_agent(parent, "go", plugins=[plugin])
    assert FOUND in run.answer
    assert [report.agent for report in plugin.reports] == ["boss", "analyst", "analyst", "analyst", "boss"]
    assert len(plugin.reports.by_session()) == 2


async def test_transfer_there_and_back():
    """The specialist is told what the host did, the host what came of it, and the user's question stays."""

    def host(request):
        if FOUND in text_of(request):
            return "Back again: " + FOUND
        return call("transfer_to_agent", agent_name="specialist")

    def specialist(request):
        if found := results_in(request, "read_back"):
            assert found[0].response["rows"] == [[1000, 703]]
            return [types.Part(text=FOUND), call("transfer_to_agent", agent_name="host")]
        if listed := results_in(request, "list_sales"):
            sql = "SELECT COUNT(*), MAX(CASE WHEN id = 700 THEN amount END) FROM rows"
            return call("read_back", handle=listed[0].response["_handle"], sql=sql)
        assert "How many sales?" in text_of(request)
        return call("list_sales")

    special = LlmAgent(name="specialist", model=ScriptedModel(answer=specialist), tools=[list_sales])
    root = LlmAgent(name="host", model=ScriptedModel(answer=host), sub_agents=[special])
    run = await run_agent(root, "How many sales?", plugins=[ContextPackPlugin()])
    assert run.answer == "Back again: " + FOUND
    assert all("How many sales?" in text_of(request) for request in run.requests)
    assert len(text_of(run.requests[-1])) < 2_000


async def test_parallel_agents_with_parallel_calls():
    """Each result of each agent gets a handle of its own, and none is lost."""
    agents = [analyst(f"analyst_{number}", calls=3) for number in range(3)]
    run = await run_agent(ParallelAgent(name="all", sub_agents=agents), "go", plugins=[ContextPackPlugin()])
    kept = [kept_in_state(value, run) for key, value in run.session.state.items() if key.startswith("rows:list_sales:")]
    assert kept == [{"rows": ROWS}] * 9
    assert sorted(said(event) for event in run.events if said(event)) == [FOUND] * 3


async def test_loops():
    """Every round is reported on, and the second one sees the first one's work retold."""

    def review(request):
        said_before = text_of(request).count(FOUND)
        return call("exit_loop") if said_before >= 2 else f"Round {said_before}: again."

    reviewer = LlmAgent(name="reviewer", model=ScriptedModel(answer=review), tools=[exit_loop])
    loop = LoopAgent(name="loop", sub_agents=[analyst(), reviewer], max_iterations=4)
    plugin = ContextPackPlugin()
    run = await run_agent(loop, "go", plugins=[plugin])
    assert len(run.requests_of("reviewer")) == 2
    assert plugin.reports.totals().calls == len(run.requests)
    assert "[reviewer] said: Round 1: again." in text_of(run.requests_of("analyst")[-1])


async def test_a_workflow_of_function_and_agent_nodes():
    """Nodes hand on what they handed on before; an agent node's results are capped and read back."""
    workflow = pytest.importorskip("google.adk.workflow", reason="this ADK has no Workflow")
    got = []

    def first(node_input: str) -> str:
        return "Count the sales."

    def last(node_input: str) -> str:
        got.append(node_input)
        return "done"

    flow = workflow.Workflow(name="flow", edges=[("START", first, analyst(), last)])
    plugin = ContextPackPlugin()
    run = await run_agent(flow, "go", plugins=[plugin])
    assert got == [FOUND]
    assert len(run.requests) == 3
    assert plugin.reports.totals().calls == 3
    assert results_in(run.requests[-1], "list_sales")[0].response["_row_limits"]["rows"]["total"] == len(ROWS)


@pytest.mark.skipif("mode" not in LlmAgent.model_fields, reason="this ADK has no agent modes")
@pytest.mark.parametrize("mode", ["task", "single_turn"])
async def test_task_and_single_turn_agents(mode):
    """An agent that a coordinator delegates to works as without the plugin, with its results capped."""

    def coordinator(request):
        if found := results_in(request, "analyst"):
            return f"It says {found[-1].response}"
        return call("analyst", request="Count the sales.")

    def specialist(request):
        if results_in(request, "read_back"):
            return call("finish_task", result=FOUND) if mode == "task" else FOUND
        if listed := results_in(request, "list_sales"):
            return call("read_back", handle=listed[0].response["_handle"], sql="SELECT COUNT(*), 703 FROM rows")
        return call("list_sales")

    agent = LlmAgent(
        name="analyst", model=ScriptedModel(answer=specialist), description="Counts.", tools=[list_sales], mode=mode
    )
    root = LlmAgent(name="boss", model=ScriptedModel(answer=coordinator), sub_agents=[agent])
    plugin = ContextPackPlugin()
    run = await run_agent(root, "go", plugins=[plugin])
    assert FOUND in run.answer
    assert {report.agent for report in plugin.reports} == {"boss", "analyst"}
    assert "read_back" in run.requests_of("analyst")[-1].tool_names


@pytest.mark.slow
async def test_many_sessions_at_once_on_one_instance():
    """Forty sessions in flight: each opens its own rows only, and reports and state keep to their session."""
    tables = {f"s{number}": [{"id": n, "owner": f"s{number}"} for n in range(200 + number)] for number in range(40)}

    async def list_mine(tool_context) -> dict:
        """Lists my rows."""
        await asyncio.sleep(0)
        return {"rows": tables[tool_context._invocation_context.session.id]}

    def answer(request):
        if found := results_in(request, "read_back"):
            return str(found[-1].response["rows"])
        if listed := results_in(request, "list_mine"):
            sql = "SELECT owner, COUNT(*) FROM rows GROUP BY owner"
            return call("read_back", handle=listed[-1].response["_handle"], sql=sql)
        return call("list_mine")

    async def answered(request):
        await asyncio.sleep(0)
        return answer(request)

    plugin = ContextPackPlugin()
    agent = LlmAgent(name="a", model=ScriptedModel(answer=answered), tools=[list_mine])
    runner = InMemoryRunner(app=make_app(agent, plugins=[plugin]))

    async def one(session_id):
        await runner.session_service.create_session(app_name="app", user_id="u", session_id=session_id)
        message = types.Content(role="user", parts=[types.Part(text="go")])
        stream = runner.run_async(user_id="u", session_id=session_id, new_message=message)
        return [said(event) async for event in stream][-1]

    answers = await asyncio.gather(*map(one, tables))
    assert answers == [str([[name, len(rows)]]) for name, rows in tables.items()]
    for name, rows in tables.items():
        session = await runner.session_service.get_session(app_name="app", user_id="u", session_id=name)
        (kept,) = [value for key, value in session.state.items() if key.startswith("rows:")]
        assert kept_in_state(kept, runner) == {"rows": rows}
        of_session = [report for report in plugin.reports if report.session_id == name]
        marks = [e.custom_metadata["adk_context_pack"] for e in session.events if e.custom_metadata]
        assert marks == [report.to_totals() for report in of_session]
        assert len(marks) == 3
    assert {total.calls for total in plugin.reports.by_session().values()} == {3}


@pytest.mark.parametrize("rows", [300, 3000])
async def test_a_writer_without_tools_reads_back_what_it_is_shown_in_part(rows):
    """A table by the handle that the account shows, and an uncapped result by its event; nothing else is offered."""

    def list_all() -> dict:
        """Lists."""
        return {"rows": [{"id": number, "city": f"city {number * 7919}"} for number in range(rows)]}

    def write(request):
        if results_in(request):
            return f"The last city: {str(results_in(request)[-1].response)[-4000:]}"
        text = text_of(request)
        if "_handle" in text:
            handle = re.search(r"_handle\W+([0-9a-z]{11})", text)[1]
            return call("read_back", handle=handle, sql=f"SELECT city FROM rows WHERE id = {rows - 1}")
        event_id = re.search(r"handle='([^']+)'", text)[1]
        return call("read_back", handle=event_id, offset=rows * 20)

    team = SequentialAgent(
        name="team",
        sub_agents=[
            LlmAgent(
                name="lister",
                model=ScriptedModel(answer=lambda r: "Listed." if results_in(r) else call("list_all")),
                tools=[list_all],
            ),
            LlmAgent(name="writer", model=ScriptedModel(answer=write)),
        ],
    )
    caps = CapRows(max_rows=100) if rows > 1000 else None
    run = await run_agent(team, "List.", plugins=[ContextPackPlugin(rows=caps, payloads=None)])
    asked, answered = run.requests_of("writer")
    assert asked.tool_names == ["read_back"]
    assert f"city {(rows - 1) * 7919}" in run.answer
    assert answered.tool_names == asked.tool_names

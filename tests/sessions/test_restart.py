"""After a restart: what was kept, capped and summarized is what it was, on SQLite and on PostgreSQL."""

from __future__ import annotations

import math

import pytest
from google.adk.agents import LlmAgent, SequentialAgent

from adk_context_pack import ContextPackPlugin, DataSummarizer, PayloadStore, load_payload, query_rows, read_payload
from tests.support.databases import kept_results
from tests.support.in_tool import in_tool
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ODD = {
    "nul": "a\0b",
    "surrogate": "a\ud800b",
    "separators": "\u2028\u2029\x1f",
    "nan": [math.inf, -math.inf],
    "large": 2**70,
    "float": [0.1, 1e300, 5e-324, -0.0],
    "keys": {"": 1, "a.b": 2, "\0": 3, "é" * 40: 4},
    "long": "é" * 70_000,
}


@pytest.mark.parametrize("name", ODD)
async def test_odd_values_are_kept_exactly(lasting, name):
    """What a database would refuse or change comes back as it was, and the run that stored it ends well."""
    value = {"value": ODD[name]}
    async with lasting.open() as sessions:
        handle = await in_tool(
            lambda context: PayloadStore(place="state").put(context, value, tool_name="t"), session_service=sessions
        )
    async with lasting.open() as sessions:
        found = await in_tool(lambda context: load_payload(context, handle), session_service=sessions)
    assert repr(found) == repr(value)


async def test_answers_with_odd_characters_end_no_run(lasting):
    """Rows and texts with NUL and lone surrogates are read back by tools whose answers the database can store."""
    rows = [{"id": n, "text": "a\0b" if n == 7 else "c\ud800d" if n == 8 else "plain"} for n in range(50)]
    outcome = {}

    async def store(context):
        settings = {"tool_name": "t"}
        outcome["rows"] = await PayloadStore(place="state").put(context, rows, **settings)
        outcome["text"] = await PayloadStore(place="state").put(context, "x\0y\ud800z " * 9, kind="payload", **settings)

    def answer(request):
        if request.contents[-1].parts[-1].function_response:
            return "done"
        sql = "SELECT text FROM rows WHERE id IN (7, 8, 9)"
        return [
            call("query_rows", handle=outcome["rows"], sql=sql),
            call("query_rows", handle=outcome["rows"], sql="SELECT 'a' || char(0) AS x, no_such FROM rows"),
            call("read_payload", handle=outcome["text"]),
            call("read_payload", handle=outcome["text"], search="y"),
        ]

    async with lasting.open() as sessions:
        await in_tool(store, session_service=sessions)
    agent = LlmAgent(name="reader", model=ScriptedModel(answer=answer), tools=[query_rows, read_payload])
    async with lasting.open() as sessions:
        run = await run_agent(agent, "read", session_service=sessions)
    assert run.answer == "done"
    queried, refused, page, matched = [result.response for result in results_in(run.requests[-1])]
    assert len(queried["rows"]) == 3
    assert queried["rows"][2] == ["plain"]
    assert "error" in refused
    assert page["text"].startswith("x")
    assert matched["matches"]


async def test_summaries_capped_rows_and_handles_survive(lasting):
    """The stub in the history, the rows behind it and the summary are the same through a new service."""

    def list_sales() -> dict:
        """Lists sales."""
        return {"rows": [{"id": f"c{n}", "clicks": n, "cost_micros": n * 10**6} for n in range(500)]}

    agents = [
        LlmAgent(
            name="analyst",
            model=ScriptedModel(answer=lambda request: "done" if results_in(request) else call("list_sales")),
            tools=[list_sales],
        ),
        DataSummarizer(name="summarizer", source="list_sales"),
    ]
    team = SequentialAgent(name="team", sub_agents=agents)
    async with lasting.open() as sessions:
        run = await run_agent(team, "go", session_service=sessions, plugins=[ContextPackPlugin(store="state")])
        before = run.session
    async with lasting.open() as sessions:
        after = await sessions.get_session(app_name="app", user_id="user", session_id="session")
        (key,) = kept_results(after.state)
        rows = await in_tool(lambda context: load_payload(context, key.rpartition(":")[2]), session_service=sessions)
    assert rows == list_sales()
    stub = next(response.response for event in after.events for response in event.get_function_responses())
    assert stub["_row_limits"] == {"rows": {"shown": 3, "total": 500}}
    assert stub["rows"] == list_sales()["rows"][:3]
    assert after.state["summarized_results"] == before.state["summarized_results"]
    (summary,) = after.state["summarized_results"].values()
    assert summary["totals"]["clicks"] == sum(range(500))

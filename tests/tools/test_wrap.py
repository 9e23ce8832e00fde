"""Wrapping: what stays of a tool, and what is left alone."""

import importlib
import logging
import sys
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool

from adk_context_pack import SettingError, cap_rows
from adk_context_pack.tools.wrap import wrap_tool
from tests.support.agents import calling
from tests.support.run import run_agent
from tests.support.scripted_model import results_in


async def doubled(tool, args, tool_context, result):
    """Reduces by doubling, which is seen."""
    return {"tool": tool.name, "args": args, "result": result * 2}


class Counter(BaseTool):
    """A tool that keeps a count on itself."""

    def __init__(self):
        super().__init__(name="counter", description="counts")
        self.count = 0

    async def run_async(self, *, args, tool_context):
        self.count += 1
        return self.count


async def test_the_reducer_gets_tool_arguments_and_result():
    """What the reducer returns is what the model gets."""
    tool = Counter()
    wrapped = wrap_tool(tool, doubled)
    assert await wrapped.run_async(args={"a": 1}, tool_context=None) == {
        "tool": "counter",
        "args": {"a": 1},
        "result": 2,
    }
    assert tool.count == 0
    assert wrapped.count == 1


async def test_a_node_of_a_workflow_is_a_tool():
    """Where LlmAgent takes nodes as tools (2.x), they can be wrapped; an agent cannot, there as here."""
    workflow = pytest.importorskip("google.adk.workflow")
    module = importlib.import_module("google.adk.agents.llm_agent")
    if not hasattr(module, "_wrap_base_node_as_tool"):
        pytest.skip("this ADK takes no nodes as tools")

    def number(start: int) -> int:
        """Gives a number."""
        return start + 1

    tool = wrap_tool(workflow.FunctionNode(func=number, name="number"), doubled)
    run = await run_agent(calling(tool, calls=[("number", {"start": 3})]), "go")
    assert results_in(run.requests[-1])[0].response["tool"] == "number"
    with pytest.raises(SettingError, match="tool must be"):
        wrap_tool(LlmAgent(name="no_tool", model="scripted-model"), doubled)


SERVER = Path(__file__).parents[1] / "support" / "mcp_server.py"


def mcp_toolset(**settings):
    """A toolset over the server of these tests; skips where this ADK cannot use the mcp package that is installed."""
    mcp = pytest.importorskip("mcp")
    try:
        toolset = importlib.import_module("google.adk.tools.mcp_tool.mcp_toolset")
        manager = importlib.import_module("google.adk.tools.mcp_tool.mcp_session_manager")
    except ImportError as error:
        pytest.skip(f"this ADK cannot use the installed mcp package: {error}")
    server = mcp.StdioServerParameters(command=sys.executable, args=[str(SERVER)])
    kind = getattr(toolset, "McpToolset", None) or toolset.MCPToolset
    return kind(connection_params=manager.StdioConnectionParams(server_params=server, timeout=60), **settings)


ONCE = "see structuredContent"


@pytest.mark.slow
async def test_an_mcp_server_over_stdio(caplog):
    """Rows are cut, or said once, errors pass, the prefix holds, the server ends with its toolset."""
    toolset = cap_rows(mcp_toolset(tool_name_prefix="ads"), stub_rows=5)
    calls = [
        ("ads_list_rows", {"count": 150}),
        ("ads_list_items", {"count": 150}),
        ("ads_fail", {"reason": "no quota"}),
        ("ads_list_rows", {"count": 2}),
    ]
    agent = calling(toolset, calls=calls)
    try:
        run = await run_agent(agent, "go")
    finally:
        with caplog.at_level(logging.ERROR):
            await toolset.close()
    rows, items, failed, small = (result.response for result in results_in(run.requests[-1]))
    assert set(run.requests[0].tool_names) == {"ads_list_rows", "ads_list_items", "ads_fail"}
    assert len(rows["structuredContent"]["rows"]) == 5
    assert ONCE in str(rows["content"])
    assert rows["isError"] is False
    assert rows["_row_limits"]["rows"] == {"shown": 5, "total": 150}
    assert f"clicks,{sum(3 * number for number in range(150))}," in rows["_row_facts"]["rows"]["numbers"]
    assert len(items["structuredContent"]["result"]) == 5
    assert ONCE in str(items["content"])
    assert failed["isError"] is True
    assert "_row_limits" not in failed
    assert "_row_limits" not in small
    kept = [key for key in run.session.state if key.startswith("rows:")]
    assert [key.split(":")[1] for key in kept] == ["ads_list_rows", "ads_list_items"]
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


API = {
    "openapi": "3.0.0", "info": {"title": "Rows", "version": "1"}, "servers": [{"url": "http://127.0.0.1:1"}],
    "paths": {"/rows": {"get": {
        "operationId": "list_rows", "description": "Lists rows.", "responses": {"200": {"description": "ok"}},
        "parameters": [{"name": "account", "in": "query", "schema": {"type": "string"}}],
    }}},
}  # fmt: skip


async def test_an_openapi_toolset(monkeypatch):
    """A REST tool is declared as before and its rows are capped."""
    module = importlib.import_module("google.adk.tools.openapi_tool.openapi_spec_parser.openapi_toolset")
    rest = importlib.import_module("google.adk.tools.openapi_tool.openapi_spec_parser.rest_api_tool")
    inner = module.OpenAPIToolset(spec_dict=API)

    async def answered(self, *, args, tool_context):
        return {"rows": [{"n": number} for number in range(300)], "account": args["account"]}

    # The call itself; everything before it (declaration, auth, arguments) is ADK's own.
    monkeypatch.setattr(rest.RestApiTool, "call", answered)
    toolset = cap_rows(inner, stub_rows=7)
    before = [tool._get_declaration() for tool in await inner.get_tools()]
    assert [tool._get_declaration() for tool in await toolset.get_tools()] == before
    run = await run_agent(calling(toolset, calls=[("list_rows", {"account": "a1"})]), "go")
    response = results_in(run.requests[-1])[0].response
    assert response["_row_limits"] == {"rows": {"shown": 7, "total": 300}}
    assert response["account"] == "a1"
    await toolset.close()


class Gate(BaseToolset):
    """A toolset that shows a tool only to whom it knows, and needs credentials."""

    def __init__(self, config=None):
        super().__init__()
        self.asked = []
        self.config = config

    async def get_tools(self, readonly_context=None):
        self.asked.append(readonly_context)
        return [FunctionTool(look)] if readonly_context is not None and readonly_context.agent_name == "analyst" else []

    def get_auth_config(self):
        return self.config

    async def close(self):
        self.asked.append("closed")


def look() -> dict:
    """Looks."""
    return {"rows": [{"a": number} for number in range(300)]}


async def test_the_inner_toolset_knows_who_asks():
    """A toolset that decides by agent what it offers is asked with that agent's context."""
    gate = Gate()
    run = await run_agent(calling(cap_rows(gate, stub_rows=10)), "go")
    assert results_in(run.requests[-1])[0].response["_row_limits"]["rows"] == {"shown": 10, "total": 300}
    assert await cap_rows(gate).get_tools() == []

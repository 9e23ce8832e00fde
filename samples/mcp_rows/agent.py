"""Capping an MCP toolset over stdio: `adk run samples/mcp_rows` (needs `pip install mcp`).

A whole toolset is wrapped at once, and each tool's declaration stays as the server gives it. An MCP result holds its
rows twice, as text and as `structuredContent`; the model gets ten of them once, and can query all.
"""

import sys
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
from google.genai import types
from mcp import StdioServerParameters

from adk_context_pack import cap_rows, read_back
from adk_context_pack.testing import ScriptedModel, call, results_in


def answer(request: LlmRequest) -> str | types.Part:
    """Lists the stock, then asks what has run out among all items."""
    if answers := results_in(request, "read_back"):
        reply = answers[-1]
        return f"{reply['rows'][0][0]} of 800 items have run out." if "rows" in reply else f"No: {reply}"
    if stock := results_in(request, "list_stock"):
        sql = "SELECT COUNT(*) FROM rows WHERE count = 0"
        return call("read_back", handle=stock[-1]["_handle"], sql=sql)
    return call("list_stock")


server = StdioServerParameters(command=sys.executable, args=[str(Path(__file__).with_name("server.py"))])
toolset = McpToolset(connection_params=StdioConnectionParams(server_params=server, timeout=60))

root_agent = LlmAgent(
    name="stock_keeper",
    model=ScriptedModel(answer=answer),
    tools=[cap_rows(toolset, max_rows=10), read_back],
)

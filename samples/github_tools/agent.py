"""GitHub's MCP tools on demand, and a long list of issues in a few lines: `adk run samples/github_tools`.

It needs `pip install mcp`. The model is shown `find_tools` and `use_tool` in place of 44 declarations, and of 300 open
issues a few with exact facts about all. It asks for the rest in SQL.
"""

import json
import sys
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
from google.genai import types
from mcp import StdioServerParameters

from adk_context_pack import ContextPackPlugin, defer_tools
from adk_context_pack.testing import ScriptedModel, call, results_in

QUESTIONS = ["Which open bug of acme/shop that nobody works on is discussed most? Ask there whether it still happens."]
WORST = "SELECT number FROM rows WHERE label = 'bug' AND assignee IS NULL ORDER BY comments DESC LIMIT 1"
SHOP = {"owner": "acme", "repo": "shop"}


def use(request: LlmRequest, query: str, name: str, **args: Any) -> types.Part:
    """Calls a tool by its name if all tools are declared. Otherwise it finds one by a query, and then uses that."""
    if "find_tools" not in request.tools_dict:
        return call(name, **args)
    newest = (request.contents[-1].parts or [types.Part()])[-1].function_response
    if newest is None or newest.name != "find_tools":
        return call("find_tools", query=query)
    found = (newest.response or {})["tools"]
    return call("use_tool", name=found[0]["name"], args=json.dumps(args))


def answer(request: LlmRequest) -> str | types.Part:
    """Lists the issues, looks for the bug among them, and comments on it."""
    used = [result for name in ("use_tool", "list_issues", "add_issue_comment") for result in results_in(request, name)]
    if not used:
        return use(request, "list the open issues of a repository", "list_issues", state="open", **SHOP)
    if len(used) > 1:
        return f"Asked at {used[1]['structuredContent']['html_url']}."
    if asked := results_in(request, "read_back"):
        number = asked[0]["rows"][0][0]
    elif "_handle" in used[0]:
        return call("read_back", handle=used[0]["_handle"], sql=WORST)
    else:
        issues = used[0]["structuredContent"]["issues"]
        free = [issue for issue in issues if issue["label"] == "bug" and not issue["assignee"]]
        number = max(free, key=lambda issue: int(issue["comments"]))["number"]
    body = "Does this still happen?"
    return use(request, "comment on an issue", "add_issue_comment", issue_number=number, body=body, **SHOP)


server = StdioServerParameters(command=sys.executable, args=[str(Path(__file__).with_name("server.py"))])
toolset = McpToolset(connection_params=StdioConnectionParams(server_params=server, timeout=60))
plugin = ContextPackPlugin()


def app_with(tools: McpToolset | Any, *plugins: ContextPackPlugin) -> App:
    """Returns the app with the server's tools, declared one by one or on demand."""
    maintainer = LlmAgent(name="maintainer", model=ScriptedModel(answer=answer), tools=[tools])
    return App(name="github_tools", root_agent=maintainer, plugins=list(plugins))


app = app_with(defer_tools(toolset), plugin)
without_pack = app_with(toolset)

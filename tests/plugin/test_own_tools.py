"""The tools of ADK and of the pack beside the plugin: known by what they are, and not by what they are called."""

from __future__ import annotations

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool

from adk_context_pack import ContextPackPlugin
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in
from tests.support.spans import warned

LONG = "Then weigh each box, and write its number on the lid in pencil. " * 200


def stepping(*steps):
    """Returns a model that takes one step at each call, and speaks when there is none left."""
    left = list(steps)
    return ScriptedModel(answer=lambda _: left.pop(0) if left else "Done.")


def load_artifacts() -> dict:
    """Loads the boxes of a museum."""
    return {"text": LONG}


def query_rows(handle: str) -> dict:
    """Queries the rows of boxes on a shelf."""
    return {"text": f"{handle} {LONG}"}


@pytest.mark.parametrize("tool", [load_artifacts, query_rows])
@pytest.mark.parametrize("shadow", [False, True])
async def test_a_tool_of_the_app_is_shortened_whatever_it_is_called(tool, shadow):
    """Its name is that of one of ADK's or the pack's, and its result is stored like any other."""
    plugin = ContextPackPlugin(shadow=shadow)
    args = {"handle": "A"} if tool is query_rows else {}
    run = await run_agent(
        LlmAgent(name="a", model=stepping(call(tool.__name__, **args)), tools=[FunctionTool(tool)]),
        "Go.",
        plugins=[plugin],
    )
    (report,) = plugin.result_reports
    assert (report.tool, report.tokens_saved > 1000) == (tool.__name__, True)
    shown = results_in(run.requests[-1], tool.__name__)[0].response
    assert (LONG in str(shown)) is shadow


async def test_a_tool_in_the_place_of_the_packs_is_told():
    """An app's own `read_back` keeps the pack's away, as a warning says once. Others open what stubs say they open."""
    tools = [tool("read_back", LONG)]

    def answer(request):
        if opened := results_in(request, "read_payload"):
            return str(opened[-1].response)[-90:]
        if not (shown := results_in(request, "read_back")):
            return call("read_back")
        return call("read_payload", handle=shown[0].response["result"].partition("handle='")[2][:11])

    model = ScriptedModel(answer=answer)
    with warned() as texts:
        run = await run_agent(LlmAgent(name="a", model=model, tools=tools), "Go.", plugins=[ContextPackPlugin()])
    assert sum("has the name 'read_back'" in text for text in texts) == 1
    told = str(results_in(run.requests[1], "read_back")[0].response)
    assert ("read_payload" in told, "read_back" in told) == (True, False), told
    assert "pencil" in run.requests[-1].text


def tool(name, value):
    """A tool of this name that returns a value."""

    def fetch():
        return value

    fetch.__name__ = fetch.__doc__ = name
    return fetch

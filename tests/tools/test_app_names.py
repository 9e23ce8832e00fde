"""Names of agents and tools in settings that the app does not have speak up once, and only those."""

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool

from adk_context_pack import CapRows, ContextPackPlugin, PackSettings, StripForContext, cap_rows, default_passes
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in
from tests.support.spans import warned

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def search():
    """Searches."""
    return {"rows": [{"n": n} for n in range(300)]}


class Tools(BaseToolset):
    async def get_tools(self, readonly_context=None):
        return [FunctionTool(search)]

    async def close(self):
        pass


def one(name, *tools, **settings):
    def answer(request):
        return call("search") if "search" in request.tools_dict and not results_in(request) else "done"

    return LlmAgent(name=name, model=ScriptedModel(answer=answer), tools=list(tools), **settings)


def team(*tools, **settings):
    return SequentialAgent(name="team", sub_agents=[one("researcher", *tools, **settings), one("writer")])


async def said_by(agent, *plugins):
    with warned() as texts:
        await run_agent(agent, "go", "again", plugins=plugins)
    return texts


@pytest.mark.parametrize(("name", "hint"), [
    ("writter", " (did you mean 'writer'?)"), ("legacy", ""), ("Writer", " (did you mean 'writer'?)"),
])  # fmt: skip
async def test_an_agent_that_the_app_does_not_have_is_named_once(name, hint):
    """The warning has the name and the nearest agent."""
    for setting, given in {
        "agents": {"agents": {name: None}},
        "keep_agents of a pass": {"passes": [StripForContext(keep_agents=[name])]},
    }.items():
        (text,) = await said_by(team(), ContextPackPlugin(**given))
        assert text == f"ContextPackPlugin: {setting} names {name!r}, which the app does not have{hint}"


@pytest.mark.parametrize("hidden", [[Tools()], [search, Tools()]])
async def test_a_name_that_a_toolset_may_have_is_not_named(hidden):
    """Behind a toolset there may be more tools, so that only a misspelling is a mistake."""
    plugin = ContextPackPlugin(rows=CapRows(tools={"search_docs_and_pages": None}))
    assert not await said_by(team(*hidden), plugin)


@pytest.mark.parametrize("place", ["plugin", "agent", "wrapper", "one_agent", "history"])
async def test_a_tool_that_the_app_does_not_have_is_named_once(place):
    """In the plugin or one of its passes, in `after_tool_callback` and around a tool, the nearest one is named."""
    rows = CapRows(tools={"saerch": None}, max_rows=5)
    if place == "plugin":
        texts = await said_by(team(search), ContextPackPlugin(rows=rows))
    elif place == "one_agent":
        texts = await said_by(team(search), ContextPackPlugin(agents={"researcher": PackSettings(rows=rows)}))
    elif place == "history":
        passes = default_passes(max_tokens=9_000, keep_tools=["saerch"])
        texts = await said_by(team(search), ContextPackPlugin(passes=passes))
    elif place == "agent":
        texts = await said_by(team(search, after_tool_callback=[rows]))
    else:
        texts = await said_by(team(cap_rows(search, tools={"saerch": None})))
    (text,) = texts
    assert text.endswith(" names 'saerch', which the app does not have (did you mean 'search'?)")


@pytest.mark.parametrize("settings", [{"search": CapRows(max_rows=9)}, {"search": None}])
async def test_a_tool_of_any_agent_is_known(settings):
    """A tool that another agent has is part of the app, too."""
    assert not await said_by(team(search), ContextPackPlugin(rows=CapRows(tools=settings)))


async def test_the_app_is_walked_once(monkeypatch):
    """After the first call, nothing is looked up, whatever was found."""
    plugin = ContextPackPlugin(agents={"writer": None, "legacy": None})
    await said_by(team(), plugin)
    walks = []
    monkeypatch.setattr("adk_context_pack.tools.result_pass.agents_in", walks.append)
    await said_by(team(), plugin)
    assert not walks

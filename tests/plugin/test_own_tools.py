"""The tools of ADK and of the pack beside the plugin: known by what they are, and not by what they are called."""

import json

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.load_memory_tool import LoadMemoryTool
from google.genai import types

from adk_context_pack import ContextPackPlugin, ContextPipeline, RecallMemory, defer_tools, resolve_results
from adk_context_pack.tools.find_and_use import FindTools
from tests.support.references import Taker, agent_of, handle_in
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

LONG = "Then weigh each box, and write its number on the lid in pencil. " * 200


def schema(fields):
    """Returns a schema with so many fields."""
    field = {"type": "integer", "description": "Words on a field. " * 9}
    return {"type": "object", "properties": {f"field_{n}": field for n in range(fields)}}


class Declared(BaseTool):
    """A tool with a long declaration."""

    def __init__(self, *, name, description, fields=8):
        super().__init__(name=name, description=description)
        self._schema = schema(fields)

    def _get_declaration(self):
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._schema
        )

    async def run_async(self, *, args, tool_context):
        return {"done": self.name, **args}


def deferring():
    """Returns a toolset whose search gives more than the plugin's limit for a result."""
    return defer_tools(*(Declared(name=f"weigh_boxes_{n}", description="Weighs boxes.") for n in range(5)))


def stepping(*steps):
    """Returns a model that takes one step at each call, and speaks when there is none left."""
    left = list(steps)
    return ScriptedModel(answer=lambda _: left.pop(0) if left else "Done.")


async def test_what_find_tools_found_is_whole_for_as_long_as_the_session_lasts():
    """Turns later the model reads every schema to the letter, and no search of the history is declared for it."""
    use = call("use_tool", name="weigh_boxes_1", args=json.dumps({"field_1": 1}))
    model = stepping(call("find_tools", query="weigh boxes"), use, "Weighed.", use)
    run = await run_agent(
        LlmAgent(name="a", model=model, tools=[deferring()]),
        *("Weigh.", "Again.", "And?"),
        plugins=[ContextPackPlugin()],
    )
    for request in run.requests[1:]:
        found = results_in(request, "find_tools")[0].response
        assert [tool["parameters"] for tool in found["tools"]] == [schema(8)] * 5
        assert request.tool_names == ["find_tools", "use_tool"]


async def test_a_wrong_call_of_a_found_tool_is_answered_with_its_whole_schema():
    """What `use_tool` says of a mistake is no result to be shortened, however long the schema in it is."""
    wrong = call("use_tool", name="weigh_boxes", args=json.dumps({"field_1": "many"}))
    tool = Declared(name="weigh_boxes", description="Weighs.", fields=100)
    run = await run_agent(
        LlmAgent(name="a", model=stepping(wrong), tools=[defer_tools(tool)]), "Weigh.", plugins=[ContextPackPlugin()]
    )
    assert results_in(run.requests[-1], "use_tool")[0].response["parameters"] == schema(100)


class Renaming(BaseToolset):
    """A toolset of an app that gives ADK's tools under names of its own."""

    def __init__(self, *tools, prefix="hr"):
        super().__init__(tool_name_prefix=prefix)
        self._given = tools

    async def get_tools(self, readonly_context=None):
        return list(self._given)

    async def close(self):
        """Closes nothing."""


class Finding:
    """What `find_tools` asks."""

    def found(self, query):
        return {"tools": [query + LONG]}


async def test_a_prefix_does_not_hide_a_tool_of_the_packs():
    """A toolset's prefix makes a copy with another name, whose result is as whole as that of the tool itself."""
    tools = [Renaming(FindTools(Finding()))]
    run = await run_agent(
        LlmAgent(name="a", model=stepping(call("hr_find_tools", query="x")), tools=tools),
        *("Find.", "And?"),
        plugins=[ContextPackPlugin()],
    )
    assert results_in(run.requests[-1], "hr_find_tools")[0].response == {"tools": ["x" + LONG]}


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


class Knowing(BaseMemoryService):
    """Knows much of boxes, and of each a little else."""

    async def add_session_to_memory(self, session):
        """Adds nothing."""

    async def search_memory(self, *, app_name, user_id, query):
        texts = [f"Box {n} is at gate B{n}. " + "Much was said of it. " * 9 for n in range(60)] if query else []
        return SearchMemoryResponse(memories=[MemoryEntry(content=types.UserContent(text)) for text in texts])


@pytest.mark.parametrize("place", ["agent", "pipeline", "plugin"])
async def test_memory_keeps_its_figures_beside_the_plugin(place):
    """What `RecallMemory` shows of a result of `load_memory` is the same with the plugin, turns later as well."""

    async def shown(passes, plugins):
        agent = LlmAgent(
            name="a",
            model=stepping(call("load_memory", query="box 47"), "There."),
            tools=[LoadMemoryTool()],
            before_model_callback=passes,
        )
        sessions = InMemorySessionService()
        await sessions.create_session(app_name="app", user_id="user", session_id="s")
        app = App(name="app", root_agent=agent, plugins=plugins)
        runner = Runner(app=app, session_service=sessions, memory_service=Knowing())
        for text in ("-", "?"):
            message = types.UserContent(text)
            async for _ in runner.run_async(user_id="user", session_id="s", new_message=message):
                pass
        return [results_in(request, "load_memory")[0].response for request in agent.model.requests[1:]]

    own = RecallMemory(max_tokens=600)
    alone = await shown([own], [])
    passes = {"agent": [own], "pipeline": [ContextPipeline([own])], "plugin": []}[place]
    settings = {"passes": [own]} if place == "plugin" else {}
    assert "gate B47" in str(alone[0])
    assert await shown(passes, [ContextPackPlugin(**settings)]) == alone


@pytest.mark.parametrize("messages", [("Go.",), ("Fetch.", "Pass it on.")])
async def test_a_reference_to_what_the_plugin_keeps_gives_the_whole_value(messages):
    """A tool of `resolve_results` gets from a handle of the plugin's own what it would get if the model retyped it."""
    rows = [{"box": n, "gate": f"B{n % 7}", "note": "Handle with care. " * 3} for n in range(300)]

    def fetch() -> dict:
        """Fetches the boxes."""
        return {"rows": rows}

    taker = Taker()
    first = [call("fetch")] if len(messages) == 1 else [call("fetch"), "Fetched."]
    refer = lambda request: call("take", value=f"{{{{result:{handle_in(request, 'fetch')}.rows[*].box}}}}")  # noqa: E731
    agent = agent_of(*first, refer, taker=taker, tools=[fetch, resolve_results(taker.take)])
    await run_agent(agent, *messages, plugins=[ContextPackPlugin()])
    assert taker.got == [list(range(300))]

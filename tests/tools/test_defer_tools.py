"""Tools on demand: two declarations that never change, and calls that are the real tool's in every respect."""

import asyncio
import importlib
import json
import logging
import sys
from itertools import pairwise

import pytest
from google.adk.agents import LlmAgent
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from adk_context_pack import SettingError, defer_tools
from adk_context_pack.tools.defer_tools import DeclaredTool, ToolIndex
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call


def book(city: str, nights: int = 1) -> dict:
    """Books a room in a city."""
    return {"booked": city, "nights": nights}


def weather(place: str) -> dict:
    """Tells the forecast of a place."""
    return {"forecast": f"sun in {place}"}


def scripted(*parts):
    """A model that says or calls one thing after the other, and the requests that it got."""
    left, got = list(parts), []

    def answer(request):
        declared = [d.name for tool in request.config.tools or () for d in tool.function_declarations or ()]
        contents = [content.model_dump(exclude_none=True) for content in request.contents]
        got.append((declared, contents, request.config.model_dump(exclude_none=True)))
        return left.pop(0) if left else "done"

    return ScriptedModel(answer=answer), got


def use(name, **args):
    return call("use_tool", name=name, args=json.dumps(args))


def agent_with(model, *tools, **settings):
    names = ("always", "listing", "max_found", "max_found_tokens", "batch", "max_listing_tokens")
    deferred = defer_tools(*tools, **{name: settings.pop(name) for name in names if name in settings})
    return LlmAgent(name="a", model=model, tools=[deferred], **settings)


def results_of(run):
    return [result for event in run.session.events for result in event.get_function_responses()]


@pytest.mark.parametrize("args", ["[" * 5000, '{"city": ' + '{"a": ' * 90 + "1" + "}" * 91, '{"city": NaN}'])
async def test_arguments_that_nobody_can_run_are_answered(args):
    """What is nested too deeply, or is no JSON, is an error for the model with the schema, and ends no run."""
    model, _ = scripted(call("use_tool", name="book", args=args))
    run = await run_agent(agent_with(model, book, weather), "Book.")
    (result,) = results_of(run)
    assert result.name == "use_tool"
    assert result.response["error"]
    assert result.response["parameters"]["required"] == ["city"]
    assert run.answer == "done"


async def test_finds_uses_and_grows_only():
    """Two tools are declared, schemas come as results, the event has the real call, each request begins the next."""
    model, got = scripted(call("find_tools", query="book a room"), use("book", city="Oslo", nights=2), "Booked.")
    run = await run_agent(agent_with(model, book, weather), "Book two nights in Oslo.", "Thanks.")
    assert [declared for declared, _, _ in got] == [["find_tools", "use_tool"]] * len(got)
    calls = [(one.name, one.args) for event in run.session.events for one in event.get_function_calls()]
    assert calls[1] == ("book", {"city": "Oslo", "nights": 2})
    found, booked = results_of(run)
    assert found.response["tools"][0]["name"] == "book"
    assert found.response["tools"][0]["parameters"]["required"] == ["city"]
    assert (booked.name, booked.response) == ("book", {"booked": "Oslo", "nights": 2})
    assert "book, weather" in str(got[0][2])
    for (_, one, config), (_, then, later) in pairwise(got):
        assert then[: len(one)] == one
        assert config == later
    parts = [part for content in got[-1][1] for part in content["parts"]]
    used = [part["function_call"]["name"] for part in parts if "function_call" in part]
    assert used == ["find_tools", "use_tool"]


async def test_callbacks_and_plugins_see_the_real_tool():
    """Tool callbacks of agent and plugins get the tool and its arguments; the agent's model callbacks its call."""
    seen = []

    def before(tool, args, tool_context):
        seen.append(("agent", tool.name, dict(args)))

    def after_model(callback_context, llm_response):
        seen.extend(("model", p.function_call.name) for p in llm_response.content.parts if p.function_call)

    class Watching(BasePlugin):
        async def before_tool_callback(self, *, tool, tool_args, tool_context):
            seen.append(("plugin", tool.name, dict(tool_args)))

    model, _ = scripted(use("book", city="Oslo"))
    agent = agent_with(model, book, before_tool_callback=before, after_model_callback=after_model)
    await run_agent(agent, "Go.", plugins=[Watching(name="watching")])
    assert seen == [("model", "book"), ("plugin", "book", {"city": "Oslo"}), ("agent", "book", {"city": "Oslo"})]


async def test_a_plugin_that_answers_first_is_named(caplog):
    """A plugin whose `after_model_callback` returns a response keeps tools from being called; model and log hear it."""

    class Answers(BasePlugin):
        async def after_model_callback(self, *, callback_context, llm_response):
            return llm_response

    run = await run_agent(
        agent_with(scripted(use("book", city="Oslo"))[0], book), "Go.", plugins=[Answers(name="answers")]
    )
    assert "Do not try again" in results_of(run)[0].response["error"]
    assert "defer_tools cannot call book: a plugin's after_model_callback" in caplog.text


@pytest.mark.parametrize(("asked", "said"), [
    (use("bok", city="Oslo"), "book is the nearest name"), (use("nonsense_zzz"), "Use find_tools"),
    (use("book", town="Oslo"), "city is missing"), (use("book", city="Oslo", nights="2"), "nights must be integer"),
    (call("use_tool", name="book", args="{city"), "not a JSON object"),
    (call("use_tool", name="book", args="[1]"), "must be a JSON object"),
])  # fmt: skip
async def test_a_mistake_is_answered_with_the_schema(asked, said):
    """The tool does not run; the answer says what is wrong and gives schema or nearest name, and the next try works."""
    model, _ = scripted(asked, use("book", city="Rome"))
    run = await run_agent(agent_with(model, book, weather), "Go.")
    wrong, right = results_of(run)
    assert wrong.name == "use_tool"
    assert said in wrong.response["error"]
    assert right.response["booked"] == "Rome"


async def test_the_nearest_valid_arguments_are_given():
    """What can only be meant in one way is written out, ready to be called."""
    model, _ = scripted(use("book", City="Oslo", nights="2"))
    run = await run_agent(agent_with(model, book), "Go.")
    assert results_of(run)[0].response["nearest_valid_args"] == {"city": "Oslo", "nights": 2}


async def test_arguments_as_an_object_work_too():
    """A model that gives an object in place of a text is understood."""
    model, _ = scripted(call("use_tool", name="book", args={"city": "Oslo"}))
    assert results_of(await run_agent(agent_with(model, book), "Go."))[0].response["booked"] == "Oslo"


async def test_agents_as_tools_and_functions_named_always():
    """An agent works as a deferred tool, and a tool named in `always` is declared as usual."""
    helper = LlmAgent(name="helper", description="Helps with poems.", model=ScriptedModel(answer=lambda _: "A poem."))
    model, got = scripted(use("helper", request="Write."), call("weather", place="Oslo"))
    run = await run_agent(agent_with(model, AgentTool(helper), weather, always=["weather"]), "Go.")
    assert got[0][0] == ["find_tools", "use_tool", "weather"]
    assert [result.name for result in results_of(run)] == ["helper", "weather"]
    assert "A poem." in str(results_of(run)[0].response)


class Changing(BaseToolset):
    """A toolset with another tool at each listing."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.tools, self.closed = [FunctionTool(book)], False

    async def get_tools(self, readonly_context=None):
        return self.tools

    async def close(self):
        self.closed = True


async def test_a_toolset_with_a_prefix_that_changes_is_noticed(caplog):
    """Prefixed names are the names; a tool that comes later is found, the change is logged, and closing closes all."""
    caplog.set_level(logging.INFO, logger="adk_context_pack")
    toolset = Changing(tool_name_prefix="hotel")
    model, _ = scripted(use("hotel_book", city="Oslo"), "Booked.", use("hotel_weather", place="Oslo"))
    agent = agent_with(model, toolset)
    first = await run_agent(agent, "Go.")
    toolset.tools = [FunctionTool(book), FunctionTool(weather)]
    run = await run_agent(agent, "And?", session_service=first.session_service)
    assert [result.name for result in results_of(run)] == ["hotel_book", "hotel_weather"]
    assert "1 then, 2 now" in caplog.text
    await agent.tools[0].close()
    assert toolset.closed


class PerUser(BaseToolset):
    """A toolset that offers each user a tool of their own."""

    async def get_tools(self, readonly_context=None):
        def secret() -> str:
            """Tells a secret."""
            return "told"

        secret.__name__ = f"secret_of_{readonly_context.state['who']}"
        return [FunctionTool(secret)]


async def test_users_with_other_tools_do_not_meet():
    """Two runs at once over one toolset each find and use their own user's tool, and never the other's."""
    gate = asyncio.Event()

    async def wait(callback_context, llm_request):
        # The first run's model call waits until the second run has listed its tools.
        if callback_context.state["who"] == "anna":
            await asyncio.wait_for(gate.wait(), 20)
        else:
            gate.set()

    def answer(request):
        who = str(request.contents[0].parts[0].text)
        used = [part for content in request.contents for part in content.parts if part.function_response]
        return "done" if len(used) == 2 else use(f"secret_of_{'anna' if used else who}")

    agent = agent_with(ScriptedModel(answer=answer), PerUser(), before_model_callback=wait)
    anna, bob = await asyncio.gather(
        *(run_agent(agent, who, state={"who": who}, session_id=who) for who in ("anna", "bob"))
    )
    assert [result.name for result in results_of(anna)] == ["secret_of_anna", "secret_of_anna"]
    assert [result.name for result in results_of(bob)] == ["secret_of_bob", "use_tool"]
    assert "There is no tool" in results_of(bob)[1].response["error"]


@pytest.mark.slow
async def test_mcp_tools_are_deferred():
    """Tools of a real MCP server are found and run."""
    mcp = pytest.importorskip("mcp")
    try:
        module = importlib.import_module("google.adk.tools.mcp_tool.mcp_toolset")
    except ImportError as error:
        pytest.skip(f"this ADK cannot use the installed mcp package: {error}")
    server = mcp.StdioServerParameters(command=sys.executable, args=["-m", "tests.support.mcp_server"])
    kind = getattr(module, "McpToolset", None) or module.MCPToolset
    toolset = kind(connection_params=module.StdioConnectionParams(server_params=server, timeout=60))
    model, got = scripted(call("find_tools", query="rows of a report"), use("list_rows", count=2))
    agent = agent_with(model, toolset)
    try:
        run = await run_agent(agent, "Go.")
    finally:
        await agent.tools[0].close()
    assert got[-1][0] == ["find_tools", "use_tool"]
    assert results_of(run)[0].response["tools"][0]["name"] == "list_rows"
    assert "campaign 1" in str(results_of(run)[1].response)


async def test_found_tools_are_declared_in_full_batches():
    """With batches nothing is declared until as many tools were found; what is declared stays and can be called."""
    model, got = scripted(
        call("find_tools", query="room"), call("find_tools", query="forecast"), call("book", city="Oslo")
    )
    run = await run_agent(agent_with(model, book, weather, batch=2, max_found=1), "Go.")
    assert [declared[2:] for declared, _, _ in got] == [[], [], ["book", "weather"], ["book", "weather"]]
    assert results_of(run)[-1].response["booked"] == "Oslo"


async def test_found_tools_keep_to_the_budget():
    """The best tool is shown whole; what does not fit is named."""
    model, _ = scripted(call("find_tools", query="a city, a place"))
    run = await run_agent(agent_with(model, book, weather, max_found_tokens=1), "Go.")
    response = results_of(run)[0].response
    assert len(response["tools"]) == len(response["more"]) == 1


@pytest.mark.parametrize(("tools", "settings"), [
    ((), {}), ((3,), {}), ((book,), {"listing": "all"}), ((book,), {"max_found": 0}), ((book,), {"always": "book"})
])  # fmt: skip
def test_settings_that_cannot_work_are_refused(tools, settings):
    """No tools, what is no tool, and limits that cannot be are said when the toolset is built."""
    with pytest.raises(SettingError):
        defer_tools(*tools, **settings)


def tool(name, description, **properties):
    return DeclaredTool(name, description, {"type": "object", "properties": properties})


INDEX = ToolIndex([
    tool("create_issue", "Creates an issue in a repository. Long story.", title={"type": "string"}),
    tool("list_flights", "Lists flights.", cabin={"enum": ["economy", "business"]}),
    tool("get_weather", "Tells the forecast.", place={"description": "A town such as Oslo"}),
])  # fmt: skip


def found(query):
    return [one.name for one in INDEX.find(query, 2)]


def test_lists_as_much_as_fits():
    """Sentences where they fit, else names, else their number, else nothing."""
    assert "create_issue: Creates an issue in a repository\n" in INDEX.listing(500, sentences=True)
    assert INDEX.listing(500, sentences=False) == "create_issue, list_flights, get_weather"
    assert INDEX.listing(20, sentences=True) == "create_issue, list_flights, get_weather"
    assert INDEX.listing(2, sentences=True) == "3 tools"
    assert INDEX.listing(0, sentences=True) == ""


def test_reads_a_real_declaration():
    """The schema of a function comes as JSON schema, in whichever form this ADK declares it."""

    def book(city: str, nights: int = 1) -> str:
        """Books a room."""
        return city

    declared = DeclaredTool.of(FunctionTool(book))
    assert declared.parameters["type"] == "object"
    assert declared.parameters["properties"]["nights"]["type"] == "integer"
    assert declared.parameters["required"] == ["city"]


class Declared(BaseTool):
    """A tool whose declaration is in google-genai's words."""

    def _get_declaration(self):
        kept = types.Schema(type="STRING", min_length=2, enum=["UP"], default={"type": "KEEP"})
        parameters = types.Schema(type="OBJECT", properties={"type": kept, "any_of": types.Schema(any_of=[kept])})
        return types.FunctionDeclaration(name=self.name, description="", parameters=parameters)


def test_a_declaration_is_given_in_the_words_of_json_schema():
    """Types and keywords are as the standard spells them, and names and values are as they were."""
    kept = {"type": "string", "minLength": 2, "enum": ["UP"], "default": {"type": "KEEP"}}
    shown = DeclaredTool.of(Declared(name="t", description="")).parameters
    assert shown == {"type": "object", "properties": {"type": kept, "any_of": {"anyOf": [kept]}}}

"""What a tool is, whatever it is called."""

import copy
import functools

import pytest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.load_artifacts_tool import LoadArtifactsTool
from google.adk.tools.load_memory_tool import LoadMemoryTool
from google.adk.tools.set_model_response_tool import SetModelResponseTool
from google.adk.tools.transfer_to_agent_tool import transfer_to_agent
from pydantic import BaseModel

from adk_context_pack import QueryRows, SearchHistory, defer_tools, query_rows, read_payload, resolve_results
from adk_context_pack._adk.known_tools import kind_in, kind_of, offers
from adk_context_pack.tools.hidden_tool import hidden_tool
from adk_context_pack.tools.wrap import wrap_tool


class Answer(BaseModel):
    """An output schema."""

    text: str


class OurArtifacts(LoadArtifactsTool):
    """A subclass in an app."""


class Delegate(BaseTool):
    """A tool of an app that calls another one."""

    def __init__(self, *tools):
        super().__init__(name="delegate", description="Calls it.")
        self._first, self._second = tools[0], tools[-1]

    async def run_async(self, *, args, tool_context):
        return await self._first.run_async(args=args, tool_context=tool_context)


def renamed(tool):
    """Returns the copy that a toolset with a prefix makes."""
    made = copy.copy(tool)
    made.name = f"hr_{tool.name}"
    return made


KNOWN = [
    (LoadArtifactsTool(), "control"),
    (OurArtifacts(), "control"),
    (SetModelResponseTool(Answer), "control"),
    (FunctionTool(exit_loop), "control"),
    (FunctionTool(transfer_to_agent), "control"),
    (LoadMemoryTool(), "memory"),
    (QueryRows(), "read_back"),
    (FunctionTool(read_payload), "read_back"),
    (SearchHistory(), "read_back"),
]
COPIES = {
    "itself": lambda tool: tool,
    "renamed": renamed,
    "wrapped": lambda tool: wrap_tool(tool, lambda *_: None),
    "hidden": lambda tool: hidden_tool(tool, None),
    "called by another": Delegate,
    "called by another that is renamed": lambda tool: renamed(Delegate(tool)),
    "run by a function": lambda tool: FunctionTool(tool.run_async),
}


@pytest.mark.parametrize("made", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize(("tool", "kind"), KNOWN, ids=lambda value: getattr(value, "name", value))
def test_tools_are_known_by_what_they_are(tool, kind, made):
    """In a copy under another name, in a subclass, and behind a tool that calls it, a tool is what it is."""
    assert kind_of(made(tool), "anything") == kind


def load_artifacts():
    """Loads boxes from a museum's cellar."""


@pytest.mark.parametrize(
    "tool",
    [
        FunctionTool(load_artifacts),
        FunctionTool(functools.partial(load_artifacts)),
        Delegate(FunctionTool(load_artifacts)),
        Delegate(QueryRows(), FunctionTool(read_payload)),
        load_artifacts,
        object(),
    ],
)
def test_a_tool_of_the_app_is_nothing_but_its_own(tool):
    """A name, or a part in what a tool does, makes it none of ADK's or the pack's."""
    assert kind_of(tool, "load_artifacts") is None
    assert kind_in({"load_artifacts": tool}, "load_artifacts") is None
    assert not offers({"load_artifacts": tool}, "load_artifacts")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("load_skill", "instructions"),
        ("find_tools", "catalog"),
        ("finish_task", "control"),
        ("fetch", None),
        (None, None),
    ],
)
def test_names_count_where_there_is_no_tool(name, kind):
    """In a recording, and for a tool that the agent no longer has, the name is all there is."""
    assert kind_of(None, name) == kind_in({}, name) == kind_in(None, name) == kind_in({name: None}, name) == kind


def test_a_function_is_known_before_adk_makes_a_tool_of_it():
    """An agent's list of tools may hold the pack's functions as they are."""
    assert kind_of(query_rows, "") == "read_back"


async def test_the_tools_of_defer_tools_are_known():
    """`find_tools` gives a catalog, `use_tool` an answer to read whole, and a deferred tool stays what it is."""
    find, use, artifacts, rows = await defer_tools(LoadArtifactsTool(), resolve_results(query_rows)).get_tools()
    kinds = [kind_of(tool, "") for tool in (find, use, artifacts, rows)]
    assert kinds == ["catalog", "control", "control", "read_back"]

"""Wrapping: what stays of a tool, and what is left alone."""

import importlib

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.base_tool import BaseTool

from adk_context_pack import SettingError
from adk_context_pack.tools.wrap import wrap_run, wrap_tool
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in


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


async def test_a_copy_for_one_model_call_runs_the_tool_itself():
    """What a tool keeps on itself is kept on the tool, when the copy lives for one request only."""
    tool = Counter()
    assert (await wrap_run(tool, doubled).run_async(args={}, tool_context=None))["result"] == 2
    assert tool.count == 1
    assert "run_async" not in vars(tool)


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

    def answer(request):
        return "done" if results_in(request) else call("number", start=3)

    run = await run_agent(LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[tool]), "go")
    assert results_in(run.requests[-1])[0].response["tool"] == "number"
    with pytest.raises(SettingError, match="tool must be"):
        wrap_tool(LlmAgent(name="no_tool", model="scripted-model"), doubled)

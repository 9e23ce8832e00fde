"""The tools that the plugin declares count in the report and in the budget."""

import json

import pytest
from google.adk.agents import LlmAgent

from adk_context_pack import ContextPackPlugin
from tests.support.plugin_apps import list_sales
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def words(text):
    """Counts as a tokenizer might: pieces of three characters."""
    return -(-len(text) // 3)


def assistant():
    """Lists sales at every third question, and speaks at length otherwise."""

    def answer(request):
        asked = request.contents[-1].parts[-1].text or ""
        return call("list_sales") if "list" in asked else f"It is like this, said at length: {'so and so, ' * 40}"

    return LlmAgent(name="assistant", model=ScriptedModel(answer=answer), tools=[list_sales], instruction="Help.")


async def test_declared_tools_are_counted_when_a_pass_has_counted_before():
    """A tool object that was counted before the plugin extended it is counted as it was sent."""
    plugin = ContextPackPlugin(max_tokens=3_000, counter=words, read_back="always")
    run = await run_agent(assistant(), "Hello.", plugins=[plugin])
    (request,), (report,) = run.requests, plugin.reports
    declared = [tool.model_dump_json(exclude_none=True) for tool in request.config.tools]
    assert report.categories["tool_declarations"] == sum(map(words, declared))
    own = [f for tool in request.config.tools for f in tool.function_declarations if f.name == "list_sales"]
    alone = words(json.dumps({"function_declarations": [json.loads(own[0].model_dump_json(exclude_none=True))]}))
    assert report.pack_tools == pytest.approx(sum(map(words, declared)) - alone, rel=0.02)
    assert report.tokens_saved == -report.pack_tools

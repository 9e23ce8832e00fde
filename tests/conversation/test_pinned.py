"""Instructions that ADK counts as active stay whole, whatever the passes take away around them."""

from __future__ import annotations

import copy

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool

import adk_context_pack as p
from tests.support.events import agent_called, agent_said, tool_returned, user_said
from tests.support.histories import many_turns, results
from tests.support.requests import request_for
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

# Some releases import a package there that they do not require.
SKIP = {"reason": "this ADK has no skills, or not without its extras", "exc_type": ImportError}
skills = pytest.importorskip("google.adk.tools.skill_toolset", **SKIP)
models = pytest.importorskip("google.adk.skills.models", **SKIP)
RULES = {"skill_name": "style", "instructions": "Always write in verse. " * 300, "frontmatter": {}}
ACTIVE = {"_adk_activated_skill_a": ["style"]}
PASSES = [p.ClearToolResults(keep_results=0, min_tokens=50), p.FitTokenBudget(max_tokens=3000, cut_to=0.01)]


def loading(tool: str = "load_skill", response=RULES):
    return [agent_called("a", tool, "s1", skill_name="style"), tool_returned("a", tool, response, "s1")]


def left(entry, events, state, tools=()) -> list:
    """The results that a pass leaves."""
    request = request_for("a", events)
    request.tools_dict.update(tools)
    messages = [event.content for event in events if event.author == "user"]
    model_call = p.ModelCall(agent_name="a", events=events, user_content=messages[-1], state=state)
    return results(entry.apply(request, model_call).contents)


@pytest.mark.parametrize("entry", PASSES, ids=lambda entry: entry.name)
def test_an_active_skill_stays_whole_and_an_unloaded_one_may_go(entry):
    """Turns later the instructions are there to the letter while ADK counts the skill as active, and only then."""
    events = [user_said("Load."), *loading(), agent_said("a", "Loaded."), *many_turns(4)]
    assert RULES in left(entry, events, ACTIVE)
    assert RULES not in left(entry, events, {})
    assert RULES not in left(entry, events, {"_adk_activated_skill_b": ["style"]})


@pytest.mark.parametrize("wrapper", [False, True])
def test_the_tools_are_known_by_class(wrapper):
    """Behind a prefix, or in a tool of another class that calls them, they are the same tools."""
    tool = copy.copy(skills.LoadSkillTool(None))
    tool.name = "house_load_skill"
    if wrapper:
        inner, tool = tool, FunctionTool(len)
        tool.wrapped = inner
    events = [user_said("Load."), *loading("house_load_skill"), agent_said("a", "Loaded."), *many_turns(4)]
    assert RULES in left(PASSES[0], events, ACTIVE, {"house_load_skill": tool})
    assert RULES not in left(PASSES[0], events, ACTIVE)


def test_tools_can_be_pinned_by_name():
    """A plan that a tool of the app's own loads stays whole in both passes, by one setting of the presets."""
    plan = {"plan": "First this, then that. " * 200}
    events = [user_said("Plan."), *loading("get_plan", plan), agent_said("a", "Planned."), *many_turns(4)]
    assert plan not in left(p.FitTokenBudget(max_tokens=3000), events, {})
    assert plan in left(p.FitTokenBudget(max_tokens=3000, keep_tools=["get_plan"]), events, {})
    *_, clear, fit = p.default_passes(max_tokens=3000, keep_tools=["get_plan"])
    assert plan in left(clear, events, {})
    assert plan in left(fit, events, {})


class OurSkills(skills.SkillToolset):
    """A toolset of an app, whose tools call ADK's."""

    async def get_tools(self, readonly_context=None):
        return [Delegate(tool) for tool in await super().get_tools(readonly_context)]


class Delegate(BaseTool):
    """A tool that calls another one."""

    def __init__(self, tool):
        super().__init__(name=f"our_{tool.name}", description=tool.description)
        self._called = tool

    async def run_async(self, *, args, tool_context):
        return await self._called.run_async(args=args, tool_context=tool_context)

    async def process_llm_request(self, *, tool_context, llm_request):
        llm_request.tools_dict[self.name] = self


SKILL = models.Skill(
    frontmatter=models.Frontmatter(name="style", description="How to write."), instructions=RULES["instructions"]
)
TOOLSETS = {
    "load_skill": lambda: skills.SkillToolset(skills=[SKILL]),
    "hr_load_skill": lambda: under("hr", skills.SkillToolset(skills=[SKILL])),
    "our_load_skill": lambda: OurSkills(skills=[SKILL]),
    "hr_our_load_skill": lambda: under("hr", OurSkills(skills=[SKILL])),
    "capped_load_skill": lambda: p.cap_rows(under("capped", skills.SkillToolset(skills=[SKILL]))),
}


def under(prefix, toolset):
    """Returns the toolset under a prefix, which the skills of older releases take only in this way."""
    toolset.tool_name_prefix = prefix
    return toolset


@pytest.mark.parametrize("name", TOOLSETS)
async def test_a_loaded_skill_is_there_in_every_later_turn(name):
    """With ADK's own toolset in a real run, under a prefix or wrapped, the instructions stay whole to the last turn."""

    def fetch() -> dict:
        """Fetches."""
        return {"text": "words " * 3000}

    def answer(request):
        if not results_in(request, name):
            return call(name, skill_name="style", name="style")
        if request.contents[-1].parts[-1].text:
            return call("fetch")
        return "Done."

    agent = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[TOOLSETS[name](), fetch])
    payloads = p.OffloadPayload(tools={"fetch": None})
    plugin = p.ContextPackPlugin(max_tokens=9000, payloads=payloads)
    run = await run_agent(agent, "one", "two", "three", "four", plugins=[plugin])
    for request in run.requests[1:]:
        assert RULES["instructions"] in str(results_in(request, name)[0].response)
    assert sum("left_out" in result.response for result in results_in(run.requests[-1], "fetch")) > 0

"""What a called agent is shown of its caller's work: behind `AgentTool`, by transfer, in sequence, in a task."""

from __future__ import annotations

import re

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.tools.agent_tool import AgentTool

from adk_context_pack import CastNarrative, ContextPackPlugin, ContextPipeline, SettingError, cap_rows, scoped
from adk_context_pack.agents.handoffs import ScopeHandoff
from adk_context_pack.testing import check_pass
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in, text_of

HANDLE = re.compile(r"""handle(?:=|: )['"]([0-9a-hjkmnp-tv-z]{11})['"]""")
QUESTIONS = ("Old question.", "Sell more.")
EVERYTHING = {"sees": ("messages", "said", "handles"), "casts": ("boss",), "state": ("plan",)}


def list_sales() -> dict[str, object]:
    """Lists sales."""
    return {"sales": [{"id": n, "amount": n * 3} for n in range(400)]}


def look_up(city: str) -> dict[str, object]:
    """Looks a city up."""
    return {"city": city, "people": 709_000}


def child(answer=lambda _: "child done", **settings):
    return LlmAgent(name="child", description="d", model=ScriptedModel(answer=answer), **settings)


def worked(request, then):
    """Looks up, lists, says something, and then does what `then` is."""
    if not results_in(request, "look_up"):
        return call("look_up", city="Oslo")
    if not results_in(request, "list_sales"):
        return ["I have seen Oslo.", call("list_sales")]
    return then


def boss_with_tool(agent, **settings):
    def answer(request):
        asked = sum(text_of(request).count(text) for text in QUESTIONS)
        done = len(results_in(request, "child"))
        return "boss done" if done >= asked else worked(request, call("child", request="Write it."))

    tools = [look_up, cap_rows(list_sales, max_rows=3), AgentTool(agent)]
    return LlmAgent(name="boss", model=ScriptedModel(answer=answer), tools=tools, **settings)


def boss_with_transfer(agent, **settings):
    def answer(request):
        return worked(request, call("transfer_to_agent", agent_name="child"))

    tools = [look_up, cap_rows(list_sales, max_rows=3)]
    return LlmAgent(name="boss", model=ScriptedModel(answer=answer), tools=tools, sub_agents=[agent], **settings)


def row_of(agent, **settings):
    """The boss's work and then the agent, in sequence."""
    tools = [look_up, cap_rows(list_sales, max_rows=3)]
    model = ScriptedModel(answer=lambda request: worked(request, "I am through."))
    first = LlmAgent(name="boss", model=model, tools=tools)
    return SequentialAgent(name="row", sub_agents=[first, agent])


APPS = {"tool": boss_with_tool, "transfer": boss_with_transfer, "sequence": row_of}
PLUGINS = {"alone": list, "plugin": lambda: [ContextPackPlugin()]}


async def shown_to_child(app, plugins=(), blanks=0, **scope):
    agent = scoped(child(), **scope) if scope else child()
    old, new = QUESTIONS
    run = await run_agent(app(agent), old + " " * blanks, new, plugins=plugins, state={"plan": {"steps": 7}})
    return run, [*map(text_of, run.requests_of("child"))]


@pytest.mark.parametrize("blanks", [0, 70_000])
@pytest.mark.parametrize("with_plugin", PLUGINS)
@pytest.mark.parametrize("app", APPS)
async def test_nothing_of_the_callers_work_is_shown(app, with_plugin, blanks):
    """With nothing declared the child sees its input or the user's message, however long, and nothing of the boss."""
    _, shown = await shown_to_child(APPS[app], PLUGINS[with_plugin](), blanks, sees=())
    assert ("Write it." if app == "tool" else "Old question.") in shown[0]
    assert not any(word in text for text in shown for word in ("look_up", "709000", "Oslo", "list_sales", "steps"))


@pytest.mark.parametrize("with_plugin", PLUGINS)
@pytest.mark.parametrize("app", APPS)
@pytest.mark.parametrize(("scope", "there", "gone"), [
    ({"sees": ["last_message"]}, ["Old question."], ["709000", "I have seen", "steps", "_row_limits"]),
    ({"sees": ["said"]}, ["I have seen Oslo."], ["709000", "steps", "list_sales"]),
    ({"casts": ["look_up"]}, ["look_up", "709000"], ["I have seen", "list_sales", "steps"]),
    ({"casts": ["boss"]}, ["look_up", "709000", "I have seen", "list_sales"], ["steps"]),
    ({"state": ["plan"]}, ['plan = {"steps":7}'], ["709000", "I have seen", "list_sales"]),
])  # fmt: skip
async def test_what_is_declared_is_shown_and_nothing_else(app, with_plugin, scope, there, gone):
    """Each word, cast and key shows its own part of the work, in every way to call an agent."""
    _, shown = await shown_to_child(APPS[app], PLUGINS[with_plugin](), **scope)
    assert all(word in shown[0] for word in there)
    assert not any(word in shown[0] for word in gone)


@pytest.mark.parametrize("app", APPS)
async def test_messages_are_all_or_the_last(app):
    """The second turn shows both messages or the last one, and an agent behind a tool none if none is declared."""
    seen = {}
    for words in ((), ("last_message",), ("messages",)):
        _, shown = await shown_to_child(APPS[app], sees=words)
        seen[words] = [text in shown[-1] for text in ("Old question.", "Sell more.")]
    answered = app != "tool"
    assert seen[()] == [answered, answered]
    assert seen["last_message",] == [answered, True]
    assert seen["messages",] == [True, True]


async def test_a_message_that_the_agent_answered_stays():
    """A turn of another agent in between leaves the request, with the user's message that began it."""

    def answer(request):
        back = text_of([request.contents[-1]]).startswith("transfer_to_agent")
        wanted = "two" not in typed[len(turns_of(request)) - 1]
        return call("transfer_to_agent", agent_name="child") if wanted and not back else "boss done"

    typed = ["one", "two", "three"]

    def turns_of(request):
        return [content for content in request.contents if text_of([content]) in typed]

    agent = scoped(child(), sees=())
    agent.disallow_transfer_to_parent = True
    root = LlmAgent(name="boss", model=ScriptedModel(answer=answer), sub_agents=[agent])
    run = await run_agent(root, *typed)
    shown = [text_of([content]) for content in run.requests_of("child")[-1].contents]
    assert shown == ["one", "child done", "three"]


@pytest.mark.parametrize("app", APPS)
async def test_a_handle_opens_in_the_child(app):
    """With "handles" the child is shown the handle of the boss's result, is offered the tool, and reads a row."""

    def answer(request):
        if found := results_in(request, "read_back"):
            return f"Row: {found[0].response['rows']}"
        handle = HANDLE.findall(text_of(request))[-1]
        assert "read_back" in request.tools_dict
        return call("read_back", handle=handle, sql="SELECT amount FROM rows WHERE id = 300")

    agent = scoped(child(answer), sees=("handles",))
    run = await run_agent(APPS[app](agent), "Sell more.", plugins=[ContextPackPlugin()])
    first = text_of(run.requests_of("child")[0])
    assert "709000" not in first
    assert "I have seen Oslo." not in first
    assert "Row: [[900]]" in str([event.content for event in run.events])


async def test_the_childs_own_work_stays():
    """What the child calls and gets itself is in its request, behind what was handed over, which does not change."""

    def answer(request):
        return "child done" if results_in(request, "look_up") else call("look_up", city="Rome")

    agent = scoped(child(answer, tools=[look_up]), **EVERYTHING)
    run = await run_agent(boss_with_tool(agent), "Sell more.", state={"plan": 7})
    first, second = (request.contents for request in run.requests_of("child"))
    assert second[: len(first)] == first
    assert "Rome" in text_of(second)
    assert "Write it." in text_of([first[-1]])
    assert text_of(first).count("Write it.") == 1


@pytest.mark.parametrize("with_plugin", PLUGINS)
async def test_the_report_shows_the_scope(with_plugin):
    """The plugin, or the agent's own pipeline, reports what the child sees, as its first pass and once."""
    plugins = PLUGINS[with_plugin]()
    pipeline = plugins[0] if plugins else ContextPipeline([CastNarrative()])
    agent = scoped(child(before_model_callback=None if plugins else pipeline), sees=("said",), state=("plan",))
    run = await run_agent(boss_with_transfer(agent), "Sell more.", plugins=plugins, state={"plan": 7})
    report = next(report for report in pipeline.reports if report.agent == "child")
    assert report.passes[0].name == "scope_handoff"
    assert report.passes[0].note.endswith("sees said, state plan of its caller, 1 content handed over")
    assert [entry.name for entry in report.passes].count("scope_handoff") == 1
    assert text_of(run.requests_of("child")[0]).count("plan = 7") == 1


@pytest.mark.skipif("mode" not in LlmAgent.model_fields, reason="this ADK has no agent modes")
@pytest.mark.parametrize("mode", ["task", "single_turn"])
async def test_an_isolated_task_sees_what_is_declared(mode):
    """A delegate of ADK 2.x is isolated, and is shown what its coordinator did, as declared."""
    finish = (lambda _: call("finish_task", result="done")) if mode == "task" else lambda _: "done"
    agent = scoped(child(finish, mode=mode), sees=("last_message",), casts=("look_up",), state=("plan",))

    def answer(request):
        if not results_in(request, "look_up"):
            return call("look_up", city="Oslo")
        return "boss done" if results_in(request, "child") else call("child", request="Write it.")

    root = LlmAgent(name="boss", model=ScriptedModel(answer=answer), tools=[look_up], sub_agents=[agent])
    run = await run_agent(root, "Sell more.", state={"plan": 7})
    shown = text_of(run.requests_of("child")[0])
    assert all(word in shown for word in ("Sell more.", "709000", "plan = 7", "Write it."))


def test_the_laws_hold():
    """With all messages the pass keeps the laws of the kit, save that what is not declared has no way back."""
    scope = ScopeHandoff(sees=("messages", "said"), casts=("searcher",))
    check_pass(scope, except_for={"reachable"}, examples=15)
    check_pass(ScopeHandoff(sees=()), except_for={"reachable", "steady"}, examples=15)


@pytest.mark.parametrize(("settings", "words"), [
    ({"sees": ("sayd",)}, r"sees must be made of 'messages', .*not 'sayd' \(did you mean 'said'\?\)"),
    ({"sees": ("handle",)}, r"did you mean 'handles'"),
    ({"sees": "said"}, r"sees must be a collection of names"),
    ({"casts": "planner"}, r"casts must be a collection of names"),
    ({"state": ("{plan}",)}, r"key must be a state key"),
])  # fmt: skip
def test_a_setting_that_cannot_work_is_refused(settings, words):
    """The error names the setting, the value and the nearest word."""
    with pytest.raises(SettingError, match=f"scoped: {words}" if "did you" not in words else words):
        scoped(child(), **settings)


def test_an_agent_that_cannot_be_scoped_is_refused():
    """A composite agent and one that has a parent already are refused with the reason."""
    row = SequentialAgent(name="row", sub_agents=[inner := child()])
    with pytest.raises(SettingError, match="agent must be an LlmAgent"):
        scoped(row)
    with pytest.raises(SettingError, match="no parent yet"):
        scoped(inner)

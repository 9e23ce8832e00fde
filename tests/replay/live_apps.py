"""Small apps of many shapes, to run live and to replay: what an agent sends depends on its shape and on nothing else.

The models follow a script, so that an app makes the same calls with the pack and without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from google.adk import __version__
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.events.event import Event
from google.adk.planners.plan_re_act_planner import PlanReActPlanner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from adk_context_pack import CapRows, CompactState, DataSummarizer, PackSettings, StripForContext
from tests.support.scripted_model import ScriptedModel, answers, call

REWIND = object()
"""In place of a message: the newest turn is taken back."""


@dataclass(frozen=True, kw_only=True)
class LiveApp:
    """An app of one shape.

    Attributes:
        make: makes the root agent, with scripts that have not begun.
        messages: what the user says: texts, parts, `REWIND`, or functions from the session's events to a part.
        plugin: settings of the plugin.
        settings: further settings of the `App`, made for each run.
        state: the session's first state.
        unrecorded: agents whose calls ADK stores in no session, as those of an `AgentTool`.
        skipped: why the installed release cannot run it, or nothing.
    """

    make: Callable[[], Any]
    messages: Sequence[Any] = ("Go.",)
    plugin: Mapping[str, Any] = field(default_factory=dict)
    settings: Callable[[], Mapping[str, Any]] = dict
    state: Mapping[str, Any] = field(default_factory=dict)
    unrecorded: frozenset[str] = frozenset()
    skipped: str = ""


def get_rows(count: int) -> dict[str, Any]:
    """Returns campaigns with what they cost and brought."""
    rows = [{"id": n, "campaign": f"Brand {n % 40}", "clicks": n * 7 % 1000, "cost": n * 1.37} for n in range(count)]
    return {"status": "success", "rows": rows}


def read_text(lines: int) -> str:
    """Reads a log."""
    return "\n".join(
        f"2026-01-{n % 28 + 1:02} worker {n % 9} finished the job {n} without trouble" for n in range(lines)
    )


def fail(size: int) -> dict[str, Any]:
    """Fails."""
    return {"error": "The backend could not be reached: " + "the connection was refused. " * size}


def from_server(count: int) -> dict[str, Any]:
    """Answers as a tool of an MCP server does."""
    rows = get_rows(count)["rows"]
    return {
        "content": [{"type": "text", "text": json.dumps({"items": rows})}],
        "structuredContent": {"items": rows},
        "isError": False,
    }


def remember(count: int, tool_context: ToolContext) -> dict[str, Any]:
    """Keeps rows in state."""
    tool_context.state["found"] = get_rows(count)["rows"]
    tool_context.state["mood"] = f"calm after {count}"
    return {"status": "kept"}


def agent(name: str, *script: Any, tools: Sequence[Any] = (get_rows, read_text, fail, from_server), **more: Any) -> Any:
    """Makes an agent whose model answers with the script, one entry a call, the last one for ever."""
    model = more.pop("model", None) or ScriptedModel(answer=answers(*(script or ("That is all.",))))
    more.setdefault("instruction", f"You are {name}, who looks into the account of the shop, with care and in order.")
    return LlmAgent(name=name, model=model, tools=list(tools), **more)


def rows(count: int) -> types.Part:
    """Makes a call for rows."""
    return call("get_rows", count=count)


def lone(*script: Any, turns: int = 1, **more: Any) -> LiveApp:
    """Makes an app of one agent."""
    return LiveApp(make=lambda: agent("lone", *script, **more), messages=[f"Question {n}?" for n in range(turns)])


def team(kind: Callable[..., BaseAgent] = SequentialAgent, **more: Any) -> BaseAgent:
    """Makes three agents in a row or beside each other."""
    first = agent("first", rows(600), "There are 600 rows.", rows(5), "And five more.")
    second = agent("second", call("read_text", lines=900), "The log is fine.", "Still fine.")
    return kind(name="team", sub_agents=[first, second, agent("third", "Nothing to add.")], **more)


class Teller(BaseAgent):
    """Says something without a model."""

    async def _run_async_impl(self, ctx: Any) -> Any:
        said = types.Content(role="model", parts=[types.Part(text="No model was asked. " * 400)])
        yield Event(author=self.name, invocation_id=ctx.invocation_id, branch=ctx.branch, content=said)


def _transfers() -> LlmAgent:
    expert = agent("expert", rows(600), "I found it.", call("transfer_to_agent", agent_name="guide"), "Found more.")
    hand_over = call("transfer_to_agent", agent_name="expert")
    return agent("guide", rows(150), hand_over, hand_over, "Back with me.", sub_agents=[expert])


def _summary() -> SequentialAgent:
    return SequentialAgent(
        name="team",
        sub_agents=[
            agent("reader", call("remember", count=200), "Kept.", tools=[remember]),
            DataSummarizer(name="summary", source="found", output_key="facts"),
            agent("writer", "Written.", instruction="Write of {facts?}"),
        ],
    )


def _thinking() -> LlmAgent:
    thought = types.Part(text="I have to think about this for long. " * 60, thought=True)
    return agent("lone", [thought, rows(600)], [thought, "Done."], [thought, "Again."], planner=PlanReActPlanner())


def _long_running() -> LlmAgent:
    def ask_boss(question: str) -> None:
        """Asks the boss, which takes days."""

    tools = [LongRunningFunctionTool(ask_boss), get_rows]
    return agent("lone", rows(600), call("ask_boss", question="May I?"), "I wait.", "The boss said yes.", tools=tools)


def _boss_answers(events: Sequence[Event]) -> types.Part:
    asked = next(c for event in reversed(events) for c in event.get_function_calls() if c.name == "ask_boss")
    answer = types.FunctionResponse(id=asked.id, name="ask_boss", response={"answer": "yes " * 50})
    return types.Part(function_response=answer)


def _compaction() -> Mapping[str, Any]:
    config = import_module("google.adk.apps.app").EventsCompactionConfig
    summarizer = import_module("google.adk.apps.llm_event_summarizer").LlmEventSummarizer
    told = summarizer(llm=ScriptedModel(answer=answers("The user asked, and rows were read.")))
    return {"events_compaction_config": config(compaction_interval=2, overlap_size=1, summarizer=told)}


def _workflow() -> Any:
    workflow = import_module("google.adk.workflow").Workflow
    first, second = agent("first", rows(600), "Six hundred."), agent("second", "Understood.")
    return workflow(name="flow", edges=[("START", first, second)])


def _mode(mode: str) -> LlmAgent:
    ends = [call("finish_task", result="Found 600.")] if mode == "task" else ["Found 600."]
    helper = agent("helper", rows(600), *ends, mode=mode, description="Looks things up.")
    asked = call("helper", request="Look it up.")
    return agent("guide", rows(150), asked, "The helper is done.", "Bye.", sub_agents=[helper])


def _needs(module: str, name: str) -> str:
    try:
        return "" if hasattr(import_module(module), name) else f"this ADK has no {name}"
    except ImportError:
        return f"this ADK has no {module}"


def _remembering(count: int, **settings: Any) -> LlmAgent:
    return agent("lone", call("remember", count=count), "Kept.", "Bye.", tools=[remember], **settings)


def _image() -> types.Part:
    return types.Part.from_bytes(data=b"\x89PNG" + b"\0" * 4000, mime_type="image/png")


_HAS_MODES = "" if "mode" in LlmAgent.model_fields else "this ADK has no modes"
_PASSES = {"before_model_callback": [CompactState(key="found", select=("campaign", "cost"))]}
APPS: Mapping[str, LiveApp] = {
    "words alone": lone("Hello.", "Again.", turns=3),
    "5 rows": lone(rows(5), "Done."),
    "150 rows": lone(rows(150), "Done."),
    "600 rows": lone(rows(600), "Done."),
    "3,000 rows": lone(rows(3000), "Done."),
    "stubs that do not pay": lone(
        rows(45), rows(40), rows(50), "Done.", rows(60), "Bye.", turns=2, instruction="Be fair. " * 500
    ),
    "a text": lone(call("read_text", lines=1500), "Done."),
    "short errors": lone(call("fail", size=10), call("fail", size=20), "I give up."),
    "a long error": lone(call("fail", size=4000), "I give up."),
    "an MCP server": lone(call("from_server", count=300), "Done."),
    "many turns": lone(rows(600), "Done.", call("read_text", lines=700), "Read.", rows(5), "Five.", "Bye.", turns=4),
    "parallel calls": lone([rows(600), rows(150), call("read_text", lines=900)], "Done.", turns=2),
    "in sequence": LiveApp(make=team, messages=["Go.", "Once more."]),
    "in a loop": LiveApp(make=lambda: team(LoopAgent, max_iterations=2)),
    "side by side": LiveApp(make=lambda: team(ParallelAgent), messages=["Go.", "Once more."]),
    "transfers": LiveApp(make=_transfers, messages=["Go.", "And now?", "Back?"]),
    "an agent as a tool": LiveApp(
        make=lambda: agent(
            "guide", call("helper", request="Look."), "Done.", tools=[AgentTool(agent("helper", rows(600), "Seen."))]
        ),
        unrecorded=frozenset({"helper"}),
    ),
    "no history": LiveApp(
        make=lambda: SequentialAgent(
            name="team",
            sub_agents=[
                agent("first", rows(600), "There.", rows(600), "Again."),
                agent("blind", "I see little.", include_contents="none"),
            ],
        ),
        messages=["Go.", "Once more.", "And again."],
    ),
    "no history alone": lone(rows(600), "Done.", rows(150), "More.", turns=2, include_contents="none"),
    "an agent without a model": LiveApp(
        make=lambda: SequentialAgent(name="team", sub_agents=[Teller(name="teller"), agent("writer", "Noted.")]),
        messages=["Go.", "Once more."],
    ),
    "a summary without a model": LiveApp(make=_summary, messages=["Go.", "Once more."]),
    "state in instructions": LiveApp(
        make=lambda: _remembering(100, output_key="said", instruction="Be {mood?}. Rows: {found?}. Last: {said?}."),
        messages=["Go.", "And?", "So?"],
        state={"mood": "new"},
    ),
    "a static instruction": lone(
        rows(600), "Done.", static_instruction="Always be polite. " * 40, instruction="Mind {city?}.", turns=2
    ),
    "thoughts and a planner": LiveApp(make=_thinking, messages=["Go.", "Once more."]),
    "compacted events": LiveApp(
        make=lambda: agent("lone", rows(600), "Done.", rows(150), "Done.", rows(5), "Done.", "Bye."),
        messages=[f"Question {n}?" for n in range(6)],
        settings=_compaction,
        skipped=_needs("google.adk.apps.app", "EventsCompactionConfig") or "no compaction" * (__version__ == "2.0.0"),
    ),
    "a rewind": LiveApp(
        make=lambda: agent("lone", rows(600), "Done.", call("read_text", lines=800), "Read.", "Bye."),
        messages=["Go.", "And?", REWIND, "So?"],
    ),
    "a single-turn agent": LiveApp(make=lambda: _mode("single_turn"), messages=["Go.", "And?"], skipped=_HAS_MODES),
    "a task": LiveApp(make=lambda: _mode("task"), messages=["Go.", "And?"], skipped=_HAS_MODES),
    "a workflow": LiveApp(make=_workflow, messages=["Go.", "And?"], skipped=_needs("google.adk.workflow", "Workflow")),
    "a full budget": LiveApp(
        make=lambda: agent("lone", *([rows(40), "Told at length. " * 60] * 12)),
        messages=[f"Question {n}?" for n in range(12)],
        plugin={"max_tokens": 4_400},
    ),
    "state in short": LiveApp(
        make=lambda: _remembering(200, instruction="Rows: {compact:found}", **_PASSES), messages=["Go.", "And?"]
    ),
    "settings for one agent": LiveApp(
        make=team,
        messages=["Go.", "Once more."],
        plugin={"agents": {"first": None, "second": PackSettings(passes=[StripForContext()], payloads=None)}},
    ),
    "settings of its own": LiveApp(
        make=team, messages=["Go."], plugin={"rows": CapRows(max_rows=20), "read_back": "always", "passes": []}
    ),
    "a long-running tool": LiveApp(make=_long_running, messages=["Go.", _boss_answers, "And?"]),
    "an image": LiveApp(
        make=lambda: agent("lone", rows(600), "Seen.", "Bye."), messages=[[types.Part(text="Look."), _image()], "And?"]
    ),
    "no tools": LiveApp(make=lambda: agent("lone", "Hello. " * 200, tools=()), messages=["Go. " * 300, "And?", "So?"]),
}

"""Conversations with several agents, in every way that ADK lets them work together."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.agents import LoopAgent, ParallelAgent, SequentialAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.exit_loop_tool import exit_loop

from tests.providers.scenario import PROSE, Scenario, fresh, list_ships, look_up, numbers
from tests.support.scripted_model import call, results_in, text_of


def transfer() -> Scenario:
    questions = ["What is Oslo?", "And what is Bergen?", "Once more, please."]

    def host(request):
        if text_of(request.contents[-1:]) in questions:
            return call("transfer_to_agent", agent_name="specialist")
        return "Back again, it is a port." if "is a port" in text_of(request) else "Back again, with nothing."

    def specialist(request):
        found = [] if fresh(request) else [r.name for r in results_in(request)]
        if not found or found[-1] == "transfer_to_agent":
            return call("look_up", city="Oslo")
        if found[-1] == "look_up":
            return call("list_ships", city="Oslo")
        return ["Oslo is a port.", call("transfer_to_agent", agent_name="host")]

    def build(make):
        special = make("specialist", tools=[look_up, list_ships])
        return make("host", sub_agents=[special])

    return Scenario(
        build=build,
        roles={"host": host, "specialist": specialist},
        messages=questions,
        ends_with="Back again, it is a port.",
        declared=2_200,
    )


def sequence() -> Scenario:
    return Scenario(
        build=lambda make: SequentialAgent(
            name="team", sub_agents=[make("collector", tools=[look_up, list_ships]), make("writer")]
        ),
        roles={"collector": _collect, "writer": _write},
        messages=["What is Oslo?", "And now?", "And then?"],
        ends_with="I was told of Oslo.",
    )


def loop() -> Scenario:
    rounds = []

    def work() -> str:
        """Works for a round."""
        rounds.append(1)
        return f"Round {len(rounds)}. " + PROSE * 4

    def worker(request):
        if fresh(request):
            return call("work")
        now = numbers(r"Round (\d+)", request)[-1]
        return f"Round {now} is over."

    def reviewer(request):
        over = max(numbers(r"Round (\d+) is over", request))
        return call("exit_loop") if over >= 4 else f"After round {over}: again."

    return Scenario(
        build=lambda make: LoopAgent(
            name="loop",
            sub_agents=[make("worker", tools=[work]), make("reviewer", tools=[exit_loop])],
            max_iterations=6,
        ),
        roles={"worker": worker, "reviewer": reviewer},
        messages=["Work until it is good.", "Work on."],
        ends_with="Round 5 is over.",
    )


def parallel_agents() -> Scenario:
    names = ("collector_a", "collector_b", "collector_c")

    def build(make):
        tools = [look_up, list_ships]
        together = ParallelAgent(name="together", sub_agents=[make(name, tools=tools) for name in names])
        return SequentialAgent(name="all", sub_agents=[together, make("writer")])

    return Scenario(
        build=build,
        roles={"writer": _write, **dict.fromkeys(names, _collect)},
        messages=["What is Oslo?", "And now?"],
        ends_with="I was told of Oslo.",
    )


def workflow() -> Scenario:
    flow = pytest.importorskip("google.adk.workflow", reason="this ADK has no Workflow")

    def first(node_input: str) -> str:
        return "What is Oslo? " + PROSE * 20

    def last(node_input: str):
        return node_input

    def build(make):
        collector = make("collector", tools=[look_up, list_ships])
        return flow.Workflow(name="flow", edges=[("START", first, collector, make("closer"), last)])

    return Scenario(
        build=build,
        roles={"collector": _collect, "closer": _write},
        messages=["go", "go on"],
        ends_with="I was told of Oslo.",
    )


def agent_tool() -> Scenario:
    def boss(request):
        return call("collector", request="What is Oslo?") if fresh(request) else "The child was asked."

    def build(make):
        child = make("collector", tools=[look_up, list_ships])
        return make("boss", tools=[AgentTool(child)])

    return Scenario(
        build=build,
        roles={"boss": boss, "collector": _collect},
        messages=["Ask.", "Ask again.", "And again."],
        ends_with="The child was asked.",
    )


def _collect(request: LlmRequest) -> Any:
    """Looks Oslo up, then its ships and Bergen at once, and says what it knows."""
    if fresh(request):
        return call("look_up", city="Oslo")
    if len(request.contents[-1].parts or ()) == 1:
        return ["More of it.", call("list_ships", city="Oslo"), call("look_up", city="Bergen")]
    return "Oslo is a port."


def _write(request: LlmRequest) -> str:
    return "I was told of Oslo." if "Oslo is a port" in text_of(request) else "I was told of nothing."

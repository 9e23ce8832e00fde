"""Conversations of every shape that ADK has, by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from tests.support.run import Run, run_agent
from tests.support.scripted_model import call, instruction_text, results_in, text_of

Answer = Callable[[LlmRequest], Any]
Make = Callable[..., LlmAgent]
Message = str | Callable[[list[Event]], types.Part]
PROSE = "It is a port with a long quay, and the ferry leaves at nine, except on Sundays. "


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A conversation.

    Attributes:
        build: from what makes an agent of a role to the agent or node that the app runs.
        roles: what the model answers in each role.
        messages: what the user says, or sends in reply to the events so far.
        ends_with: the answer at the end.
        declared: about the tokens of what ADK and the plugin declare in each request, where that alone would fill
            a small budget: an agent that may transfer is told so at length, and is offered all read-back tools.
    """

    build: Callable[[Make], Any]
    roles: dict[str, Answer] = field(default_factory=dict)
    messages: Sequence[Message]
    ends_with: str
    declared: int = 0

    def brain(self, request: LlmRequest) -> Any:
        """The model's answer in the role that the request's instruction names."""
        role = re.search(r"ROLE: (\w+)", instruction_text(request.config.system_instruction))
        return self.roles[role[1]](request) if role else "I was told no role."


async def converse(scenario: Scenario, target: Any, plugins: Sequence[Any] = (), **settings: Any) -> Run:
    """Has the whole conversation in one session; `settings` are those of `run_agent`."""
    services: dict[str, Any] = {
        "session_service": InMemorySessionService(), "artifact_service": InMemoryArtifactService()
    }  # fmt: skip
    events: list[Event] = []
    run: Run | None = None
    for message in scenario.messages:
        said = message if isinstance(message, str) else message(events)
        run = await run_agent(target, said, plugins=plugins, **services, **settings)
        events += run.events
    assert run is not None
    return run


def maker(model: BaseLlm, callbacks: Sequence[Any] = ()) -> Make:
    """What makes agents with a model and `before_model` callbacks; each says in its instruction which role it plays."""

    def make(role: str, **settings: Any) -> LlmAgent:
        return LlmAgent(
            name=role,
            model=model,
            instruction=f"ROLE: {role}",
            description=f"Plays {role}.",
            before_model_callback=list(callbacks),
            **settings,
        )

    return make


def look_up(city: str) -> str:
    """Looks a city up."""
    return f"{city}: " + PROSE * 8


def list_ships(city: str) -> list:
    """Lists the ships in a port."""
    return [{"ship": f"{city} {n}", "tons": 1000 + n, "cargo": "grain and timber"} for n in range(40)]


def fresh(request: LlmRequest) -> bool:
    """Whether somebody spoke last, and no tool."""
    return not any(part.function_response for part in request.contents[-1].parts or ())


def numbers(pattern: str, request: LlmRequest) -> list[int]:
    return [int(found) for found in re.findall(pattern, text_of(request))]


STEPS = 60
"""How many calls the tool loop makes."""


def parallel_calls() -> Scenario:
    def answer(request):
        if fresh(request):
            return ["I look all of them up.", *(call("look_up", city=c) for c in ("Oslo", "Bergen")),
                    call("list_ships", city="Oslo"), call("look_up", city="Narvik")]  # fmt: skip
        return f"{len(request.contents[-1].parts)} results."

    return Scenario(
        build=lambda make: make("guide", tools=[look_up, list_ships]),
        roles={"guide": answer},
        messages=["First tour?", "Second tour?", "Third tour?", "Fourth tour?"],
        ends_with="4 results.",
    )


def tool_loop() -> Scenario:
    def step(number: int) -> str:
        """Does one step."""
        return f"Step {number} is done. " + PROSE * 3

    def answer(request):
        done = 0 if fresh(request) else numbers(r"Step (\d+) is done", request)[-1]
        return call("step", number=done + 1) if done < STEPS else f"All {done} steps are done."

    return Scenario(
        build=lambda make: make("worker", tools=[step]),
        roles={"worker": answer},
        messages=["Hello, do all steps."],
        ends_with=f"All {STEPS} steps are done.",
    )


def long_running() -> Scenario:
    """A ticket that stays open while the user talks on, next to a call that returns at once; then it is resumed."""

    def order(item: str) -> dict:
        """Orders an item; the answer comes later."""
        return {"result": "The order is pending."}

    def answer(request):
        if "THANKS" in text_of(request.contents[-1:]):
            return "You are welcome."
        ordered = results_in(request, "order")
        if any("arrived" in str(response.response) for response in ordered):
            return "The lamp has arrived."
        if not ordered:
            return [call("look_up", city="Oslo"), call("order", item="lamp"), call("look_up", city="Bergen")]
        return "I wait for the lamp."

    def arrived(events: list[Event]) -> types.Part:
        (asked,) = {c.id for event in events for c in event.get_function_calls() if c.name == "order"}
        response = types.FunctionResponse(id=asked, name="order", response={"result": "The lamp arrived."})
        return types.Part(function_response=response)

    return Scenario(
        build=lambda make: make("buyer", tools=[look_up, LongRunningFunctionTool(order)]),
        roles={"buyer": answer},
        messages=["Order a lamp.", "How is it going?", arrived, "THANKS", "THANKS again"],
        ends_with="You are welcome.",
    )


def confirmation() -> Scenario:
    def pay(amount: int) -> dict:
        """Pays."""
        return {"result": f"Paid {amount}."}

    def answer(request):
        if not fresh(request):
            return "Paid." if "Paid 7" in text_of(request) else "It is not paid."
        # Where the turn was cut away, the note that says so names its tools.
        if re.search(r"Paid 7|\bpay\b", text_of(request)):
            return "It is paid."
        return [call("look_up", city="Oslo"), call("pay", amount=7)]

    def yes(events: list[Event]) -> types.Part:
        name = "adk_request_confirmation"
        (asked,) = [c.id for event in events for c in event.get_function_calls() if c.name == name]
        response = types.FunctionResponse(id=asked, name=name, response={"confirmed": True})
        return types.Part(function_response=response)

    return Scenario(
        build=lambda make: make("payer", tools=[look_up, FunctionTool(pay, require_confirmation=True)]),
        roles={"payer": answer},
        messages=["Pay 7.", yes, "Is it paid?", "Is it really?"],
        ends_with="It is paid.",
    )


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


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    make.__name__: make
    for make in (
        parallel_calls, tool_loop, long_running, confirmation, transfer, sequence, loop, parallel_agents, workflow,
        agent_tool,
    )
}  # fmt: skip

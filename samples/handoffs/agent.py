"""Lean handoffs: four agents in a row, each with a declared view of the others' work: `adk run samples/handoffs`.

`python -m samples.handoffs` prints what each agent's model is shown, without and with the declarations.
"""

import re
from typing import Any

from google.adk.agents import BaseAgent, LlmAgent, SequentialAgent
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import cap_rows, read_back, scoped
from adk_context_pack.testing import ScriptedModel, call, results_in, text_in

VIEWS: dict[str, dict[str, Any]] = {
    "planner": {"sees": ["last_message"], "casts": ["list_orders"]},
    "clerk": {"sees": ["handles"], "state": ["plan"]},
    "writer": {"sees": ["last_message"], "casts": ["clerk"]},
}
"""What each agent sees of the work of those before it. The first one sees the user."""


def list_orders() -> dict[str, Any]:
    """Lists the orders of the year."""
    return {"orders": [{"id": n, "customer": f"c{n % 7}", "cents": 100 + n} for n in range(900)]}


def scout(request: LlmRequest) -> str | types.Part:
    """Lists the orders."""
    return "There are many orders." if results_in(request, "list_orders") else call("list_orders")


def clerk(request: LlmRequest) -> str | types.Part:
    """Follows the plan: it asks the stored orders."""
    if found := results_in(request, "read_back"):
        return f"The orders of c3 come to {found[-1]['rows'][0][0]} cents."
    handle = re.findall(r"handle\W+([0-9a-z]{11})", text_in(request))[-1]
    return call("read_back", handle=handle, sql="SELECT SUM(cents) FROM rows WHERE customer = 'c3'")


def writer(request: LlmRequest) -> str:
    """Reports what the clerk found."""
    found = re.findall(r"The orders of c3 come to \d+ cents\.", text_in(request))
    return f"Report: {found[-1]}"


def team(views: dict[str, dict[str, Any]]) -> SequentialAgent:
    """Returns the four agents, each with the view that is declared for it."""
    agents = [
        LlmAgent(name="scout", model=ScriptedModel(answer=scout), tools=[cap_rows(list_orders, max_rows=3)]),
        LlmAgent(name="planner", model=ScriptedModel(answer=lambda _: "Add up the orders of c3."), output_key="plan"),
        LlmAgent(name="clerk", model=ScriptedModel(answer=clerk), tools=[read_back]),
        LlmAgent(name="writer", model=ScriptedModel(answer=writer)),
    ]
    seen: list[BaseAgent] = [scoped(agent, **views[agent.name]) if agent.name in views else agent for agent in agents]
    return SequentialAgent(name="team", sub_agents=seen)


root_agent = team(VIEWS)

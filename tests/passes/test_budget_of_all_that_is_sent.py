"""A budget holds for all that is sent, the tools that the plugin declares included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App

from adk_context_pack import ContextPackPlugin
from adk_context_pack.conversation.tokens import TokenMeter
from tests.support.histories import o200k
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call

TURNS = 14


def list_orders(page: int) -> dict:
    """Lists one page of orders."""
    rows = [{"id": page * 1000 + n, "city": f"city {n % 7}", "amount": n * 1.37} for n in range(40)]
    return {"status": "ok", "rows": rows, "notes": f"page {page} " * 100}


def read_order(page: int) -> dict:
    """Reads one order."""
    return {"status": "ok", "id": page, "city": f"city {page % 7}"}


def agent(tool: Callable[[int], dict] = list_orders) -> LlmAgent:
    def answer(request: Any) -> Any:
        last = request.contents[-1].parts[-1]
        return "That was the page. " * 20 if last.function_response else call(tool.__name__, page=len(request.contents))

    return LlmAgent(name="worker", model=ScriptedModel(answer=answer), tools=[tool])


def sizes(run: Any, counter: Any) -> list[int]:
    """The tokens of each request as it was sent, counted by a meter that has seen nothing before."""
    found = []
    for sent in run.requests:
        meter = TokenMeter(counter=counter)
        tools = sum(meter.text(tool.model_dump_json(exclude_none=True)) for tool in sent.config.tools or ())
        found.append(tools + meter.text(sent.system) + meter.contents(sent.contents))
    return found


async def test_a_small_budget_holds_with_the_declared_tools() -> None:
    """A budget of 1,200 tokens holds too, where the current turn leaves room for the declarations."""
    counter = o200k()
    plugin = ContextPackPlugin(max_tokens=1_200, counter=counter)
    messages = (f"Show order {number}." + " Take your time." * 20 for number in range(TURNS))
    run = await run_agent(App(name="app", root_agent=agent(read_order), plugins=[plugin]), *messages)
    sent = sizes(run, counter)
    assert any("search_history" in request.tool_names for request in run.requests)
    assert max(sent) <= 1_200
    assert [report.tokens_after for report in plugin.reports] == sent

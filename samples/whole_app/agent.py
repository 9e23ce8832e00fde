"""One line attaches the pack to a whole app: `adk run samples/whole_app`, or `adk web samples`.

A researcher lists 1,000 orders, is shown a hundred with facts about all, and asks for the one row that it is not shown.
A writer is told what the researcher did in a few lines. Both models are scripted, so nothing here needs a network.
"""

from typing import Any

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.apps.app import App
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import ContextPackPlugin
from adk_context_pack.testing import ScriptedModel, call, results_in, text_in


def list_orders() -> dict[str, Any]:
    """Lists all orders."""
    return {"orders": [{"id": n, "customer": f"customer {n % 90}", "total": n * 7 % 1000} for n in range(1000)]}


def research(request: LlmRequest) -> str | types.Part:
    """Lists the orders, then asks about one that the shortened result does not show."""
    if answers := results_in(request, "read_back"):
        return f"Order 700 comes to {answers[-1]['rows'][0][0]}."
    if orders := results_in(request, "list_orders"):
        return call("read_back", handle=orders[-1]["_handle"], sql="SELECT total FROM orders WHERE id = 700")
    return call("list_orders")


def write(request: LlmRequest) -> str:
    """Repeats what it was told of order 700, and nothing that it was not."""
    told = [line for line in text_in(request).splitlines() if "Order 700 comes to" in line]
    return f"Report: {told[-1].partition('said: ')[2] or told[-1]}" if told else "I was told of no order."


researcher = LlmAgent(name="researcher", model=ScriptedModel(answer=research), tools=[list_orders])
writer = LlmAgent(name="writer", model=ScriptedModel(answer=write))

app = App(
    name="whole_app",
    root_agent=SequentialAgent(name="team", sub_agents=[researcher, writer]),
    plugins=[ContextPackPlugin()],
)

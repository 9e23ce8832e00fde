"""A remote agent over A2A is sent a short account of what others did: `adk run samples/remote_agent`.

The server of the remote agent runs in this process here. For one elsewhere, leave `httpx_client` out and give the
address of its card.
"""

from typing import Any

import httpx
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.apps.app import App
from google.adk.models.llm_request import LlmRequest

from adk_context_pack import StripForContext, a2a_context
from adk_context_pack.testing import ScriptedModel, call, results_in, text_in

try:
    from google.adk.agents.remote_a2a_agent import RemoteA2aAgent

    from .server import InThisProcess, server
except ImportError as error:
    raise ImportError(
        'samples/remote_agent needs pip install "google-adk[a2a]", of google-adk 2.10 or newer'
    ) from error

QUESTIONS = ["Remind the customers who are over 30 days late.", "And now those who are over 60 days late."]


def list_invoices(customer: str) -> dict[str, Any]:
    """Lists the invoices that a customer has not paid."""
    number = int(customer[1:])
    late = [
        {"invoice": number * 1000 + n, "cents": n * number * 317 % 9901, "days_late": n * number % 80}
        for n in range(60)
    ]
    return {"customer": customer, "invoices": late}


def check(request: LlmRequest) -> Any:
    """Lists the invoices of each customer once, and says who owes what."""
    listed = results_in(request, "list_invoices")
    if not listed:
        return [call("list_invoices", customer=f"c{number}") for number in range(1, 5)]
    days = 60 if "over 60 days" in text_in(request) else 30
    sums = {
        result["customer"]: sum(invoice["cents"] for invoice in result["invoices"] if invoice["days_late"] > days)
        for result in listed
    }
    return "\n".join(f"{customer} owes {cents} cents." for customer, cents in sums.items() if cents)


builder = a2a_context(passes=[StripForContext()])
secretary: Any = RemoteA2aAgent(
    name="secretary",
    agent_card="http://127.0.0.1:8000/.well-known/agent-card.json",
    httpx_client=httpx.AsyncClient(transport=InThisProcess(server)),
    context_builder=builder,
)
bookkeeper = LlmAgent(name="bookkeeper", model=ScriptedModel(answer=check), tools=[list_invoices])
app = App(
    name="remote_agent",
    root_agent=SequentialAgent(name="office", sub_agents=[bookkeeper, secretary]),
)

"""Results by reference: 300 orders are invoiced in one short call: `adk run samples/pass_on`.

The model is shown three of the orders. It names the result in the argument of the next tool, which gets all of them
from the store, exactly as they were.
"""

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import cap_rows, resolve_results
from adk_context_pack.testing import ScriptedModel, call, results_in


def list_orders(month: str) -> dict[str, Any]:
    """Lists the orders of a month."""
    return {"month": month, "orders": [{"id": n, "customer": f"c{n % 7}", "cents": 100 + n} for n in range(300)]}


def make_invoices(orders: list[dict[str, Any]], note: str) -> dict[str, Any]:
    """Makes an invoice for each customer.

    Args:
        orders: The orders, each with customer and cents.
        note: A note for all invoices.
    """
    customers = {order["customer"] for order in orders}
    total = sum(order["cents"] for order in orders)
    return {"invoices": len(customers), "orders": len(orders), "cents": total, "note": note}


def answer(request: LlmRequest) -> str | types.Part:
    """Lists the orders, passes them on, and says what came of it."""
    if made := results_in(request, "make_invoices"):
        return "{invoices} invoices for {orders} orders, {cents} cents: {note}".format(**made[-1])
    if listed := results_in(request, "list_orders"):
        handle = listed[-1]["_handle"]
        note = f"Orders of {{{{result:{handle}.month}}}}."
        return call("make_invoices", orders=f"{{{{result:{handle}.orders}}}}", note=note)
    return call("list_orders", month="May")


root_agent = LlmAgent(
    name="accountant",
    model=ScriptedModel(answer=answer),
    tools=[cap_rows(list_orders, max_rows=3), resolve_results(make_invoices)],
)

"""An analyst over data frames: figures come from all rows, and SQL answers the rest: `adk run samples/data_frames`.

It needs pandas, which the pack itself does not.
"""

import pandas as pd  # type: ignore[import-untyped]
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import ContextPackPlugin
from adk_context_pack.testing import ScriptedModel, call, results_in

TOTALS = "SELECT currency, round(sum(amount), 2) FROM rows GROUP BY currency ORDER BY currency"


def load_orders() -> dict[str, object]:
    """Loads the orders of the year."""
    number = pd.RangeIndex(5_000)
    orders = {
        "order_id": number + 70_000,
        "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(number % 365, unit="D"),
        "currency": ["EUR" if n % 3 else "JPY" for n in number],
        "amount": [n * 37 % 991 / 4 for n in number],
    }
    return {"orders": pd.DataFrame(orders)}


def answer(request: LlmRequest) -> str | types.Part:
    """Asks for a sum over all orders, is told that they have two currencies, and asks for one sum of each."""
    answers = results_in(request, "read_back")
    if len(answers) > 1:
        return "Sold: " + ", ".join(f"{amount} {currency}" for currency, amount in answers[-1]["rows"])
    orders = results_in(request, "load_orders")
    if not orders:
        return call("load_orders")
    return call("read_back", handle=orders[-1]["_handle"], sql=TOTALS if answers else "SELECT sum(amount) FROM rows")


plugin = ContextPackPlugin()

app = App(
    name="data_frames",
    root_agent=LlmAgent(name="analyst", model=ScriptedModel(answer=answer), tools=[load_orders]),
    plugins=[plugin],
)

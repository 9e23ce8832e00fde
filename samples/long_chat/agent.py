"""A chat of forty turns within a budget, and within a limit for the session: `adk run samples/long_chat`.

Old results leave in batches, so that the provider's cache stays warm in between, and what left can be found again.
"""

import re
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import ContextPackPlugin
from adk_context_pack.testing import ScriptedModel, call

QUESTIONS = [*(f"What does product {n} cost?" for n in range(40)), "Which code did product 3 have?"]


def look_up(product: int) -> dict[str, Any]:
    """Looks up a product."""
    lines = [{"shop": f"shop {shop}", "cents": 1_000 + product * 7 + shop} for shop in range(12)]
    return {"product": product, "code": f"ZX-{product * 7919 % 9973}", "offers": lines}


def answer(request: LlmRequest) -> str | types.Part:
    """Looks up each product, and searches the history for what is not shown any more."""
    newest = (request.contents[-1].parts or [types.Part()])[-1]
    if newest.text is None:
        (result,) = [newest.function_response.response or {}] if newest.function_response else [{}]
        if "found" in result:
            code = re.search(r"ZX-\d+", str(result["found"]))
            return f"It was {code[0]}." if code else "I do not know."
        # The plugin shows tables with their columns first.
        cents = re.search(r"shop 0\D+(\d+)", str(result["offers"]))
        return f"Product {result['product']} costs {cents[1] if cents else 'unknown'} cents."
    if "code" in newest.text:
        return call("read_back", search="code of product 3 tool:look_up")
    product = re.search(r"product (\d+)", newest.text)
    return call("look_up", product=int(product[1])) if product else "Ask me what product 3 costs."


plugin = ContextPackPlugin(max_tokens=6_000)

app = App(
    name="long_chat",
    root_agent=LlmAgent(name="clerk", model=ScriptedModel(answer=answer), tools=[look_up]),
    plugins=[plugin],
)

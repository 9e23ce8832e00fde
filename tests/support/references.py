"""An agent whose tools keep their large results, and whose other tools take references to them."""

from __future__ import annotations

import re
from typing import Any

from google.adk.agents import LlmAgent

from adk_context_pack import cap_rows, offload_payload, resolve_results
from tests.support.scripted_model import ScriptedModel, results_in

ORDERS = [{"id": n, "name": f"Å “{n}” \\n {{{{x}}}}", "price": n / 7, "tags": ["a", None]} for n in range(50)]
LETTER = "Dear all,\n" + "the train to Århus was late.\n" * 2_000


def list_orders() -> dict[str, Any]:
    """Lists the orders."""
    return {"rows": ORDERS, "page": {"total": 50, "next": None}}


def read_letter() -> str:
    """Reads the letter."""
    return LETTER


ROWS = cap_rows(list_orders, max_rows=2, facts=False)
TEXT = offload_payload(read_letter, max_tokens=200, preview_tokens=50)


class Taker:
    """A tool that keeps what it was given."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    def take(self, value: Any, note: str = "") -> dict[str, Any]:
        """Takes a value.

        Args:
            value: Any value.
            note: A note.
        """
        self.got.append((value, note) if note else value)
        return {"taken": type(value).__name__}


def handle_in(request: Any, tool: str = "list_orders") -> str:
    """The handle that the newest result of a tool shows."""
    return re.findall(r"(?:_handle\W+|handle='| as )([0-9a-z]{11})", str(results_in(request, tool)[-1]))[-1]


def agent_of(*steps: Any, taker: Taker | None = None, name: str = "a", **settings: Any) -> LlmAgent:
    """An agent that does one step after the other: a part, a text, or a function from its request to one."""
    left = list(steps)

    def answer(request: Any) -> Any:
        step = left.pop(0) if left else "done"
        return step(request) if callable(step) else step

    max_bytes = {"max_bytes": settings.pop("max_bytes")} if "max_bytes" in settings else {}
    tools = settings.pop("tools", None) or [ROWS, TEXT, resolve_results((taker or Taker()).take, **max_bytes)]
    return LlmAgent(name=name, model=ScriptedModel(answer=answer), tools=tools, **settings)

"""Agents with large results, for tests of the plugin; their models answer from what they received."""

from __future__ import annotations

from google.adk.agents import LlmAgent
from google.adk.plugins.base_plugin import BasePlugin

from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in, text_of

ROWS = [{"id": number, "city": f"city {number % 7}", "amount": number + 3} for number in range(1000)]
LOG = "\n".join(f"line {n}: all well" if n != 2222 else "line 2222: needle 4711" for n in range(4000))


def list_sales() -> dict:
    """Lists sales."""
    return {"rows": list(ROWS)}


def read_log() -> str:
    """Reads the log."""
    return LOG


def analyst(name: str = "analyst", *, reads: bool = True, calls: int = 1, tools=(list_sales,), **settings) -> LlmAgent:
    """Lists sales, `calls` times at once, and asks for what the stub does not show, if it is told how."""

    def answer(request):
        if found := results_in(request, "read_back"):
            (count, amount) = found[-1].response["rows"][0]
            return f"There are {count} sales, the 700th of {amount}."
        listed = results_in(request, "list_sales")
        if not listed or request.contents[-1].parts[-1].text:
            return [call("list_sales") for _ in range(calls)]
        handle = listed[-1].response.get("_handle")
        if reads and handle:
            sql = "SELECT COUNT(*), MAX(CASE WHEN id = 700 THEN amount END) FROM rows"
            return call("read_back", handle=handle, sql=sql)
        return f"I see {len(listed[-1].response['rows'])} rows."

    return LlmAgent(name=name, model=ScriptedModel(answer=answer), tools=list(tools), **settings)


def writer(name: str = "writer", **settings) -> LlmAgent:
    """Says whether it was told of the sales."""

    def answer(request):
        return "There were 1000 sales." if "There are 1000 sales" in text_of(request) else "I know of no sales."

    return LlmAgent(name=name, model=ScriptedModel(answer=answer), **settings)


async def stores_late() -> bool:
    """Whether this ADK shows a plugin an event before it stores it (1.22 stores first)."""
    seen = []

    class Look(BasePlugin):
        async def on_event_callback(self, *, invocation_context, event):
            seen.append(any(stored.id == event.id for stored in invocation_context.session.events))

    await run_agent(writer(), "go", plugins=[Look(name="look")])
    return not any(seen)

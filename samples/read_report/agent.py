"""An app whose plugin keeps its requests, so that they can be looked at: `adk run samples/read_report`."""

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import ContextPackPlugin
from adk_context_pack.testing import ScriptedModel, call, results_in


def read_log(day: str) -> dict[str, Any]:
    """Reads a day's log."""
    return {"day": day, "log": "\n".join(f"{day} {n:04} all is well" for n in range(1500))}


def answer(request: LlmRequest) -> str | types.Part:
    """Reads three days, one after the other."""
    days = [result["day"] for result in results_in(request, "read_log")]
    left = [day for day in ("Monday", "Tuesday", "Wednesday") if day not in days]
    return call("read_log", day=left[0]) if left else f"Nothing happened on {', '.join(days)}."


plugin = ContextPackPlugin(keep_requests=True)

app = App(
    name="read_report",
    root_agent=LlmAgent(name="watchman", model=ScriptedModel(answer=answer), tools=[read_log]),
    plugins=[plugin],
)

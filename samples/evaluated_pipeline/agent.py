"""A pipeline that `adk eval` judges, and a test holds to its budget: `adk run samples/evaluated_pipeline`."""

from typing import Any

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.apps.app import App
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import ContextPackPlugin
from adk_context_pack.testing import ScriptedModel, call, results_in, text_in

BUDGET = {"reader": 1_100, "*": 900}
"""The largest request of an agent, in tokens."""

WORST = "SELECT line, sum(minutes_late) AS late FROM rows GROUP BY line ORDER BY late DESC LIMIT 1"


def load_delays(month: str) -> dict[str, Any]:
    """Loads the delays of a month, one of each departure."""
    late = [{"departure": n, "line": f"U{1 + n % 6}", "minutes_late": n * 17 % (9 + n % 6)} for n in range(1_500)]
    return {"month": month, "delays": late}


def read(request: LlmRequest) -> str | types.Part:
    """Loads the delays, asks which line has most of them, and hands that on."""
    if worst := results_in(request, "read_back"):
        line, late = worst[-1]["rows"][0]
        return f"{line} was {late} minutes late."
    if loaded := results_in(request, "load_delays"):
        return call("read_back", handle=loaded[-1]["_handle"], sql=WORST)
    return call("load_delays", month="2026-05")


def write(request: LlmRequest) -> str:
    """Writes the line that passengers read, from what it is told of the reader's work."""
    said = next(line for line in text_in(request).splitlines() if "minutes late" in line)
    return f"Sorry: {said[said.index('U') :]}"


plugin = ContextPackPlugin()

root_agent = SequentialAgent(
    name="pipeline",
    sub_agents=[
        LlmAgent(name="reader", model=ScriptedModel(answer=read), tools=[load_delays]),
        LlmAgent(name="writer", model=ScriptedModel(answer=write)),
    ],
)

app = App(name="evaluated_pipeline", root_agent=root_agent, plugins=[plugin])

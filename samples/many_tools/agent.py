"""Tools on demand: 40 tools cost two declarations: `adk run samples/many_tools`.

The model finds the tool that it needs, reads its schema as a result, and uses it. The session shows the call of the
tool itself, which asks, runs and is traced as if it had been declared.
"""

import json
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from adk_context_pack import defer_tools
from adk_context_pack.testing import ScriptedModel, call, results_in

CITIES = ("oslo", "rome", "lima", "cairo", "tokyo", "paris", "quito", "delhi")
ACTIONS = ("weather", "hotels", "trains", "museums", "airports")


def tool_for(action: str, city: str) -> FunctionTool:
    """Makes one of the tools."""

    def look_up(day: str) -> dict[str, Any]:
        return {"city": city, "day": day, action: f"{action} of {city}"}

    look_up.__name__ = f"{action}_in_{city}"
    look_up.__doc__ = f"Looks up the {action} in {city.title()} on a day."
    return FunctionTool(look_up)


def answer(request: LlmRequest) -> str | types.Part:
    """Finds the tool, uses it, and says what it gave."""
    if used := results_in(request, "use_tool"):
        return f"Found: {used[-1]['museums']}."
    if found := results_in(request, "find_tools"):
        return call("use_tool", name=found[-1]["tools"][0]["name"], args=json.dumps({"day": "Monday"}))
    return call("find_tools", query="museums to see in Rome")


root_agent = LlmAgent(
    name="traveller",
    model=ScriptedModel(answer=answer),
    tools=[defer_tools(*[tool_for(action, city) for city in CITIES for action in ACTIONS])],
)

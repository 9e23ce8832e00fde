"""The pack's parts on one agent only, each where it belongs: `adk run samples/one_agent`.

Passes are entries of `before_model_callback`, a wrapped tool shortens its own result, and `read_back` reads the rest.
The other agents of an app are as they were.
"""

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import ContextPipeline, cap_rows, default_passes, read_back
from adk_context_pack.testing import ScriptedModel, call, results_in


def list_visits() -> dict[str, Any]:
    """Lists the visits of all pages."""
    return {"visits": [{"page": f"/page/{n}", "seconds": n * 13 % 600} for n in range(2000)]}


def answer(request: LlmRequest) -> str | types.Part:
    """Lists the visits, then counts the long ones among all of them."""
    if answers := results_in(request, "read_back"):
        return f"{answers[-1]['rows'][0][0]} of 2000 visits were longer than five minutes."
    if visits := results_in(request, "list_visits"):
        return call("read_back", handle=visits[-1]["_handle"], sql="SELECT COUNT(*) FROM visits WHERE seconds > 300")
    return call("list_visits")


pipeline = ContextPipeline(default_passes(max_tokens=100_000))

root_agent = LlmAgent(
    name="visits_analyst",
    model=ScriptedModel(answer=answer),
    before_model_callback=[pipeline],
    after_model_callback=[pipeline.after_model],
    tools=[cap_rows(list_visits, max_rows=20), read_back],
)

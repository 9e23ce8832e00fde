"""An agent with a pass of its own: `adk run samples/own_pass`.

A test tries the laws on the pass: `adk_context_pack.testing.check_pass(ShortenTracebacks(), except_for={"reachable"})`,
since nobody can read the lines that it cuts back.
"""

import traceback
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import ContextPipeline
from adk_context_pack.testing import ScriptedModel, call, results_in

from .shorten_tracebacks import ShortenTracebacks


def run_job() -> dict[str, Any]:
    """Runs the nightly job."""
    try:
        return {"output": str(1 / 0)}
    except ZeroDivisionError:
        return {"output": f"job 7 failed\n{traceback.format_exc()}"}


def answer(request: LlmRequest) -> str | types.Part:
    """Runs the job and says how it ended, in the words that it was shown."""
    outputs = results_in(request, "run_job")
    return f"The log says: {outputs[-1]['output']}" if outputs else call("run_job")


pipeline = ContextPipeline([ShortenTracebacks()])

root_agent = LlmAgent(
    name="operator",
    model=ScriptedModel(answer=answer),
    before_model_callback=[pipeline],
    after_model_callback=[pipeline.after_model],
    tools=[run_job],
)

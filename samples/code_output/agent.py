"""What code prints is shown in part, kept and read back, as a tool's result is: `adk run samples/code_output`."""

import re

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.code_executors import UnsafeLocalCodeExecutor
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import ContextPackPlugin
from adk_context_pack.testing import ScriptedModel, call, results_in, text_in

CODE = """
for day in range(1, 31):
    for station in range(40):
        level = 80 + (day * 7 + station * 13) % 40
        warning = " FLOOD WARNING" if (day, station) == (17, 23) else ""
        print(f"2026-05-{day:02} station {station}: {level} cm{warning}")
"""


def answer(request: LlmRequest) -> str | types.Part:
    """Prints all levels, then looks for the warning among them."""
    if found := results_in(request, "read_back"):
        lines = found[-1]["matches"][0]["text"].splitlines()
        return f"There was one warning: {next(line for line in lines if 'WARNING' in line)}."
    said = text_in(request)
    if shown := re.search(r"handle='(\w+)'", said):
        return call("read_back", handle=shown[1], search="WARNING")
    # ADK 1.22 stores an event before a plugin sees it, so that all of the output is here.
    if warning := re.search(r"2026.* FLOOD WARNING", said):
        return f"There was one warning: {warning[0]}."
    return f"```tool_code{CODE}```"


plugin = ContextPackPlugin()

app = App(
    name="code_output",
    root_agent=LlmAgent(
        name="hydrologist",
        model=ScriptedModel(answer=answer),
        # It runs what a model wrote in this very process. Take a container for code that you do not know.
        code_executor=UnsafeLocalCodeExecutor(),
    ),
    plugins=[plugin],
)

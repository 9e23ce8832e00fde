"""A 2.x Workflow whose middle node computes without a model: `adk run samples/workflow_summary`.

A function node fetches the rows into state, DataSummarizer sums them up exactly, and the writer's model is handed the
summary: totals and KPIs, no rows and no micros.
"""

from google.adk import version
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest

from adk_context_pack import GOOGLE_ADS_KPIS, DataSummarizer
from adk_context_pack.testing import ScriptedModel, text_in

try:
    from google.adk.agents.context import Context
    from google.adk.workflow import Workflow
except ImportError as error:
    raise ImportError(
        f"samples/workflow_summary needs google-adk 2.0 or newer (Workflow); installed is {version.__version__}"
    ) from error


def fetch(ctx: Context) -> None:
    """Puts the rows of a report into state, where any query of a real account would put them."""
    rows = [
        {
            "campaign": {"id": n, "name": f"Campaign {n}"},
            "metrics": {"clicks": n, "impressions": 50 * n, "costMicros": n * 10**6},
        }
        for n in range(1, 400)
    ]
    ctx.state["gaql_execution_results"] = {"q1": {"status": "SUCCESS", "results": rows}}


def write(request: LlmRequest) -> str:
    """Hands on what it was handed."""
    return f"Summary of all campaigns: {text_in(request)}"


summarizer = DataSummarizer(
    name="summarizer",
    source="gaql_execution_results",
    kpis=GOOGLE_ADS_KPIS,
    output_key="summarized_results",
    max_ranked=2,
)
writer = LlmAgent(name="writer", model=ScriptedModel(answer=write))

root_agent = Workflow(name="workflow_summary", edges=[("START", fetch, summarizer, writer)])

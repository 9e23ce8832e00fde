"""The pipeline; `adk run samples/wolfy` and `adk web samples` find `root_agent` here.

They work offline. In the environment, WOLFY_DATA names a CSV file to query instead of the made-up account, and
WOLFY_MODEL a model, such as a Gemini with GOOGLE_API_KEY set.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, SequentialAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.tools.exit_loop_tool import exit_loop
from pydantic import BaseModel

from adk_context_pack import (
    GOOGLE_ADS_KPIS,
    CompactState,
    ContextPipeline,
    DataSummarizer,
    StripForContext,
    cap_rows,
    get_summarized_results,
)

from . import prompts
from .account import Account
from .csv_account import csv_account
from .demo_account import demo_account
from .offline.model import OFFLINE_MODEL
from .queries import QUERIES, RESULTS, QueryTools
from .techniques import llm_agents


class QueryStatus(BaseModel):
    """What became of one query."""

    id: str
    status: Literal["PENDING", "SUCCESS", "FAILED"]


class ExecutionReport(BaseModel):
    """What the execution agent hands over: a few words for each query, and no rows."""

    queries: list[QueryStatus]


strip_for_context = StripForContext()
compact_queries = CompactState(
    key=QUERIES,
    select={
        "status": {
            "SUCCESS": ("id", "title", "status", "row_count"),
            "FAILED": ("id", "title", "status", "error_message", "query"),
            None: ("id", "title", "status", "depends_on"),
        }
    },
)


def query_generator(account: Account, tools: QueryTools, model: str | BaseLlm) -> LlmAgent:
    """Writes the queries into state; the only agent that needs the conversation."""
    return LlmAgent(
        name="query_generator",
        model=model,
        static_instruction=account.field_reference,
        instruction=prompts.GENERATOR,
        before_model_callback=[strip_for_context],
        tools=[tools.save_queries],
    )


def query_executor(tools: QueryTools, model: str | BaseLlm) -> LlmAgent:
    """Runs the queries that are due; the full rows go to state, and five of each to the model."""
    return LlmAgent(
        name="query_executor",
        model=model,
        instruction=prompts.EXECUTOR,
        include_contents="none",
        before_model_callback=[strip_for_context, compact_queries],
        # No facts beside the rows: this agent only has to see that a query ran, and data_summarizer computes.
        tools=[cap_rows(tools.run_query, max_rows=5, facts=False, state_key=RESULTS + ":{query_id}")],
        output_schema=ExecutionReport,
        output_key="execution_report",
    )


def query_analyst(account: Account, tools: QueryTools, model: str | BaseLlm) -> LlmAgent:
    """Reviews the queries and corrects those that failed, or ends the loop."""
    return LlmAgent(
        name="query_analyst",
        model=model,
        static_instruction=account.field_reference,
        instruction=prompts.ANALYST,
        include_contents="none",
        before_model_callback=[strip_for_context, compact_queries],
        tools=[tools.revise_query, exit_loop],
    )


def report_writer(model: str | BaseLlm) -> LlmAgent:
    """Writes the report from what data_summarizer computed."""
    return LlmAgent(
        name="report_writer",
        model=model,
        instruction=prompts.WRITER,
        include_contents="none",
        before_model_callback=[strip_for_context, compact_queries],
        tools=[get_summarized_results],
        output_key="report",
    )


def build_pipeline(account: Account, model: str | BaseLlm = OFFLINE_MODEL) -> SequentialAgent:
    """The Ads analyst: plan, run and review until nothing can be corrected, summarize, write.

    Args:
        account: what the queries run on.
        model: the name of a model, or the model.
    """
    tools = QueryTools(account)
    review_loop = LoopAgent(
        name="review_loop",
        sub_agents=[query_executor(tools, model), query_analyst(account, tools, model)],
        max_iterations=5,
    )
    data_summarizer = DataSummarizer(
        name="data_summarizer",
        source=RESULTS,
        kpis=GOOGLE_ADS_KPIS,
        output_key="summarized_results",
        max_ranked=3,
    )
    return SequentialAgent(
        name="wolfy",
        sub_agents=[query_generator(account, tools, model), review_loop, data_summarizer, report_writer(model)],
    )


def open_account(data: str | None = None) -> Account:
    """The demo account, or that of a CSV file."""
    return csv_account(Path(data)) if data else demo_account()


def with_reports(root: BaseAgent) -> BaseAgent:
    """Lets each agent's passes report on the events that they change a request for, and returns the root agent.

    `adk web` shows the reports on the events of the model's answers.
    """
    for agent in llm_agents(root):
        pipeline = ContextPipeline(agent.before_model_callback)  # type: ignore[arg-type]
        agent.before_model_callback, agent.after_model_callback = [pipeline], [pipeline.after_model]
    return root


root_agent = with_reports(
    build_pipeline(open_account(os.environ.get("WOLFY_DATA")), os.environ.get("WOLFY_MODEL", OFFLINE_MODEL))
)

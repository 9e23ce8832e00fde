"""The seven techniques of the pipeline, each with the way to do without it; for comparison only, nothing to copy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.callback_context import CallbackContext

from adk_context_pack import CompactState, DataSummarizer, StripForContext, get_summarized_results

from .account import Account
from .queries import RESULTS, QueryTools

STRIPPER = "StripForContext"
NO_HISTORY = "include_contents='none'"
COMPACT_STATE = "CompactState"
STATIC = "static_instruction"
SUMMARIZER = "DataSummarizer"
CAP = "cap_rows"
SCHEMA = "output_schema"
TECHNIQUES = (STRIPPER, NO_HISTORY, COMPACT_STATE, STATIC, SUMMARIZER, CAP, SCHEMA)
ADK_OPTIONS = (NO_HISTORY, STATIC, SCHEMA)
"""Those that ADK has without the pack."""


def leave_out(root: BaseAgent, techniques: Iterable[str], account: Account) -> None:
    """Takes techniques out of a pipeline that has them all.

    Args:
        root: what `build_pipeline` returned; it is changed.
        techniques: entries of `TECHNIQUES`; all of them leave the pipeline as it would be without the pack.
        account: what the pipeline's queries run on.
    """
    gone = set(techniques)
    for name, undo in _WITHOUT.items():
        if name in gone:
            for agent in llm_agents(root):
                undo(agent)
    if CAP in gone:
        _without_cap(root, account)
    if SUMMARIZER in gone:
        # Where the whole history goes to the writer, the rows are in it; else they have to be pasted in.
        _without_summarizer(root, paste=not {STRIPPER, NO_HISTORY, CAP} <= gone)


def llm_agents(root: BaseAgent) -> Iterator[LlmAgent]:
    """The agents with a model, in the order of the tree."""
    if isinstance(root, LlmAgent):
        yield root
    for agent in root.sub_agents:
        yield from llm_agents(agent)


def _without_pass(kind: type) -> Callable[[LlmAgent], None]:
    def undo(agent: LlmAgent) -> None:
        callbacks: list[Any] = agent.before_model_callback or []  # type: ignore[assignment]
        agent.before_model_callback = [entry for entry in callbacks if not isinstance(entry, kind)]

    return undo


def _with_raw_state(agent: LlmAgent) -> None:
    _without_pass(CompactState)(agent)
    if isinstance(agent.instruction, str):
        agent.instruction = re.sub(r"\{compact:(\w+)\}", r"{\1?}", agent.instruction)


def _with_reference_in_instruction(agent: LlmAgent) -> None:
    if agent.static_instruction is not None:
        agent.instruction = f"{agent.instruction}\n{agent.static_instruction}"
        agent.static_instruction = None


def _with_history(agent: LlmAgent) -> None:
    agent.include_contents = "default"


def _without_schema(agent: LlmAgent) -> None:
    agent.output_schema = None


def _without_cap(root: BaseAgent, account: Account) -> None:
    for agent in llm_agents(root):
        if agent.name == "query_executor":
            agent.tools = [QueryTools(account).run_query]


def _without_summarizer(root: BaseAgent, *, paste: bool) -> None:
    root.sub_agents = [agent for agent in root.sub_agents if not isinstance(agent, DataSummarizer)]
    for agent in llm_agents(root):
        if get_summarized_results in agent.tools:
            agent.tools = []
            instruction = str(agent.instruction).replace("get_summarized_results", "the rows of the results")
            agent.instruction = f"{instruction}\nResults: {{temp:results}}" if paste else instruction
            agent.before_agent_callback = _collect_results


def _collect_results(callback_context: CallbackContext) -> None:
    state = callback_context.state.to_dict()
    prefix = f"{RESULTS}:"
    callback_context.state["temp:results"] = {
        key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)
    }


_WITHOUT: dict[str, Callable[[LlmAgent], None]] = {
    STRIPPER: _without_pass(StripForContext),
    NO_HISTORY: _with_history,
    COMPACT_STATE: _with_raw_state,
    STATIC: _with_reference_in_instruction,
    SCHEMA: _without_schema,
}

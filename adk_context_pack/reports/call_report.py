"""The record of one model call that went through a pipeline."""

from __future__ import annotations

from dataclasses import dataclass

from adk_context_pack.reports.pass_report import PassReport


@dataclass(frozen=True, kw_only=True, slots=True)
class CallReport:
    """What a pipeline did to the request of one model call.

    Attributes:
        agent: the agent's name.
        model: the model's name, where ADK had set one.
        invocation_id: ADK's id of the run.
        session_id: the session's id.
        passes: one record for each pass, in the order in which they ran.
        tokens_before: tokens of the whole request before the first pass.
        tokens_after: tokens of the whole request after the last pass.
    """

    agent: str
    model: str
    invocation_id: str
    session_id: str
    passes: tuple[PassReport, ...]
    tokens_before: int
    tokens_after: int

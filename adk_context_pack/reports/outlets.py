"""Where a report goes besides the list of reports: the log, and the event that ADK stores."""

from __future__ import annotations

import logging

from google.adk.models.llm_response import LlmResponse

from adk_context_pack.reports.call_report import CallReport
from adk_context_pack.reports.event_report import EventReport
from adk_context_pack.reports.pass_report import PassReport
from adk_context_pack.reports.telemetry import NAME

logger = logging.getLogger("adk_context_pack")


def log_line(report: CallReport) -> None:
    """One line at INFO for one model call; numbers and names only."""
    if not logger.isEnabledFor(logging.INFO):
        return
    passes = ", ".join(f"{each.name} {_did(each)}" for each in report.passes)
    logger.info(
        "%s: %s -> %s tokens, prefix kept %.0f %%, %.1f ms (%s) run=%s session=%s",
        report.agent,
        f"{report.tokens_before:,}",
        f"{report.tokens_after:,}",
        100 * report.prefix.share,
        1e3 * report.seconds,
        passes or "no passes",
        report.invocation_id,
        report.session_id,
    )


def _did(each: PassReport) -> str:
    return f"failed: {each.error_type}" if each.error_type else f"{-each.tokens_saved:+,}"


def annotate(response: LlmResponse, report: CallReport) -> None:
    """Puts a report into the response's `custom_metadata`, which ADK stores on the event; other entries stay."""
    response.custom_metadata = {**(response.custom_metadata or {}), NAME: EventReport(report.to_dict())}

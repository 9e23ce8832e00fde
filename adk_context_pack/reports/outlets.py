"""Where a report goes besides the list of reports: the log, and the event that ADK stores."""

from __future__ import annotations

import logging
from typing import Any

from google.adk.models.llm_response import LlmResponse

from adk_context_pack.reports.call_report import CallReport
from adk_context_pack.reports.pass_report import PassReport
from adk_context_pack.reports.telemetry import NAME

logger = logging.getLogger("adk_context_pack")


class EventReport(dict[str, Any]):
    """The JSON values of a report; nobody writes into what is below the first level.

    ADK's service in memory copies a session with all of its events at each turn, and pydantic and JSON take this for
    the dict that it is. Going through the report of each model call again and again was 4 % of the time of an app with
    200 sessions (ADK 2.7 and later; before, ADK makes a plain dict of it).
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> EventReport:
        copied = EventReport(self)
        memo[id(self)] = copied
        return copied


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

"""Writes a report to the log and to the event that ADK stores, and reads it from there."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from google.adk.events.event import Event
from google.adk.models.llm_response import LlmResponse

from adk_context_pack.reports.call_report import CallReport

NAME = "adk_context_pack"
logger = logging.getLogger(NAME)


class EventReport(dict[str, Any]):
    """The totals of a report. Nobody may write below its first level.

    ADK's in-memory service deep-copies a session with all of its events at each turn. This dict is copied in one step,
    while pydantic and JSON see a dict like any other. Before ADK 2.7, ADK makes a plain dict of it.
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> EventReport:
        copied = EventReport(self)
        memo[id(self)] = copied
        return copied


def log_line(report: CallReport) -> None:
    """Logs one model call in one line at INFO, with numbers and names only.

    It leads from the request of ADK alone to the one that was sent, and names each step between them.
    """
    if not logger.isEnabledFor(logging.INFO):
        return
    steps = [f"results of {tool} {-saved:+,}" for tool, saved in report.results.items()]
    steps += [f"read-back tools {report.pack_tools:+,}"] if report.pack_tools else []
    steps += [
        f"{each.name} failed: {each.error_type}" if each.error_type else f"{each.name} {-each.tokens_saved:+,}"
        for each in report.passes
    ]
    logger.info(
        "%s%s: %s -> %s tokens, prefix kept %.0f %%, %.1f ms (%s) run=%s session=%s",
        "shadow of " if report.shadow else "",
        report.agent,
        f"{report.tokens_without_pack:,}",
        f"{report.tokens_after:,}",
        100 * report.prefix.share,
        1e3 * report.seconds,
        ", ".join(steps) or "no passes",
        report.invocation_id,
        report.session_id,
    )


def annotate(response: LlmResponse, report: CallReport) -> None:
    """Adds the totals of a report to the response's `custom_metadata`, which ADK stores on the event."""
    response.custom_metadata = {**(response.custom_metadata or {}), NAME: EventReport(report.to_totals())}


def totals_on(event: Event) -> Mapping[str, Any]:
    """Returns the totals that `annotate` put on an event, or an empty mapping."""
    found = (event.custom_metadata or {}).get(NAME)
    return found if isinstance(found, Mapping) else {}

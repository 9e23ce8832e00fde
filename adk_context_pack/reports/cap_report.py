"""The record of one tool result that was capped, or that should have been."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adk_context_pack.errors import StoreError

logger = logging.getLogger("adk_context_pack")


@dataclass(frozen=True, kw_only=True, slots=True)
class CapReport:
    """What was done to one tool result.

    A result whose state the session service refused is reported twice: when it was made smaller, and with `error` when
    it was stored whole after all.

    Attributes:
        tool: the tool's name.
        session_id: the session's id.
        invocation_id: ADK's id of the run.
        rows_shown: rows that the model sees, of all tables together.
        rows_total: rows that the tool returned, of all tables together.
        handle: under which the full result is kept; None where the result stayed whole.
        error: why it stayed whole, as the type of what failed, else None.
    """

    tool: str
    session_id: str = ""
    invocation_id: str = ""
    rows_shown: int = 0
    rows_total: int = 0
    handle: str | None = None
    error: str | None = None


def cap_report(context: Any, tool: str, **facts: Any) -> CapReport:
    """A report with the ids of the run that `context` belongs to: ADK's context of any kind, or None."""
    session = getattr(context, "session", None)
    return CapReport(
        tool=tool,
        session_id=getattr(session, "id", ""),
        invocation_id=getattr(context, "invocation_id", ""),
        **facts,
    )


def give_report(on_report: Callable[[CapReport], None] | None, report: CapReport) -> None:
    """Calls `on_report`, whose failures are logged."""
    if on_report is None:
        return
    try:
        on_report(report)
    except Exception:
        logger.exception("a report could not be given")


def stays_whole(context: Any, tool: str, error: Exception, on_report: Callable[[CapReport], None] | None) -> None:
    """Logs and reports that a result could not be made smaller.

    Args:
        context: ADK's context of any kind, or None.
        tool: the tool's name.
        error: why. Only its type is told, except for our own messages: another one may quote the payload.
        on_report: called with the report, if anything is.
    """
    reason = str(error) if isinstance(error, StoreError) else type(error).__name__
    logger.warning("a result of %s stays whole: %s", tool, reason)
    give_report(on_report, cap_report(context, tool, error=reason))

"""The record of one tool result that was capped, or that should have been."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class CapReport:
    """What was done to one tool result.

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

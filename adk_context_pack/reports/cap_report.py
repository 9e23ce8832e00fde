"""The record of what a pass did to one tool result."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger("adk_context_pack")


@dataclass(frozen=True, kw_only=True, slots=True)
class CapReport:
    """Reports the effect of a pass on one tool result.

    A result whose state the session service refused is reported twice: when it was made smaller, and with `error` when
    it was stored whole after all. The second report takes the saving back: its `tokens_after` are those of the full
    result. Where a pass keeps several parts of one result, only the first report has tokens.

    Attributes:
        tool: the tool's name.
        pass_name: the pass, in snake case.
        session_id: the session's id.
        invocation_id: ADK's id of the run.
        rows_shown: rows that the model sees, of all tables together.
        rows_total: rows that the tool returned, of all tables together.
        tokens_before: tokens of the result as the pass received it, with the counter of the plugin or of the pass. 0
            if the pass left the result whole.
        tokens_after: tokens of what the pass made of it, under the same condition.
        handle: under which the full result is kept. None if nothing was stored.
        notes: what the pass said about the result, one short sentence each.
        error: why the result stayed whole, as the type of what failed, else None.
    """

    tool: str
    pass_name: str = ""
    session_id: str = ""
    invocation_id: str = ""
    rows_shown: int = 0
    rows_total: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    handle: str | None = None
    notes: tuple[str, ...] = ()
    error: str | None = None

    @property
    def tokens_saved(self) -> int:
        """`tokens_before` less `tokens_after`. Each later request that shows the result saves them again."""
        return self.tokens_before - self.tokens_after


def give_report(on_report: Callable[[CapReport], None] | None, report: CapReport) -> None:
    """Calls `on_report`, whose failures are logged."""
    if on_report is None:
        return
    try:
        on_report(report)
    except Exception:
        logger.exception("a report could not be given")

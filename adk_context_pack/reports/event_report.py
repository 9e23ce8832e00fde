"""A report as it stands on a session's event: a dict that is cheap to copy."""

from __future__ import annotations

from typing import Any


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

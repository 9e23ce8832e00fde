"""Lines of a log that somebody would look for first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

# The words that log levels and stack traces use, standing alone: `error_rate` and `0 errors` are no alarm.
_ALARM = re.compile(
    r"(?<![\w./-])(?:fatal|panic|critical|emerg|alert|severe|error|exception|traceback)(?![\w-])", re.IGNORECASE
)


def alarming_rows(rows: Sequence[Any], *, most: int) -> list[int]:
    """Indexes of the first texts among `rows` that speak of a failure; none where rows are no texts.

    Args:
        rows: the lines of a log, or any other rows.
        most: how many are wanted.
    """
    if not rows or not isinstance(rows[0], str):
        return []
    found = []
    for index, row in enumerate(rows):
        if isinstance(row, str) and _ALARM.search(row):
            found.append(index)
            if len(found) == most:
                break
    return found

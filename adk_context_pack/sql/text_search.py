"""Finds a pattern that a model wrote in a long text."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import regex  # type: ignore[import-untyped]

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.guard import SEARCH_TOO_LARGE, SEARCH_TOO_LONG

_MAX_PATTERN = 500
# `regex` unrolls counted repeats when it compiles a pattern, in time that none of its limits bounds.
_REPEAT = regex.compile(r"\{(\d*)(?:,(\d*))?\}")
_MAX_REPEATS = 1_000
_ERRORS = (regex.error, ValueError, RecursionError, OverflowError, KeyError)


@dataclass(frozen=True, slots=True)
class Places:
    """The places of a text that match a pattern.

    Attributes:
        spans: start and end of each, in characters.
        note: how the pattern was read, where that is not as a regular expression.
    """

    spans: list[tuple[int, int]]
    note: str = ""


def find_places(text: str, pattern: str, *, start: int, most: int, max_seconds: float) -> Places:
    """Finds the first places at which a pattern matches at least one character.

    Neither `regex` nor this function keeps the compiled pattern.

    Args:
        text: the whole.
        pattern: a regular expression of the `regex` module, case-insensitive; anything else is taken as plain text.
        start: the character to begin with.
        most: how many places to find.
        max_seconds: time for the search.

    Raises:
        QueryError: the pattern is too long, takes too long or needs too much memory; worded for a model.
    """
    deadline = time.monotonic() + max_seconds
    spans: list[tuple[int, int]] = []
    try:
        compiled, note = _compiled(pattern)
        for match in compiled.finditer(text, start, timeout=max_seconds):
            # The module's own timeout counts processor time. On a busy machine the search would go on for much longer.
            _check(deadline)
            if match.end() > match.start():
                spans.append(match.span())
            if len(spans) == most:
                break
    except TimeoutError:
        raise QueryError(SEARCH_TOO_LONG) from None
    except (MemoryError, RecursionError):
        raise QueryError(SEARCH_TOO_LARGE) from None
    return Places(spans, note)


def _check(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError


def _compiled(pattern: str) -> tuple[Any, str]:
    if len(pattern) > _MAX_PATTERN:
        raise QueryError(f"The search pattern is longer than {_MAX_PATTERN} characters.")
    repeats = 1
    for low, high in _REPEAT.findall(pattern):
        repeats *= max(1, int(high or low or 1))
    if repeats > _MAX_REPEATS:
        raise QueryError(f"The search pattern repeats more than {_MAX_REPEATS} times. Use a simpler one.")
    try:
        return regex.compile(pattern, regex.IGNORECASE | regex.MULTILINE, cache_pattern=False), ""
    except _ERRORS:
        plain = regex.compile(regex.escape(pattern), regex.IGNORECASE, cache_pattern=False)
        return plain, "not a regular expression; searched as plain text"

"""Reading a long text in parts: by position, or by a pattern."""

from __future__ import annotations

import time
from typing import Any

import regex  # type: ignore[import-untyped]

from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.errors import QueryError

_MAX_PATTERN = 500
# `regex` unrolls counted repeats when it compiles a pattern, in time that no limit of its own bounds.
_REPEAT = regex.compile(r"\{(\d*)(?:,(\d*))?\}")
_MAX_REPEATS = 1_000
_BEFORE, _AFTER = 80, 160
_MAX_SHOWN_MATCH = 300
_MATCH_COST = 24


def page_of(text: str, *, offset: int, length: int, max_tokens: int) -> dict[str, Any]:
    """One page of a text; all pages from 0 on, each beginning at `next_offset` of the one before, are the text.

    Args:
        text: the whole.
        offset: the character to begin with; a negative one counts from the end.
        length: how many characters; 0 for as many as fit.
        max_tokens: the budget of the page, as estimated; a page has at least one character.
    """
    start = min(len(text), offset) if offset >= 0 else max(0, len(text) + offset)
    # A token has at least one character here, and no estimate needs to look at more.
    page = text[start : start + min(length or len(text), 16 * max_tokens)]
    while (tokens := estimate_tokens(page)) > max_tokens and len(page) > 1:
        page = page[: max(1, min(len(page) - 1, len(page) * max_tokens // tokens))]
    end = start + len(page)
    return {
        "text": page,
        "offset": start,
        "next_offset": end if end < len(text) else None,
        "total_characters": len(text),
    }


def matches_in(  # noqa: PLR0913 - each limit is one
    text: str, pattern: str, *, offset: int, max_matches: int, max_tokens: int, max_seconds: float
) -> dict[str, Any]:
    """Where a pattern occurs in a text, with what stands around it.

    Args:
        text: the whole.
        pattern: a regular expression of the `regex` module, case-insensitive; one that is none is taken as plain text.
        offset: the character to begin with.
        max_matches: how many places are shown.
        max_tokens: the budget of the answer, as estimated.
        max_seconds: time for the search.

    Raises:
        QueryError: the pattern is too long or took too long; worded for a model.
    """
    compiled, note = _compiled(pattern)
    start = min(len(text), offset) if offset >= 0 else max(0, len(text) + offset)
    found: list[dict[str, Any]] = []
    next_offset = None
    deadline = time.monotonic() + max_seconds
    try:
        # concurrent: other threads run while it searches.
        for match in compiled.finditer(text, start, timeout=max_seconds, concurrent=True):
            if match.end() == match.start():
                _check(deadline)
                continue
            place = _place(text, match)
            max_tokens -= estimate_tokens(place["text"]) + _MATCH_COST
            if len(found) == max_matches or (found and max_tokens < 0):
                next_offset = match.start()
                break
            found.append(place)
    except TimeoutError:
        raise QueryError("The search was stopped: the pattern took too long. Use a simpler one.") from None
    except (MemoryError, RecursionError):
        # `regex` lets one search take a gigabyte, and no more.
        raise QueryError("The search was stopped: the pattern needs too much memory. Use a simpler one.") from None
    reply: dict[str, Any] = {"matches": found, "next_offset": next_offset, "total_characters": len(text)}
    return reply | ({"note": note} if note else {})


def _compiled(pattern: str) -> tuple[Any, str]:
    if len(pattern) > _MAX_PATTERN:
        raise QueryError(f"The search pattern is longer than {_MAX_PATTERN} characters.")
    repeats = 1
    for low, high in _REPEAT.findall(pattern):
        repeats *= max(1, int(high or low or 1))
    if repeats > _MAX_REPEATS:
        raise QueryError(f"The search pattern repeats more than {_MAX_REPEATS} times. Use a simpler one.")
    try:
        return regex.compile(pattern, regex.IGNORECASE | regex.MULTILINE), ""
    except (regex.error, ValueError, RecursionError, MemoryError, OverflowError, KeyError):
        return regex.compile(regex.escape(pattern), regex.IGNORECASE), "no regular expression; searched as plain text"


def _check(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError


def _place(text: str, match: Any) -> dict[str, Any]:
    start, end = match.start(), min(match.end(), match.start() + _MAX_SHOWN_MATCH)
    line_start = max(text.rfind("\n", max(0, start - _BEFORE), start) + 1, start - _BEFORE, 0)
    line_end = text.find("\n", end, end + _AFTER)
    line_end = min(len(text), end + _AFTER) if line_end < 0 else line_end
    return {"offset": start, "text": text[line_start:line_end]}

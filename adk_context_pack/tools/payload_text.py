"""Reading a long text in parts: by position, or by a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adk_context_pack.conversation.token_estimate import estimate_tokens

_BEFORE, _AFTER = 80, 160
_MAX_SHOWN_MATCH = 300
_MATCH_COST = 24
_LAST_PAGE = 3


def page_of(text: str, *, offset: int, length: int, max_tokens: int) -> dict[str, Any]:
    """Returns one page of a text.

    All pages from 0 on, each beginning at the `next_offset` of the one before, are together the text.

    Args:
        text: the whole.
        offset: the character to begin with. A negative one counts from the end.
        length: how many characters. 0 for as many as fit.
        max_tokens: the budget of the page, as estimated. A page has at least one character, and up to three times the
            budget if that is all that is left: asking once more costs more than a longer page.
    """
    start = place_of(text, offset)
    left = len(text) - start
    if left <= 16 * _LAST_PAGE * max_tokens and estimate_tokens(text[start:]) <= _LAST_PAGE * max_tokens:
        max_tokens *= _LAST_PAGE
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


def matches_reply(
    text: str, spans: Sequence[tuple[int, int]], note: str, *, max_matches: int, max_tokens: int
) -> dict[str, Any]:
    """Returns the places that a search found, each with the text around it, within a budget.

    Args:
        text: the whole.
        spans: start and end of each place, one more than `max_matches` if there are more.
        note: how the pattern was read. Empty if there is nothing to say.
        max_matches: how many places are shown.
        max_tokens: the budget of the answer, as estimated.
    """
    found: list[dict[str, Any]] = []
    next_offset = None
    for start, end in spans:
        shown = _around(text, start, end)
        max_tokens -= estimate_tokens(shown) + _MATCH_COST
        if len(found) == max_matches or (found and max_tokens < 0):
            next_offset = start
            break
        found.append({"offset": start, "text": shown})
    reply: dict[str, Any] = {"matches": found, "next_offset": next_offset, "total_characters": len(text)}
    return reply | ({"note": note} if note else {})


def place_of(text: str, offset: int) -> int:
    """Returns the position that an offset means. A negative one counts from the end."""
    return min(len(text), offset) if offset >= 0 else max(0, len(text) + offset)


def _around(text: str, start: int, end: int) -> str:
    end = min(end, start + _MAX_SHOWN_MATCH)
    line_start = max(text.rfind("\n", max(0, start - _BEFORE), start) + 1, start - _BEFORE, 0)
    line_end = text.find("\n", end, end + _AFTER)
    line_end = min(len(text), end + _AFTER) if line_end < 0 else line_end
    return text[line_start:line_end]

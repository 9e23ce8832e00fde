"""Searches long texts in steps, between which other threads run, reads markup, and says what was found where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from html import unescape
from typing import Any, Literal

# One call of `str.find` keeps the interpreter's lock until it returns, and with it stops the event loop.
_AT_ONCE = 1_000_000
_MARKUP = re.compile(r"(?is)<(script|style|svg|noscript|template)\b.*?(?:</\1\s*>|\Z)|<!--.*?-->|<[/!]?[a-z][^<>]*>")


@dataclass(frozen=True, slots=True)
class TextPart:
    """Holds a document or a table in a text, which ends where what follows starts.

    The value is the document, or one dict for each row, with cells as they are written. The form is "json" for any JSON
    document, "lines" for one JSON object a line, "csv", or "other", written as CSV. Some lines may be `unread`.
    """

    start: int
    end: int
    value: Any
    form: Literal["json", "lines", "csv", "other"] = "other"
    delimiter: str = ","
    unread: int = 0


def find(text: str, sign: str, start: int = 0) -> int:
    """Returns what `text.find(sign, start)` returns: the first place of a sign, or -1."""
    while start < len(text):
        # A sign may begin in one step and end in the next.
        place = text.find(sign, start, min(len(text), start + _AT_ONCE + len(sign) - 1))
        if place >= 0:
            return place
        start += _AT_ONCE
    return -1


def find_any(text: str, signs: Sequence[str], start: int, end: int, *, most: int | None = None) -> Iterator[int]:
    """Yields the places of signs, given in lower case, in any case and in the order of the text, `most` of each."""
    left = dict.fromkeys(signs, len(text) if most is None else most)
    longest = max(map(len, signs))
    for stop in range(start, end, _AT_ONCE):
        part = text[stop : min(end, stop + _AT_ONCE + longest - 1)]
        # The one letter that has two in lower case.
        lower = part.replace("\u0130", "I").lower()
        # Signs in other letters need not be looked for.
        found = (_places(lower, sign, left) for sign in signs if left[sign] > 0 and lower.isascii() <= sign.isascii())
        yield from (stop + place for place in merge(*found))


def _places(lower: str, sign: str, left: dict[str, int]) -> Iterator[int]:
    place = lower.find(sign)
    while 0 <= place < _AT_ONCE and left[sign] > 0:
        left[sign] -= 1
        yield place
        place = lower.find(sign, place + len(sign))


def lines_with(text: str, signs: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields the start and the end of each line that holds one of the signs, without its line end."""
    # Looks at each part of the text at most once for each sign, so the time is linear in the length.
    next_places = {sign: find(text, sign) for sign in signs}
    while known := {sign: place for sign, place in next_places.items() if place >= 0}:
        start, end = next(lines(text, text.rfind("\n", 0, min(known.values())) + 1))
        yield start, end
        next_places = {sign: find(text, sign, end) if place < end else place for sign, place in known.items()}


def lines(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yields where each line starts and ends, without its line end."""
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1


def line_end(text: str, start: int) -> int:
    """Returns where the line behind the one at `start` starts."""
    end = text.find("\n", start)
    return len(text) if end < 0 else end + 1


def without_markup(text: str, *, between: str = " ", has_comments: bool = False) -> str:
    """Returns the words of HTML or XML: no tags, scripts and styles, and comments only if they are asked for."""
    marked = text.replace("<!--", " ").replace("-->", " ") if has_comments else text
    lines = unescape(_MARKUP.sub(between, marked)).splitlines()
    return between.join(" ".join(line.split()) for line in lines if line.strip()).strip()

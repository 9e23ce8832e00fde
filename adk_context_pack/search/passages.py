"""Cuts a text into passages short enough to be shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

# The end of a sentence, of a line, or of an object or list in JSON.
_CLOSING = '"\u201d\u2019)\\]\u300d\u300f'
_END = re.compile(rf"[.!?\u2026]+[{_CLOSING}]*\s+|[\u3002\uff01\uff1f]+[{_CLOSING}]*|\n+|[}}\]],\s*")
_SOFT_END = re.compile(r"[,;]\s*|\s+")


def passages(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Yields the start and end of each passage; together they cover `text`, in order.

    A passage ends where a sentence, a line or a JSON object does. If there is none within reach, it ends at a comma or
    a space, and at worst within a word.

    Args:
        text: the text.
        size: how many characters a passage has at most.
    """
    start = last = 0
    for end in _ends(text):
        if end - start > size and last > start:
            yield start, last
            start = last
        if end - start > size:
            for piece in _pieces(text, start, end, size):
                yield piece
                start = piece[1]
        last = end
    if start < len(text):
        yield start, len(text)


def _ends(text: str) -> Iterator[int]:
    for match in _END.finditer(text):
        yield match.end()
    if text:
        yield len(text)


def _pieces(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Yields the passages of one long sentence."""
    while end - start > size:
        soft = [match.end() for match in _SOFT_END.finditer(text, start + size // 2, start + size)]
        stop = soft[-1] if soft else start + size
        yield start, stop
        start = stop
    if start < end:
        yield start, end

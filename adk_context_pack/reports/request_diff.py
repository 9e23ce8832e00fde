"""Two views of a request side by side: what stayed, what went, what came, what changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from adk_context_pack.reports.request_view import RequestView, ViewPart

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_WORDS = 1_500
"""The longest texts to compare. Comparing is quadratic at worst, so longer ones are compared by lines or not at all."""

_ALIKE = 0.5
"""Below this share of the shorter text in common a text was replaced, not edited, and single marks say nothing."""

Segments = list[tuple[str, bool]]
"""A text in pieces, and for each whether it is marked as different."""


class DiffRow(NamedTuple):
    """One row of the comparison.

    Attributes:
        status: what became of the part.
        before: the part as ADK had built it, or None.
        after: the part as the model received it, or None.
    """

    status: Literal["same", "removed", "added", "changed"]
    before: ViewPart | None
    after: ViewPart | None


def compare(before: RequestView, after: RequestView) -> Iterator[DiffRow]:
    """Returns the rows of two views, in order. A rewritten part is beside the original."""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, left, left_end, right, right_end in matcher.get_opcodes():
        if tag == "equal":
            yield from (DiffRow("same", part, part) for part in before[left:left_end])
        else:
            yield from _rewritten(before[left:left_end], after[right:right_end])


def marked(before: str, after: str) -> tuple[Segments, Segments]:
    """Both texts in pieces, with those marked that the other one does not have."""
    for split in (_WORDS.findall, _lines):
        one, other = split(before), split(after)
        if max(len(one), len(other)) <= _MAX_WORDS:
            return _segments(one, other)
    return _replaced(before, after)


def _rewritten(before: Sequence[ViewPart], after: Sequence[ViewPart]) -> Iterator[DiffRow]:
    left = list(before)
    for part in after:
        place = next((index for index, old in enumerate(left) if old.label == part.label), None)
        if place is None:
            yield DiffRow("added", None, part)
            continue
        yield from (DiffRow("removed", old, None) for old in left[:place])
        yield DiffRow("changed", left[place], part)
        del left[: place + 1]
    yield from (DiffRow("removed", old, None) for old in left)


def _said(pieces: list[str]) -> int:
    return sum(not piece.isspace() for piece in pieces)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _replaced(before: str, after: str) -> tuple[Segments, Segments]:
    return [(before, True)], [(after, True)]


def _segments(one: list[str], other: list[str]) -> tuple[Segments, Segments]:
    left: Segments = []
    right: Segments = []
    # Blanks and commas are everywhere. Without this heuristic, each one is compared with every other.
    matcher = SequenceMatcher(None, one, other, autojunk=True)
    kept = sum(_said(one[block.a : block.a + block.size]) for block in matcher.get_matching_blocks())
    if kept < _ALIKE * min(_said(one), _said(other)):
        return _replaced("".join(one), "".join(other))
    for tag, start, end, begin, stop in matcher.get_opcodes():
        if start < end:
            left.append(("".join(one[start:end]), tag != "equal"))
        if begin < stop:
            right.append(("".join(other[begin:stop]), tag != "equal"))
    return left, right

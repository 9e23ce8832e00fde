"""Finds patterns and words that a model wrote in a long text."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log, prod
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
    """The places of a text that match patterns.

    Attributes:
        spans: start and end of each, in characters.
        lines: the number of the line of each, from 1.
        totals: from each pattern to how many matches the whole text has, or in words if counting took too long.
        note: how the patterns were read, if not as regular expressions.
    """

    spans: list[tuple[int, int]]
    lines: list[int]
    totals: dict[str, int | str]
    note: str = ""


def find_places(text: str, search: str, *, start: int, most: int, max_seconds: float) -> Places:
    """Finds the first places at which a pattern matches at least one character, and counts all of them.

    Words that occur nowhere as they stand are looked for one by one, and the places with the rarest of them come first.
    Neither `regex` nor this function keeps a compiled pattern.

    Args:
        text: the whole.
        search: regular expressions of the `regex` module, one a line, case-insensitive. Anything else is plain text.
        start: the character to begin with.
        most: how many places to find.
        max_seconds: time for the search.

    Raises:
        QueryError: a pattern is too long, takes too long or needs too much memory; worded for a model.
    """
    deadline = time.monotonic() + max_seconds
    notes = dict[str, None]()
    found, totals = [], dict[str, int | str]()
    try:
        for pattern in islice(filter(None, search.splitlines()), 10):
            compiled, note = _compiled(pattern)
            spans, totals[pattern] = _counted(compiled, text, start, most, deadline)
            found += spans
            notes[note] = None
        spans = sorted(set(found))[:most]
        if not any(totals.values()) and (ranked := _ranked(text, search, deadline)):
            spans = ranked[:most]
            notes = {"no place has all of it as written; places with most of its words, best first": None}
    except TimeoutError:
        raise QueryError(SEARCH_TOO_LONG) from None
    except (MemoryError, RecursionError):
        raise QueryError(SEARCH_TOO_LARGE) from None
    return Places(spans, list(_lines(text, spans)), totals, "; ".join(filter(None, notes)))


def _counted(compiled: Any, text: str, start: int, most: int, deadline: float) -> tuple[list[Any], int | str]:
    """Returns the first spans from `start` on and how many there are in the text, as far as the time allows."""
    total, spans = 0, list[tuple[int, int]]()
    try:
        for span in _spans(compiled, text, start, None, deadline):
            total += 1
            if len(spans) < most:
                spans.append(span)
        if start:
            total += sum(1 for _ in _spans(compiled, text, 0, start, deadline))
    except TimeoutError:
        if len(spans) < most:
            raise
        return spans, f"more than {total}, counting took too long"
    return spans, total


def _spans(compiled: Any, text: str, start: int, end: int | None, deadline: float) -> Iterator[tuple[int, int]]:
    for match in compiled.finditer(text, start, end, timeout=max(0.001, deadline - time.monotonic())):
        # The module's own timeout counts processor time. On a busy machine the search would go on for much longer.
        if time.monotonic() > deadline:
            raise TimeoutError
        if match.end() > match.start():
            yield match.span()


def _ranked(text: str, search: str, deadline: float) -> list[tuple[int, int]]:
    """Returns the parts of a text with words of a search, those first that have most words and the rarest."""
    # Most endings are in the last third of a word.
    stems = {word[: max(3, 7 * len(word) // 10)] for word in search[:_MAX_PATTERN].split() if len(word) > 1}
    if not stems:
        return []
    either = "|".join(map(regex.escape, sorted(stems, key=len, reverse=True)))
    compiled, _ = _compiled(either)
    counts, parts = Counter[str](), dict[int, dict[str, tuple[int, int]]]()
    for first, last in _spans(compiled, text, 0, None, deadline):
        stem = text[first:last].casefold()
        counts[stem] += 1
        # A line, or a part of a long one.
        begin = max(text.rfind("\n", 0, first) + 1, first - first % 300)
        parts.setdefault(begin, {}).setdefault(stem, (first, last))
    weights = {stem: 1 / (1 + log(count)) for stem, count in counts.items()}
    best = sorted(parts.values(), key=lambda part: -sum(weights[stem] for stem in part))
    return [(min(part.values())[0], max(part.values())[1]) for part in best]


def _lines(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[int]:
    at, line = 0, 1
    numbers = dict[int, int]()
    for first, _ in sorted(spans):
        line += text.count("\n", at, first)
        numbers[first], at = line, first
    yield from (numbers[first] for first, _ in spans)


def _compiled(pattern: str) -> tuple[Any, str]:
    if len(pattern) > _MAX_PATTERN:
        raise QueryError(f"The search pattern is longer than {_MAX_PATTERN} characters.")
    if prod(max(1, int(high or low or 1)) for low, high in _REPEAT.findall(pattern)) > _MAX_REPEATS:
        raise QueryError(f"The search pattern repeats more than {_MAX_REPEATS} times. Use a simpler one.")
    try:
        return regex.compile(pattern, regex.IGNORECASE | regex.MULTILINE, cache_pattern=False), ""
    except _ERRORS:
        plain = regex.compile(regex.escape(pattern), regex.IGNORECASE, cache_pattern=False)
        return plain, "not a regular expression; searched as plain text"

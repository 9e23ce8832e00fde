"""Finds patterns and words that a model wrote in a long text."""

from __future__ import annotations

import time
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from math import log, prod
from typing import Any

import regex  # type: ignore[import-untyped]

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.guard import SEARCH_TOO_LARGE, SEARCH_TOO_LONG

_MAX_PATTERN = 500
# `regex` unrolls counted repeats when it compiles a pattern, in time that none of its limits bounds.
_REPEAT = regex.compile(r"\{(\d*)(?:,(\d*))?\}")
_MAX_REPEATS = 1_000
_BREAKS = regex.compile(r"\s+|[:=](?=[^\W\d])|(?<=[^\W\d])[:=]")


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
    Each line of `search` is a regular expression of the `regex` module, case-insensitive, or else plain text. Neither
    `regex` nor this function keeps a compiled pattern.

    Raises:
        QueryError: a pattern is too long, takes too long or needs too much memory, worded for a model.
    """
    deadline, notes = time.monotonic() + max_seconds, dict[str, None]()
    found, totals = [], dict[str, int | str]()
    try:
        for pattern in islice(filter(None, search.splitlines()), 10):
            compiled, note = _compiled(pattern, text)
            total, own = 0, list[tuple[int, int]]()
            try:
                for span in _spans(compiled, text, deadline):
                    total += 1
                    if span[0] >= start and len(own) < most:
                        own.append(span)
                totals[pattern] = total
            except TimeoutError:
                if len(own) < most:
                    raise
                totals[pattern] = f"more than {total}, counting took too long"
            found += own
            notes[note] = None
        spans = sorted(set(found))[:most]
        if not any(totals.values()):
            spans = _ranked(text, search, deadline)
            some = f"{len(spans)} have some of its words, best first"
            said = some if spans else "search for other words, or read pages"
            spans, notes = spans[:most], {f"no place has it as written; {said}": None}
    except TimeoutError:
        raise QueryError(SEARCH_TOO_LONG) from None
    except (MemoryError, RecursionError):
        raise QueryError(SEARCH_TOO_LARGE) from None
    return Places(spans, [text.count("\n", 0, first) + 1 for first, _ in spans], totals, "; ".join(filter(None, notes)))


def _spans(compiled: Any, text: str, deadline: float) -> Iterator[tuple[int, int]]:
    for match in compiled.finditer(text, timeout=max(0.001, deadline - time.monotonic())):
        # The module's own timeout counts processor time. On a busy machine the search would go on for much longer.
        if time.monotonic() > deadline:
            raise TimeoutError
        if match.end() > match.start():
            yield match.span()


def _ranked(text: str, search: str, deadline: float) -> list[tuple[int, int]]:
    """Returns the parts of a text with words of a search, those first that have most words and the rarest."""
    # A letter and what it is without its accent have the same length.
    marked = range(0xC0, 0x1F00)
    plain = {at: a for at in marked if (a := unicodedata.normalize("NFD", chr(at))[0]).isascii()}
    plain |= dict(zip(map(ord, "łŁøØđĐ\u2018\u2019\u201c\u201d\u2013\xa0"), "lLoOdD''\"\"- ", strict=True))
    text, search = text.translate(plain), unicodedata.normalize("NFKC", search).translate(plain)
    stems = dict[str, float]()
    # A question begins with a capital, and so do names, which tell more.
    search = search[:1].lower() + search[1:_MAX_PATTERN]
    for said in (each.strip(".,;:!?()\"'¿¡*%/") for each in _BREAKS.split(search)):
        word = said.casefold()
        worth = 1 + (said != word or not word.isalpha())
        # Scripts without spaces have pairs of letters. Of other words most endings are in the last third.
        pairs = {a + b for a, b in pairwise(word) if min(a, b) > "\u0dff"}
        # Muller is Mueller without its dots.
        forms = word, word[: max(3, 7 * len(word) // 10)], word.replace("ae", "a").replace("oe", "o").replace("ue", "u")
        stems |= dict.fromkeys(pairs or {form for form in forms if form[1:] or form.isdigit()}, worth)
    if not stems:
        return []
    sought = (rf"(?<!\d){each}(?!\d)" if each.isdigit() else regex.escape(each) for each in stems)
    compiled = regex.compile("|".join(sorted(sought, key=len, reverse=True)), regex.IGNORECASE, cache_pattern=False)
    counts, parts = Counter[str](), dict[int, dict[str, tuple[int, int]]]()
    for first, last in _spans(compiled, text, deadline):
        stem = text[first:last].casefold()
        counts[stem] += 1
        # A line, or a part of a long one.
        begin = max(text.rfind("\n", first - first % 300, first) + 1, first - first % 300)
        parts.setdefault(begin, {}).setdefault(stem, (first, last))
    # Words that say little are frequent, and short in any language unless they are numbers.
    lines, begins = max(text.count("\n"), len(text) // 300), sorted(parts)
    for stem, n in counts.items():
        stems[stem] = stems.get(stem, 1) * min(len(stem) + 8 * (not stem.isalpha()), 8) * log(1 + lines / n)
    best = sorted(begins, key=lambda begin: -sum(map(stems.__getitem__, parts[begin])))

    def rank(begin: int) -> float:
        # A sentence may go on in the next line.
        near = begins[bisect_left(begins, begin - 300) : bisect_left(begins, begin + 300)]
        around = set(chain.from_iterable(map(parts.__getitem__, near)))
        return -sum(stems[stem] * (1 if stem in parts[begin] else 0.3) for stem in around)

    best = sorted(best[:1000], key=rank) + best[1000:]
    return [(min(parts[begin].values())[0], max(parts[begin].values())[1]) for begin in best]


def _compiled(pattern: str, text: str) -> tuple[Any, str]:
    if len(pattern) > _MAX_PATTERN:
        raise QueryError(f"The search pattern is longer than {_MAX_PATTERN} characters. Search for a part of it.")
    if prod(max(1, int(high or low or 1)) for low, high in _REPEAT.findall(pattern)) > _MAX_REPEATS:
        raise QueryError(f"The search pattern repeats more than {_MAX_REPEATS} times. Use a simpler one.")
    for source, note in ((pattern, ""), (regex.escape(pattern), "not a regular expression; searched as plain text")):
        with suppress(regex.error, ValueError, RecursionError, OverflowError, KeyError):
            compiled = regex.compile(source, regex.IGNORECASE | regex.MULTILINE, cache_pattern=False)
            # A pattern that does not match its own text is meant literally.
            if note or pattern not in text or compiled.fullmatch(pattern, timeout=1):
                break
    return compiled, note

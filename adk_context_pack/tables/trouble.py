"""Finds words that report trouble in a text, a line or a level.

This is the one table of such words, for stubs, previews, counts of levels and failed results.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from enum import IntEnum
from importlib.resources import files
from itertools import accumulate, chain, groupby, islice

from adk_context_pack.tables.text_scan import find_any


class Severity(IntEnum):
    """How bad the trouble is that a line reports."""

    NONE = 0
    WARNING = 1
    ERROR = 2
    FATAL = 3


_PATTERNS = {"statement", "before", "after", "ended", "level", "label after", "verdict"}


def words_of(kind: str) -> dict[Severity, list[str]]:
    """Returns the words, or patterns, of a kind in `trouble_words.txt`, the worst first."""
    found: dict[Severity, list[str]] = defaultdict(list)
    for row in files(__package__).joinpath("trouble_words.txt").read_text("utf-8").split("\n"):
        head, _, listed = row.partition(": ")
        if head[:-2] == kind:
            found[Severity(int(head[-1]))] += [listed] if kind in _PATTERNS else listed.split("|")
    return dict(found)


def _pattern(kind: str) -> re.Pattern[str]:
    """Returns the one pattern that the rows of a kind are the parts of."""
    return re.compile("".join(words_of(kind)[Severity.NONE]), re.IGNORECASE)


_SPOKEN, _LABELS = words_of("spoken"), words_of("label")
_STATED, _BRIEF = (words_of(kind)[Severity.ERROR] for kind in ("stated", "brief"))
_WORDS = {word: severity for table in (_SPOKEN, _LABELS) for severity, words in table.items() for word in words}
_WORDS |= dict.fromkeys((word for word in _STATED if word not in _WORDS), Severity.ERROR)
_AS_LABELS = frozenset({"exception", "exceptions"}.union(*_LABELS.values()))
_SIGNED = _WORDS | dict.fromkeys(words_of("exit")[Severity.ERROR], Severity.ERROR)
_SIGNS = {severity: [word for word, bad in _SIGNED.items() if bad is severity] for severity in _SPOKEN}
LEVEL, _UNSAID, _TAKEN, _EXIT, _LABEL_AFTER = map(_pattern, ("level", "before", "after", "ended", "label after"))
_LABEL_BEFORE = re.compile(r"[\[<|=:]\s?$|\b(?:unhandled|uncaught|unexpected|kernel)\s+$", re.IGNORECASE)
_MAX_AROUND, _MAX_START, _MAX_OUTRIGHT = 48, 400, 200
# What stands before a report: dashes and brackets, and names of programs.
_START = re.compile(r"(\W*)(?:[a-z][\w./@+-]{0,40}(?:\[\d+\]|:\d+:\d+)?: +\W*(?:\d+\) )?)*")
_STATEMENT = re.compile("|".join(f"(?:{each})" for each in words_of("statement")[Severity.ERROR]), re.IGNORECASE)
# In one short line these are all that it says: `cat: x: Permission denied`, `BUILD FAILED`, `step 7 FAILED exit 3`.
_SAID = "|".join(said for said in chain(*_SPOKEN.values()) if " " in said or said > "\u0dff")
_OUTRIGHT = re.compile(_SAID, re.IGNORECASE)
_OUTRIGHT_LABEL = re.compile(r"\b(?:FAILED|FAILURE)\b(?!\s*(?:\w+\s*)?[:=]\s*\d)")
_VERDICT = re.compile(rf"\W*(?:{_pattern('verdict').pattern}(?:{_EXIT.pattern})\W*$)", re.IGNORECASE)


def alarming_rows(rows: Sequence[object], *, most: int) -> list[int]:
    """Returns the indexes of at most `most` strings among the lines of a log that report an error or worse."""
    if not rows or not isinstance(rows[0], str):
        return []
    texts = [row if isinstance(row, str) else "" for row in rows]
    text, starts = "\n".join(texts), list(accumulate((len(row) + 1 for row in texts), initial=0))
    found = set[int]()
    for place in chain.from_iterable(islice(troubles(text, 0, len(text), most=len(text)), 2)):
        found.add(bisect_right(starts, place) - 1)
        if len(found) >= most:
            break
    return sorted(found)


def level_of(line: str) -> str | None:
    """Returns the level that a line of a log begins with, in capitals, or None if it has none."""
    hits = LEVEL.finditer(line, 0, 120)
    return next((hit[0].upper() for hit in hits if not hit[1] or _is_meant(line, *hit.span())), None)


def level_counts(rows: Sequence[object]) -> dict[str, int]:
    """Returns how many lines of a log have each level. Empty if fewer than half of the rows have one."""
    if not rows or not isinstance(rows[0], str):
        return {}
    levels = Counter(level for row in rows if isinstance(row, str) and (level := level_of(row)))
    return dict(levels.most_common()) if 2 * levels.total() >= len(rows) else {}


def troubles(text: str, start: int, end: int, *, most: int) -> Iterator[Iterator[int]]:
    """Yields the places that report trouble, the worst severity first, each severity in the order of the text.

    Looks at `most` places of each word. The text may have 50 MB, since it is searched for plain words.
    """
    for severity, signs in _SIGNS.items():
        # `error` and `errors` begin in one place.
        places = (place for place, _ in groupby(find_any(text, signs, start, end, most=most)))
        yield (place for place in places if _severity_at(text, place) is severity)


def says_failure(text: str) -> bool:
    """Returns whether a text is, as a whole, the report of a failure, as that of an exception or of a shell is."""
    start = text[:_MAX_START]
    lower = f"{start}{text[-_MAX_OUTRIGHT:]}".lower()
    signs = chain(*_SIGNS.values(), _BRIEF if len(text) <= _MAX_OUTRIGHT else ())
    if not any(sign in lower for sign in signs):
        return False
    first, last = start.strip().partition("\n")[0], text[-_MAX_OUTRIGHT:].strip().rpartition("\n")[2]
    # A shell says in the first line what went wrong, and a build in the last.
    if _states(start) or any(map(_VERDICT.match, (first, last))):
        return True
    if first == text.strip():
        hits = chain.from_iterable(sign.finditer(first) for sign in (_EXIT, _OUTRIGHT, _OUTRIGHT_LABEL))
        return len(first) <= _MAX_OUTRIGHT and any(_is_meant(first, *hit.span()) for hit in hits)
    hit = _OUTRIGHT.search(first)
    return hit is not None and not first[hit.end() :].partition("(")[0].strip(" .!:")


def _states(text: str) -> bool:
    """Returns whether a text begins as the report of a failure does."""
    begins = _START.match(text)
    # After `tool: ` there may be `error: `, which looks like another name.
    places = [begins.end(1), *(hit.end() for hit in re.finditer(r": +\W*(?:\d+\) )?", begins[0]))] if begins else ()
    return any(_STATEMENT.match(text, place) for place in places)


def _severity_at(text: str, place: int) -> Severity:
    if hit := _EXIT.match(text, place, place + _MAX_AROUND):
        return Severity.ERROR if _is_meant(text, *hit.span()) else Severity.NONE
    near = text[place : place + _MAX_AROUND].lower()
    word = next((near[:end] for end in range(_MAX_AROUND, 0, -1) if near[:end] in _WORDS), "")
    return _WORDS[word] if word and _is_meant(text, place, place + len(word)) else Severity.NONE


def _is_meant(text: str, start: int, end: int) -> bool:
    """Returns whether a word reports trouble in its place."""
    # What a color begins with is not part of a word.
    before = re.sub(r"\x1b\[[\d;]*m", " ", text[max(0, start - _MAX_AROUND) : start].rpartition("\n")[2])
    after = text[end : end + _MAX_AROUND].partition("\n")[0]
    word = text[start:end]
    # Some scripts have no spaces between words.
    is_unspaced = word[0] > "\u0dff"
    after = f" {after}" if is_unspaced or not word[-1].isalnum() else after
    if word.lower() in _STATED:
        line = text.rfind("\n", earliest := max(0, start - _MAX_START), start) + 1 or earliest
        states = _states(text[line : start + _MAX_START].partition("\n")[0])
        if states or word.lower() not in _AS_LABELS:
            return states
    # Java writes so of an exception without a message.
    is_bare = after.rstrip() == ": null" and word in {"Error", "Exception"} and re.search(r"\w\.[A-Z]\w*$", before)
    if _TAKEN.match(after) and not is_bare:
        return False
    if before and not word[0].isspace() and not is_unspaced and (before[-1].isalnum() or before[-1] in "_./-"):
        # The name of a class: `ValueError: …`, `java.io.IOException: …`.
        is_class = word in {"Error", "Exception", "Warning"} and after[:1] in {"", ":", "(", " "}
        is_class = is_class or (word.isupper() and after[:1] == ":")
        name = re.search(r"(?:[A-Za-z_$][\w$]*\.)*(?:[A-Z_$][\w$]*)?$", before) if is_class else None
        return bool(name and name[0] and not _UNSAID.search(before[: name.start()]))
    if _UNSAID.search(before):
        return False
    if word.lower() not in _AS_LABELS or (word.isupper() and not (before.isupper() and after.isupper())):
        return True
    return bool(_LABEL_BEFORE.search(before) or _LABEL_AFTER.match(after))

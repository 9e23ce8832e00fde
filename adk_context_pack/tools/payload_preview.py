"""Previews a long text: its two ends, the lines that report trouble, or the shape of its JSON."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

from adk_context_pack._json import json_text
from adk_context_pack.conversation.ledger import names_within
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.conversation.tokens import Counter
from adk_context_pack.stores.json_parts import loads
from adk_context_pack.tables.trouble import troubles

_MAX_LOOKED_AT = 2_000
_MAX_LINE = 240
_MARK = 16
_HEAD, _TROUBLE_SHARE, _TAIL = 0.4, 0.35, 0.25
_MAX_SEARCHED_FOR_NAMES, _MAX_NAMES = 200_000, 12
_MAX_PARSED = 64 * 2**20
_MIN_CHARACTERS_A_TOKEN = 0.5
_SHAPES = ((4, 20, 60), (3, 12, 40), (2, 8, 30), (1, 6, 20), (0, 0, 0))
# A preview need not be exact, and not every session service and provider takes these.
_UNSAFE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_DIGITS = re.compile(r"\d+")
_PROSE_SAMPLE = 4_000
_PROSE_SIGNS = frozenset(" \n.,;:!?'\"()-\u2013\u2014\u2019\u201c\u201d\u2026\u3001\u3002\uff0c")
_MIN_PROSE, _MAX_REPETITION, _SHORTEST_LINE = 0.95, 0.15, 40
_MARKUP = re.compile(r"(?is)<(script|style|svg|noscript|template)\b.*?</\1\s*>|<!--.*?-->|<[/!]?[a-z][^<>]*>")
_IS_PAGE = re.compile(r"(?i)\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype html|<(?:html|body|head|div|main|article|section)\b)")
_BLANKS = re.compile(r"[ \t\r\f\v]*\n\s*|[ \t]{2,}")


def text_preview(text: str, *, max_tokens: int, counter: Counter | None = None) -> str:
    """A text of at most about `max_tokens` that stands for `text`.

    JSON gives its shape. Anything else gives its beginning and its end, and between them those of the other lines that
    report trouble, the worst kinds first and each kind of line once.

    Args:
        text: any text.
        max_tokens: the budget.
        counter: a tokenizer of one's own. Without one, tokens are estimated.
    """
    count = counter or estimate_tokens
    if len(text) <= _MAX_PARSED and _IS_PAGE.match(text):
        # Scripts, styles and tags are most of a page, and say nothing of it.
        text = _BLANKS.sub("\n", unescape(_MARKUP.sub("\n", text))).strip()
    budget = int(max_tokens * _characters_a_token(text, count))
    parsed = _parsed(text)
    if parsed is not None:
        share = int(max_tokens * (1 - _TROUBLE_SHARE))
        shape = json_text(json_shape(parsed, max_tokens=share, counter=counter))
        return _safe(
            "\n".join([f"JSON of this shape: {shape}", *_trouble(text, 0, len(text), int(budget * _TROUBLE_SHARE))])
        )
    shown = _safe(_ends_and_trouble(text, budget))
    while count(shown) > max_tokens and budget > 40:  # noqa: PLR2004 - too short to say anything
        budget = budget * 3 // 4
        shown = _safe(_ends_and_trouble(text, budget))
    return shown


def is_prose(text: str) -> bool:
    """Returns whether a text is made of sentences, in any language, which are read rather than searched.

    Tells it from logs, code, markup, tables and filler by a sample: by its signs, by the length of its lines, and by
    how often it repeats itself.
    """
    middle = max(0, len(text) // 2 - _PROSE_SAMPLE // 2)
    sample = text[:_PROSE_SAMPLE] if len(text) < 2 * _PROSE_SAMPLE else text[middle : middle + _PROSE_SAMPLE]
    lines = [line for line in sample.splitlines() if line.strip()]
    signs = sum(letter.isalpha() or letter in _PROSE_SIGNS for letter in sample)
    if not lines or signs < _MIN_PROSE * len(sample) or len(sample) < _SHORTEST_LINE * len(lines):
        return False
    data = sample.encode(errors="replace")
    return len(zlib.compress(data)) > _MAX_REPETITION * len(data)


def json_shape(value: Any, *, max_tokens: int, counter: Counter | None = None) -> Any:
    """Returns the shape of a JSON value as a smaller one: keys, sizes and short values of its first entries.

    Args:
        value: parsed JSON of any depth.
        max_tokens: the budget. Depth and width give way until the shape fits.
        counter: a tokenizer of one's own. Without one, tokens are estimated.
    """
    count = counter or estimate_tokens
    shape: Any = None
    for depth, width, length in _SHAPES:
        shape = _shape(value, depth, width, length)
        if count(json_text(shape)) <= max_tokens:
            break
    return shape


def _safe(text: str) -> str:
    return _UNSAFE.sub("\ufffd", text)


def _parsed(text: str) -> Any:
    if len(text) > _MAX_PARSED or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return loads(text)
    except (ValueError, RecursionError):
        # Broken JSON, or JSON nested deeper than Python reads: a text like any other.
        return None


def _shape(value: Any, depth: int, width: int, length: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= length else f"text of {len(value)} characters"
    if isinstance(value, Mapping):
        if depth <= 0:
            return f"object of {len(value)} keys"
        items = list(value.items())
        shape = {str(key)[:_MAX_LINE]: _shape(item, depth - 1, width, length) for key, item in items[:width]}
        return shape | ({"…": f"{len(items) - width} more keys"} if len(items) > width else {})
    if isinstance(value, list | tuple):
        if depth <= 0 or not value:
            return f"list of {len(value)}"
        return {f"list of {len(value)}, first": _shape(value[0], depth - 1, width, length)}
    return value


def _characters_a_token(text: str, count: Counter) -> float:
    sample = text[:2000] + text[-2000:]
    return max(_MIN_CHARACTERS_A_TOKEN, len(sample) / max(1, count(sample)))


def _ends_and_trouble(text: str, budget: int) -> str:
    head = _cut_head(text, int(budget * _HEAD))
    tail = _cut_tail(text, int(budget * _TAIL))
    if len(head) + len(tail) >= len(text):
        return text
    trouble = _trouble(text, len(head), len(text) - len(tail), int(budget * _TROUBLE_SHARE))
    if not trouble:
        # Nothing to report: the names that occur there take its place.
        trouble = _names(text, len(head), len(text) - len(tail), int(budget * _TROUBLE_SHARE))
    if not trouble:
        # The ends may have its share.
        head = _cut_head(text, int(budget * (_HEAD + _TROUBLE_SHARE / 2)))
        tail = _cut_tail(text, int(budget * (_TAIL + _TROUBLE_SHARE / 2)))
    left_out = len(text) - len(head) - len(tail)
    if left_out <= 0:
        return text
    return "\n".join([head.rstrip("\n"), f"[… {left_out} characters left out …]", *trouble, tail.lstrip("\n")])


def _cut_head(text: str, length: int) -> str:
    cut = text[:length]
    end = cut.rfind("\n")
    return cut[: end + 1] if end > length // 2 else cut


def _cut_tail(text: str, length: int) -> str:
    cut = text[len(text) - length :] if length else ""
    start = cut.find("\n")
    return cut[start + 1 :] if 0 <= start < length // 2 else cut


def _trouble(text: str, start: int, end: int, budget: int) -> list[str]:
    lines = sorted(_worst_lines(text, start, end, budget))
    return [f"[at {place}] {line}" for place, line in lines] + ["[…]"] if lines else []


def _names(text: str, start: int, end: int, budget: int) -> list[str]:
    """Returns a line with all identifiers of a part, or nothing if that would be long or take long."""
    if end - start > _MAX_SEARCHED_FOR_NAMES:
        return []
    names = names_within(text[start:end], most=_MAX_NAMES)
    line = f"[all codes and names there: {', '.join(names)}]" if names else ""
    return [line, "[…]"] if names and len(line) <= budget else []


def _worst_lines(text: str, start: int, end: int, budget: int) -> Iterator[tuple[int, str]]:
    seen: set[str] = set()
    for places in troubles(text, start, end, most=_MAX_LOOKED_AT):
        covered = start
        for place in places:
            if place < covered:
                continue
            first, line, covered = _line_around(text, place)
            # The same message with other numbers says nothing new.
            kind = _DIGITS.sub("#", line)
            if kind in seen:
                continue
            if len(line) > budget:
                return
            seen.add(kind)
            budget -= len(line) + _MARK
            yield first, line


def _line_around(text: str, place: int) -> tuple[int, str, int]:
    start = text.rfind("\n", 0, place) + 1
    found = text.find("\n", place)
    end = len(text) if found < 0 else found
    # Of a very long line the part around the word.
    first = max(start, place - _MAX_LINE // 2)
    last = min(end, first + _MAX_LINE)
    return first, text[first:last].strip(), max(last, place + 1)

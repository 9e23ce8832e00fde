"""Reads JSON of many megabytes part by part, so that other threads get their turn in between."""

from __future__ import annotations

import contextlib
import json
from typing import Any

# One call of the C parser holds the interpreter's lock until it returns.
_PART = 500_000
# The longest escape is a pair of surrogates such as `\ud83d\ude00`.
_ESCAPE = 12
_MAX_TRIES = 20
_DECODER = json.JSONDecoder()


def loads(text: str) -> Any:
    """Returns what `json.loads` returns, and lets other threads run while it reads a long text.

    Reads in parts a long string, and a long list of objects, alone or as a value of an object. Reads anything else, and
    JSON with spaces between its tokens, in one go.

    Raises:
        ValueError: the text is not JSON.
        RecursionError: it is nested deeper than Python reads.
    """
    if len(text) > _PART:
        with contextlib.suppress(ValueError):
            if text.startswith('"'):
                return _string(text)
            value, end = _value(text, 0)
            if end == len(text):
                return value
    return json.loads(text)


def _string(text: str) -> str:
    parts, at, last = [], 1, len(text) - 1
    while at < last:
        cut = min(at + _PART, last)
        # Between two parts there is no escape, which a cut could end in the middle.
        while cut < last and (escape := text.rfind("\\", max(at, cut - _ESCAPE), cut)) >= 0:
            cut = min(escape + _ESCAPE + 1, last)
        parts.append(json.loads(f'"{text[at:cut]}"'))
        at = cut
    if text[last] != '"':
        raise ValueError("a string without an end")
    return "".join(parts)


def _value(text: str, start: int) -> tuple[Any, int]:
    """Returns the value that begins at `start` and the place after it, or the place -1 where it has spaces."""
    if text.startswith("[{", start):
        return _rows(text, start)
    return _object(text, start) if text.startswith('{"', start) else _DECODER.raw_decode(text, start)


def _object(text: str, start: int) -> tuple[Any, int]:
    found: dict[str, Any] = {}
    at = start + 1
    while text.startswith('"', at):
        key, at = _DECODER.raw_decode(text, at)
        if not text.startswith(":", at):
            break
        at += 1
        found[key], at = _rows(text, at) if text.startswith("[{", at) else _DECODER.raw_decode(text, at)
        if text.startswith("}", at):
            return found, at + 1
        if not text.startswith(",", at):
            break
        at += 1
    return found, -1


def _rows(text: str, start: int) -> tuple[list[Any], int]:
    rows: list[Any] = []
    at = start + 1
    while (cut := _boundary(text, at)) is not None:
        part, at = cut
        rows += part
    rest, end = _DECODER.raw_decode(f"[{text[at:]}")
    return rows + rest, at + end - 1


def _boundary(text: str, at: int) -> tuple[list[Any], int] | None:
    """Returns some of the rows that begin at `at` and the place of the row after them.

    A part that is valid JSON by itself ends where a row ends: what comes later cannot change how it is read. Rows begin
    with the same key as a rule, which tells their ends from those of objects within them.
    """
    border = f"}},{text[at : text.find(':', at) + 1]}"
    end = at + _PART
    for _ in range(_MAX_TRIES):
        end = text.find(border, end)
        if end < 0:
            return None
        try:
            return json.loads(f"[{text[at : end + 1]}]"), end + 2
        except ValueError:
            end += 1
    return None

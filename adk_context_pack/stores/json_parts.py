"""Reads and writes JSON of many megabytes part by part, so that other threads get their turn in between."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

# One call of the C parser or encoder holds the interpreter's lock until it returns.
_PART = 500_000
_ITEMS_AT_ONCE = 1_000
_CHARACTERS_AT_ONCE = 1_000_000
_DECODER = json.JSONDecoder()


def loads(text: str) -> Any:
    """Returns what `json.loads` returns, and lets other threads run while it reads a long text.

    Reads in parts a long list of objects, alone or as a value of an object. Reads anything else, and JSON with spaces
    between its tokens, in one go.

    Raises:
        ValueError: the text is not JSON.
        RecursionError: it is nested deeper than Python reads.
    """
    if len(text) > _PART:
        with contextlib.suppress(ValueError):
            # A value that has spaces is read as a whole.
            read = _rows if text.startswith("[{") else _object if text.startswith('{"') else _DECODER.raw_decode
            value, end = read(text, 0)
            if end == len(text):
                return value
    return json.loads(text)


def dumps(value: Any, write: Callable[[Any], str]) -> str:
    """Returns what `write` returns, and lets other threads run while it writes a long text, list or object."""
    return "".join(parts(value, write))


def parts(value: Any, write: Callable[[Any], str], depth: int = 8) -> Iterator[str]:
    """Yields the text of `dumps` in parts, since joining a long text also keeps other threads waiting."""
    if type(value) is str and len(value) > _CHARACTERS_AT_ONCE:
        steps = range(0, len(value), _CHARACTERS_AT_ONCE)
        yield from _enclosed('""', "", (write(value[at : at + _CHARACTERS_AT_ONCE]) for at in steps))
    elif type(value) is list and len(value) > _ITEMS_AT_ONCE:
        steps = range(0, len(value), _ITEMS_AT_ONCE)
        yield from _enclosed("[]", ",", (write(value[at : at + _ITEMS_AT_ONCE]) for at in steps))
    elif type(value) is dict and depth and any(map(_is_long, value.values())) and _has_text_keys(value):
        for number, (key, item) in enumerate(value.items()):
            yield f"{',' if number else '{'}{write(key)}:"
            yield from parts(item, write, depth - 1)
        yield "}"
    elif type(value) is dict and len(value) > _ITEMS_AT_ONCE and _has_text_keys(value):
        items = iter(value.items())
        runs = iter(lambda: dict(islice(items, _ITEMS_AT_ONCE)), {})
        yield from _enclosed("{}", ",", map(write, runs))
    else:
        yield write(value)


def _enclosed(marks: str, separator: str, written: Iterable[str]) -> Iterator[str]:
    """Yields parts that were written as texts, lists or objects of their own as those of a single one."""
    yield marks[0]
    for number, part in enumerate(written):
        if number and separator:
            yield separator
        yield part[1:-1]
    yield marks[1]


def _has_text_keys(value: dict[Any, Any]) -> bool:
    return all(type(key) is str for key in value)


def _is_long(value: Any) -> bool:
    kind = type(value)
    return kind in (str, list, dict) and len(value) > (_CHARACTERS_AT_ONCE if kind is str else _ITEMS_AT_ONCE)


def _object(text: str, start: int) -> tuple[Any, int]:
    """Returns the object that begins at `start` and the place after it, or the place -1 if it has spaces."""
    found: dict[str, Any] = {}
    at = start
    while text.startswith('{"' if at == start else ',"', at):
        key, colon = _DECODER.raw_decode(text, at + 1)
        if not text.startswith(":", colon):
            return found, -1
        read = _rows if text.startswith("[{", colon + 1) else _DECODER.raw_decode
        found[key], at = read(text, colon + 1)
    return found, at + 1 if text.startswith("}", at) else -1


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
    for _ in range(20):
        end = text.find(border, end)
        if end < 0:
            return None
        try:
            return json.loads(f"[{text[at : end + 1]}]"), end + 2
        except ValueError:
            end += 1
    return None

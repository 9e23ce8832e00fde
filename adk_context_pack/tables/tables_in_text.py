"""Finds the tables in a text: JSON, JSON lines, CSV, Markdown, HTML and drawn ones, also between other words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise, takewhile
from typing import Any

from adk_context_pack._json import json_text
from adk_context_pack.tables.column_names import words
from adk_context_pack.tables.columns import unique_names
from adk_context_pack.tables.csv_tables import find_csv, to_csv
from adk_context_pack.tables.drawn_tables import find_aligned, find_records, find_ruled
from adk_context_pack.tables.headers import is_period, names_of, typed_places
from adk_context_pack.tables.json_in_text import find_json, find_lines, read_document, read_xml
from adk_context_pack.tables.number_notation import read_number
from adk_context_pack.tables.text_scan import TextPart, find, lines_with

_SAID = files(__package__).joinpath("result_keys.txt").read_text("utf-8").splitlines()
KEYS = {kind: frozenset(said.split()) for kind, _, said in (row.partition(": ") for row in _SAID)}
"""Keys of results: words for what is said of a page, keys of one result, and of lists that say something of rows."""


def rows_path(pages: Sequence[Any]) -> tuple[Any, ...] | None:
    """Returns the keys that lead to the rows in each page of a list of pages, or None for any other list."""
    # A page has one list of rows and else only what is the same on all pages, or what its name says of a page: cursors,
    # totals, masks. Google Ads' searchStream answers with such a list. Pages that are lists have an empty path.
    if not 0 < len(pages) <= 10_000:  # noqa: PLR2004 - pages
        return None
    return None if _path((pages[0], pages[-1])[: len(pages)], 0) is None else _path(pages, 0)


def joined(pages: Sequence[Any], path: Sequence[Any], rows: Any) -> Any:
    """Returns one page in place of many, with `rows` in the place to which `path` leads."""
    if not path:
        return rows
    inner = joined([page[path[0]] for page in pages if path[0] in page], path[1:], rows)
    return {**pages[0], **pages[-1], path[0]: inner}


def _path(pages: Sequence[Any], depth: int) -> tuple[Any, ...] | None:
    if all(isinstance(page, list) and (not page or isinstance(page[0], (Mapping, list))) for page in pages):
        are_records = all(isinstance(row, Mapping) and len(row) > 2 for page in pages for row in page)  # noqa: PLR2004 - a cell has a name and a value
        return () if depth or are_records else None
    if depth > 3 or not all(isinstance(page, Mapping) for page in pages):  # noqa: PLR2004 - levels
        return None
    found: list[tuple[Any, ...]] = []
    for key in dict.fromkeys(key for page in pages for key in page):
        values = [page[key] for page in pages if key in page]
        if (inner := _path(values, depth + 1)) is not None:
            found.append((key, *inner))
        elif KEYS["page"].isdisjoint(words(str(key))) and (len(pages) == 1 or values.count(values[0]) < len(pages)):
            return None
    return found[0] if len(found) == 1 and (depth or len(pages) > 1 or len(pages[0]) > 1) else None


_TAG = re.compile(r"<(/?)table\b[^>]*>", re.IGNORECASE)


def find_html(text: str) -> TextPart | None:
    """Finds the first HTML table whose columns have names. Tables that only arrange a page have none."""
    if find(text, "<table") < 0 and find(text, "<TABLE") < 0:
        return None
    # Tables with tables in them arrange a page.
    for tag, following in pairwise(_TAG.finditer(text)):
        if not tag[1] and following[1] and (rows := _rows_of(text[tag.start() : following.end()])):
            return TextPart(tag.start(), following.end(), rows)
    return None


def _rows_of(html: str) -> list[dict[str, str]] | None:
    reader = _Reader()
    reader.feed(html)
    lines = [line for line in reader.lines if line]
    width = max(map(len, lines), default=0)
    if width < 2 or len(lines) < 2:  # noqa: PLR2004 - a name and a cell
        return None
    titles = sum(1 for _ in takewhile(lambda line: line[0] and len(set(filter(None, line))) == 1, lines))
    head, *body = lines[titles:] or [[]]
    # Names over several columns stand above those of each.
    levels = next((at for at in range(4) if reader.heads[titles + at] < width), 4)
    if len(head) != width or not body:
        return None
    lines = [[*line, *[""] * (width - len(line))] for line in (head, *body)]
    names = names_of(lines, levels)
    if not all(names[1:]) or (reader.heads[titles] < len(head) and not typed_places(names, lines[1:21])):
        return None
    names = unique_names(names)
    return [dict(zip(names, line, strict=True)) for line in lines[1:]]


class _Reader(HTMLParser):
    """Collects the cells of one table, and how many header cells each of its lines has."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[list[str]] = [[]]
        self.heads = Counter[int]()
        self._cell: list[str] | None = None
        self._across, self._down, self._is_head = 1, 1, False
        # By column: in how many more lines a cell stands, its text there, and whether it is a header cell.
        self._from_above: dict[int, tuple[int, str, bool]] = {}

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self._close()
            self._fill()
            if self.lines[-1]:
                self.lines.append([])
        elif tag in {"td", "th"}:
            self._close()
            self._cell, self._is_head = [], tag == "th"
            given = dict(attrs)
            spans = (given.get(name) or "" for name in ("colspan", "rowspan")) if given else ("", "")
            self._across, self._down = (min(int(span), 1000) if span.isdecimal() else 1 for span in spans)
        elif tag == "br":
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th", "tr", "table"}:
            self._close()
        if tag in {"tr", "table"}:
            self._fill()

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)

    def _close(self) -> None:
        if self._cell is None:
            return
        self._fill()
        text = " ".join("".join(self._cell).split())
        for place in range(self._across):
            # A cell over several columns has its value in the first of them, and a header names them all. So an amount
            # over several lines is that of the first, and years and words are those of all.
            said = text if self._is_head or not place else ""
            again = said if self._down == 1 or read_number(said) is None or is_period(said) else ""
            self._add(said, again, self._down, is_head=self._is_head)
        self._cell = None

    def _fill(self) -> None:
        while (cell := self._from_above.pop(len(self.lines[-1]), None)) is not None:
            left, text, is_head = cell
            self._add(text, text, left, is_head=is_head)

    def _add(self, text: str, again: str, left: int, *, is_head: bool) -> None:
        if left > 1:
            self._from_above[len(self.lines[-1])] = left - 1, again, is_head
        self.lines[-1].append(text)
        self.heads[len(self.lines) - 1] += is_head


_FENCE = re.compile(r"[ \t]*(```+|~~~+)[ \t]*([\w+-]*)[^\n`]*")
# A fence of any other kind holds code.
_FENCED_DATA = frozenset(re.split(" ", " csv tsv json jsonl ndjson json5 yaml yml md markdown text txt plain plaintext"
    " log html console output table psv data result results"))  # fmt: skip


def write_part(part: TextPart, value: Any) -> Any:
    """Returns `value` in the form of a part of a text. Any value that is not a list of rows is returned as it is."""
    if part.form == "json":
        return json_text(value)
    if not isinstance(value, (list, tuple)):
        return value
    if part.form == "lines":
        return "\n".join(map(json_text, value))
    return to_csv(value, list(part.value[0]), delimiter=part.delimiter)


def read_text(text: str) -> TextPart | None:
    """Returns the one document or table in a text, or None for prose, a log, code, and a text with several tables."""
    found = [part for part in find_in_text(text) if isinstance(part, TextPart)]
    return found[0] if len(found) == 1 else None


def find_in_text(text: str) -> list[str | TextPart]:
    """Splits a text into its tables and the words between them, or an empty list if it has no table.

    Pure, and safe to call in a worker thread, in which it never keeps the interpreter's lock for long. JSON and CSV may
    be all of the text, or stand behind a sentence, before a remark or in a code fence.
    """
    text = text.removeprefix("\ufeff").removeprefix("ï»¿")
    if (whole := read_document(text)) is not None or isinstance(whole := read_xml(text), dict):
        return [TextPart(0, len(text), whole, "json")]
    parts = list(_parts(text)) if "\n" in text or "\r" in text or text[-1:] in ("}", "]", ">") else []
    return parts if any(isinstance(part, TextPart) for part in parts) else []


def _parts(text: str) -> Iterator[str | TextPart]:
    place = 0
    for start, end, language in _fenced(text):
        yield from _tables(text[place:start])
        # Code keeps what looks like a table. What replaces one may lack the line end that its fence needs.
        inner = find_in_text(text[start:end]) if language in _FENCED_DATA else []
        yield from (*inner, "\n") if inner else (text[start:end],)
        place = end
    yield from _tables(text[place:])


def _fenced(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields where what is in code fences starts and ends, and its language."""
    opened: tuple[int, str, str] | None = None
    for start, end in lines_with(text, ("```", "~~~")):
        fence = _FENCE.fullmatch(text[start:end].rstrip())
        if fence and opened is None:
            opened = (min(end + 1, len(text)), fence[1], fence[2].lower())
        elif fence and opened and fence[1] == opened[1] and not fence[2]:
            yield opened[0], start, opened[2]
            opened = None


def _tables(text: str) -> Iterator[str | TextPart]:
    rest, finders = text, (find_records, find_html, find_ruled, find_lines, find_json, find_csv, find_aligned)
    for _ in range(20):
        if (found := next((part for find_one in finders if (part := find_one(rest))), None)) is None:
            break
        yield from filter(None, (rest[: found.start], found))
        rest = rest[found.end :]
    if rest:
        yield rest

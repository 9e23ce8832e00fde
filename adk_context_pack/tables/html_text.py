"""Reads the tables of an HTML text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import takewhile

from adk_context_pack.tables.columns import unique_names
from adk_context_pack.tables.headers import has_typed_column
from adk_context_pack.tables.long_text import find

_TAG = re.compile(r"<(/?)table\b[^>]*>", re.IGNORECASE)
_PROBED = 20
_MIN_COLUMNS = 2


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """A table in an HTML text: from `start` to `end`, with one dict for each row below its header."""

    start: int
    end: int
    rows: list[dict[str, str]]


def find_html(text: str) -> HtmlTable | None:
    """Finds the first HTML table whose columns have names; tables that only arrange a page have none."""
    if find(text, "<table") < 0 and find(text, "<TABLE") < 0:
        return None
    for start, end in _places(text):
        rows = _rows_of(text[start:end])
        if rows:
            return HtmlTable(start, end, rows)
    return None


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Yields where tables without tables in them start and end."""
    start: int | None = None
    for tag in _TAG.finditer(text):
        if not tag[1]:
            start = tag.start()
        elif start is not None:
            yield start, tag.end()
            start = None


def _rows_of(html: str) -> list[dict[str, str]] | None:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    lines = [line for line in reader.lines if line]
    width = max(map(len, lines), default=0)
    if width < _MIN_COLUMNS or len(lines) < _MIN_COLUMNS:
        return None
    titles = sum(1 for _ in takewhile(lambda line: len(list(filter(None, line))) == 1, lines))
    head, *body = lines[titles:] or [[]]
    if len(head) != width or not all(head[1:]) or not body:
        return None
    if reader.heads.get(titles, 0) < len(head) and not has_typed_column(head, body[:_PROBED]):
        return None
    names = unique_names(head)
    return [dict(zip(names, [*line, *[""] * (width - len(line))], strict=True)) for line in body]


class _Reader(HTMLParser):
    """Collects the cells of one table, and how many header cells each of its lines has."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[list[str]] = []
        self.heads: dict[int, int] = {}
        self._cell: list[str] | None = None
        self._span = 1

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self._close()
            if not self.lines or self.lines[-1]:
                self.lines.append([])
        elif tag in {"td", "th"}:
            self._close()
            self._cell = []
            span = dict(attrs).get("colspan") or "1"
            self._span = min(int(span), 1000) if span.isdecimal() else 1
            if tag == "th":
                line = max(len(self.lines) - 1, 0)
                self.heads[line] = self.heads.get(line, 0) + self._span
        elif tag == "br" and self._cell is not None:
            self._cell.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th", "tr", "table"}:
            self._close()

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)

    def _close(self) -> None:
        if self._cell is None:
            return
        if not self.lines:
            self.lines.append([])
        # A cell over several columns has its value in the first of them.
        self.lines[-1] += [" ".join("".join(self._cell).split()), *[""] * (self._span - 1)]
        self._cell = None

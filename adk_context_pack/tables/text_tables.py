"""Finds the tables in a text: JSON, JSON lines, CSV, Markdown, HTML and drawn ones, also between other words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from adk_context_pack._json import json_text
from adk_context_pack.tables.csv_text import find_csv, to_csv
from adk_context_pack.tables.drawn_text import find_aligned, find_ruled, to_markdown
from adk_context_pack.tables.html_text import find_html
from adk_context_pack.tables.json_text import find_json, find_lines, holds_rows, read_document
from adk_context_pack.tables.long_text import lines_with
from adk_context_pack.tables.pages import rows_path

Form = Literal["json", "lines", "csv", "markdown", "other"]

_FENCE = re.compile(r"[ \t]*(```+|~~~+)[ \t]*([\w+-]*)[^\n`]*")
# A fence of any other kind holds code.
_DATA = "csv tsv json jsonl ndjson json5 md markdown text txt plain plaintext html console output table psv data result"
_FENCED_DATA = frozenset(["", "results", *_DATA.split()])
_MAX_TABLES = 20
_MIN_TEXT = 8


@dataclass(frozen=True, slots=True)
class TextTable:
    """A document or a table that stands in a text, and what is needed to write it again.

    Attributes:
        form: "json" for any JSON document, "lines" for one JSON object a line, "csv", "markdown", or "other", which is
            written as CSV.
        value: the document, or the rows.
        delimiter: what separates the cells of CSV.
        newline: what ends its lines.
        unread: how many of its lines are not among the rows.
    """

    form: Form
    value: Any
    delimiter: str = ","
    newline: str = "\n"
    unread: int = 0

    def write(self, value: Any) -> Any:
        """Returns `value` in the form of the text. Any value that is not a list of rows is returned as it is."""
        if self.form == "json":
            return json_text(value)
        if not isinstance(value, (list, tuple)):
            return value
        if self.form == "lines":
            return "\n".join(map(json_text, value))
        names = list(self.value[0])
        if self.form == "markdown":
            return to_markdown([names, *([str(row.get(name, "")) for name in names] for row in value)])
        return to_csv(value, names, delimiter=self.delimiter, newline=self.newline)


def read_text(text: str) -> TextTable | None:
    """Returns the one document or table in a text; None for prose, a log, code, and a text with several tables."""
    found = [part for part in find_in_text(text) if isinstance(part, TextTable)]
    return found[0] if len(found) == 1 else None


def find_in_text(text: str) -> list[str | TextTable]:
    """Splits a text into its tables and the words between them; an empty list where it has no table.

    Pure, and safe to call in a worker thread, in which it never keeps the interpreter's lock for long.

    Args:
        text: what a tool returned. JSON and CSV may be all of it, or stand behind a sentence, before a remark or in a
            code fence.
    """
    for mark in ("\ufeff", "ï»¿"):
        text = text.removeprefix(mark)
    whole = read_document(text)
    if whole is not None:
        return [TextTable("json", whole)]
    parts = list(_parts(text)) if "\n" in text or "\r" in text or text[-1:] in ("}", "]", ">") else []
    return parts if any(isinstance(part, TextTable) for part in parts) else []


def _parts(text: str) -> Iterator[str | TextTable]:
    place = 0
    for start, end, language in _fenced(text):
        inner = find_in_text(text[start:end]) if language in _FENCED_DATA else []
        if not inner or not all(
            isinstance(part, str) or part.form != "json" or holds_rows(part.value) for part in inner
        ):
            # Code keeps what looks like a table.
            yield from _tables(text[place:start])
            yield text[start:end]
        else:
            yield from _tables(text[place:start])
            yield from inner
            # The replacement of a table may end without a line end, which its fence needs.
            yield "\n"
        place = end
    yield from _tables(text[place:] if place else text)


def _fenced(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields where what is in code fences starts and ends, and its language."""
    opened: tuple[int, str, str] | None = None
    for start, end in lines_with(text, ("```", "~~~")):
        fence = _FENCE.fullmatch(text[start:end].rstrip())
        if fence is None:
            continue
        if opened is None:
            opened = (min(end + 1, len(text)), fence[1], fence[2].lower())
        elif fence[1] == opened[1] and not fence[2]:
            yield opened[0], start, opened[2]
            opened = None


def _tables(text: str) -> Iterator[str | TextTable]:
    rest = text
    for _ in range(_MAX_TABLES):
        found = _first(rest) if len(rest) >= _MIN_TEXT else None
        if found is None:
            break
        start, end, table = found
        if rest[:start]:
            yield rest[:start]
        yield table
        rest = rest[end:]
    if rest:
        yield rest


def _first(text: str) -> tuple[int, int, TextTable] | None:
    if html := find_html(text):
        return html.start, html.end, TextTable("other", html.rows)
    if ruled := find_ruled(text):
        return ruled.start, ruled.end, TextTable("markdown" if ruled.is_markdown else "other", ruled.rows)
    lines = find_lines(text)
    if lines and (not holds_rows(lines.value[0]) or rows_path(lines.value)):
        return lines.start, lines.end, TextTable("lines", lines.value)
    if document := find_json(text):
        return document.start, document.end, TextTable("json", document.value)
    if table := find_csv(text):
        return table.start, table.end, TextTable("csv", table.rows, table.delimiter, table.newline, table.unread)
    if aligned := find_aligned(text):
        return aligned.start, aligned.end, TextTable("other", aligned.rows)
    return None

"""Reads and writes tables whose cells are separated by commas, tabs, semicolons or bars."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from adk_context_pack.tables.columns import as_record, unique_names
from adk_context_pack.tables.headers import has_typed_column, is_header, is_plain
from adk_context_pack.tables.numbers import plain

_DELIMITERS = "\t,;|"
_MIN_ROWS = 2
_PROBED_LINES = 21
# Titles, dates and remarks that exports write above the names of the columns.
_MAX_LINES_ABOVE = 12
# The C reader and the C scanner keep the interpreter's lock for one chunk. An event loop waits no longer than that for
# a thread that reads. Fewer lines than the garbage collector waits for before it looks at new objects.
_CHUNK = 500
_MAX_HEADER = 20_000


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A table that stands in a text.

    Attributes:
        start: where the line with the names of the columns starts.
        end: where the line behind the last row starts.
        rows: one dict for each line, all cells as they are written.
        delimiter: what separates cells.
        newline: what ends lines.
    """

    start: int
    end: int
    rows: list[dict[str, str]]
    delimiter: str
    newline: str


@dataclass(frozen=True, slots=True)
class _Dialect:
    delimiter: str
    spaced: bool

    def reader(self, lines: Iterable[str]) -> Iterator[list[str]]:
        return csv.reader(lines, delimiter=self.delimiter, skipinitialspace=self.spaced, strict=True)


def find_csv(text: str, *, min_rows: int = _MIN_ROWS) -> CsvTable | None:
    """Finds the table in a text, behind at most 12 lines of titles and before any remark.

    Pure and safe to call in a worker thread: the interpreter's lock is free again after each few hundred rows.

    Args:
        text: any text.
        min_rows: how many rows a table has to have.
    """
    start = 0
    above = ""
    for _ in range(_MAX_LINES_ABOVE):
        end = text.find("\n", start)
        if end < 0:
            return None
        head = text[start : min(end, start + _MAX_HEADER)].rstrip("\r")
        dialect = _dialect_of(text, start, head, above, min_rows) if head else None
        table = _read(text, start, head, dialect, min_rows) if dialect else None
        if table is not None:
            return table
        above = head or above
        start = end + 1
    return None


def to_csv(rows: Iterable[Any], columns: Sequence[str], *, delimiter: str = ",", newline: str = "\n") -> str:
    """Returns rows as RFC 4180 CSV with a header. A missing cell is empty."""
    lines: list[str] = []
    # Only with this line end does the writer quote a cell that holds a lone carriage return.
    writer = csv.writer(_Lines(lines), delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        record = as_record(row, columns)
        writer.writerow(["" if (cell := record.get(name)) is None else plain(cell) for name in columns])
    return "".join(line[:-2] + newline for line in lines)


class _Lines:
    """A file for `csv.writer`, which writes each row at once."""

    def __init__(self, lines: list[str]) -> None:
        self.write = lines.append


def _dialect_of(text: str, start: int, head: str, above: str, min_rows: int) -> _Dialect | None:
    for delimiter in sorted(_DELIMITERS, key=head.count, reverse=True):
        if not head.count(delimiter):
            return None
        dialect = _Dialect(delimiter, delimiter != "\t" and head.count(f"{delimiter} ") == head.count(delimiter))
        if _is_table(_probed(dialect, text, start), dialect, above, min_rows):
            return dialect
    return None


def _probed(dialect: _Dialect, text: str, start: int) -> list[list[str]]:
    try:
        return list(islice(dialect.reader(_lines_of(text, start)), _PROBED_LINES))
    except csv.Error:
        return []


def _is_table(lines: list[list[str]], dialect: _Dialect, above: str, min_rows: int) -> bool:
    if not lines or not is_header(lines[0]):
        return False
    even = _even(lines[1:], len(lines[0]))
    if len(even) < min_rows:
        return False
    if has_typed_column(lines[0], even):
        return True
    # A sentence has a blank behind its comma. A line like it above means that this one is a row.
    return not dialect.spaced and is_plain(lines[0]) and not _is_alike(above, dialect, len(lines[0]))


def _even(lines: Iterable[list[str]], width: int) -> list[list[str]]:
    found = []
    for line in lines:
        if len(line) == width:
            found.append(line)
        elif line:
            break
    return found


def _is_alike(line: str, dialect: _Dialect, width: int) -> bool:
    try:
        return any(len(cells) == width for cells in dialect.reader([line]))
    except csv.Error:
        return False


def _read(text: str, start: int, head: str, dialect: _Dialect, min_rows: int) -> CsvTable | None:
    reader = csv.reader(
        io.StringIO(text[start:] if start else text, newline=""),
        delimiter=dialect.delimiter,
        skipinitialspace=dialect.spaced,
        strict=True,
    )
    rows: list[dict[str, str]] = []
    try:
        names = unique_names(next(reader))
        lines = _fill(rows, names, reader)
    except csv.Error:
        return None
    place = len(text) if lines is None else _place_of_line(text, start, lines)
    if len(rows) < min_rows or not _is_remark(text, place, dialect, len(names)):
        return None
    newline = "\r\n" if text[start + len(head) : start + len(head) + 2] == "\r\n" else "\n"
    return CsvTable(start, place, rows, dialect.delimiter, newline)


def _fill(rows: list[dict[str, str]], names: Sequence[str], reader: Any) -> int | None:
    """Adds the rows up to the first line of another width, and returns how many lines they take, None for all."""
    width = len(names)
    seen = last = int(reader.line_num)
    while chunk := list(islice(reader, _CHUNK)):
        if set(map(len, chunk)) == {width}:
            rows += [dict(zip(names, line, strict=True)) for line in chunk]
            seen = last = reader.line_num
            continue
        for line in chunk:
            if line and len(line) != width:
                return last
            # A quoted cell may hold line ends. An empty line has no cells.
            seen += 1 + sum(map(_line_ends, line))
            if line:
                rows.append(dict(zip(names, line, strict=True)))
                last = seen
        seen = reader.line_num
    return None


def _line_ends(cell: str) -> int:
    return cell.count("\n") + cell.count("\r") - cell.count("\r\n")


def _place_of_line(text: str, start: int, number: int) -> int:
    for line in islice(_lines_of(text, start), number):
        start += len(line)
    return start


def _lines_of(text: str, start: int) -> Iterator[str]:
    # As universal newlines do, which is how the reader gets them too.
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end + 1
        line = text[start:end]
        if "\r" in line.rstrip("\r\n"):
            yield from io.StringIO(line, newline="")
        else:
            yield line
        start = end


def _is_remark(text: str, place: int, dialect: _Dialect, width: int) -> bool:
    """Returns whether what is behind the rows is a remark, and not the rest of a row or of an uneven table."""
    rest = text[place : place + _MAX_HEADER].lstrip().partition("\n\n")[0].splitlines()
    if not rest:
        return True
    return any(map(str.isalpha, rest[0])) and not any(_is_alike(line, dialect, width) for line in rest)

"""Reads and writes tables whose cells are separated by commas, tabs, semicolons or bars."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from statistics import multimode
from types import SimpleNamespace
from typing import Any

from pydantic_core import to_json

from adk_context_pack._json import json_text
from adk_context_pack.tables.columns import as_record, unique_names
from adk_context_pack.tables.headers import heads, is_header, is_row, is_typed, names_of, typed_places
from adk_context_pack.tables.numbers import plain
from adk_context_pack.tables.text_scan import TextPart, line_end, lines

_DELIMITERS = "\t,;|^~\x01\x1f"
_MIN_ROWS, _MAX_HEADER = 2, 20_000

_Rows = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class _Dialect:
    delimiter: str
    spaced: bool
    is_padded: bool = False
    least: int = 0

    def reader(self, lines: Iterable[str], *, strict: bool = True) -> Any:
        return csv.reader(lines, delimiter=self.delimiter, skipinitialspace=self.spaced, strict=strict)

    def cells(self, line: str) -> list[str]:
        try:
            return next(self.reader([line], strict=False), [])
        except csv.Error:
            return line.rstrip("\r\n").split(self.delimiter)


def find_csv(text: str) -> TextPart | None:
    """Finds the table in a text, behind at most 16 lines of titles and before any remark.

    Pure and safe to call in a worker thread: the interpreter's lock is free again after each few hundred rows.
    """
    if "\n" not in text:
        text = text.replace("\r", "\n")
    above = ""
    for start, end in islice(lines(text), 16):
        head = text[start : min(end, start + _MAX_HEADER)].rstrip("\r")
        below = text[end : line_end(text, end + 1)]
        # A quoted name may hold a line end.
        head += below if head.count('"') % 2 else ""
        # What two lines hold more often of another sign is cut by that one.
        least = max(1, *(min(head.count(sign), below.count(sign)) for sign in _DELIMITERS))
        # R writes blanks between the cells of a whole text.
        is_blank = start == 0 and head.count(" ") > 1 and head.strip() == head and "  " not in head
        signs = [sign for sign in _DELIMITERS if head.count(sign) >= least] or [" "] * is_blank
        for delimiter in sorted(signs, key=head.count, reverse=True):
            spaced = delimiter != "\t" and head.count(f"{delimiter} ") == head.count(delimiter)
            # A semicolon behind blanks begins a remark in code.
            dialect = _Dialect(delimiter, spaced, delimiter != ";" and f"  {delimiter}" in head)
            if (table := _table_at(text, start, dialect, above)) is not None:
                return table
        above = head or above
    return None


def to_csv(rows: Iterable[Any], columns: Sequence[str], *, delimiter: str = ",") -> str:
    """Returns rows as RFC 4180 CSV with a header. A missing cell is empty."""
    records = (as_record(row, columns) for row in rows)
    return csv_text([columns, *([plain(record.get(name)) for name in columns] for record in records)], delimiter)


def csv_text(lines: Iterable[Iterable[Any]], delimiter: str = ",") -> str:
    """Returns lines of cells as RFC 4180 CSV, each with a line feed at its end."""
    written: list[str] = []
    # Only with this line end does the writer quote a cell that holds a lone carriage return.
    writer = csv.writer(SimpleNamespace(write=written.append), delimiter=delimiter, lineterminator="\r\n")
    writer.writerows(lines)
    return "".join(line[:-2] + "\n" for line in written)


def exact_lines(columns: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yields the lines of a table of JSON's scalars: JSON, without the quotes of texts that nobody takes for more."""
    other = r"true|false|null|NaN|-?Infinity|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
    bare = rf'(?!(?:{other})\Z)[^\s",](?:[^",\r\n]*[^\s",])?'

    def written(cells: Sequence[Any]) -> list[str]:
        if str not in map(type, cells):
            return to_json(cells)[1:-1].decode().split(",")
        return [cell if type(cell) is str and re.fullmatch(bare, cell) else json_text(cell) for cell in cells]

    return map(",".join, zip(*map(written, columns), strict=True))


def _table_at(text: str, start: int, dialect: _Dialect, above: str) -> TextPart | None:
    (head, below), *lines = islice(_records(text, start, dialect), 21)
    body = [cells for cells, _ in lines if cells and cells[0][:1] != "#"] or [cells for cells, _ in lines if cells]
    names = _names(head, body, dialect)
    # Most rows may lack the last cells. Sentences hold commas with blanks behind them, and seldom numbers at one place.
    may_lack = is_header(names) and (not dialect.spaced or (len(body) > _MIN_ROWS and typed_places(names, body)))
    usual = min(multimode(map(len, body)), default=0) if may_lack else 0
    dialect = replace(dialect, least=_MIN_ROWS if _MIN_ROWS <= usual < len(names) else len(names))
    even = [[*cells, *[""] * (len(names) - len(cells))] for cells in body if dialect.least <= len(cells) <= len(names)]
    # Nothing but delimiters at the ends of lines.
    used = max(len(names) - (not names[-1] and not any(cells[-1] for cells in even)), 1)
    is_spaced = dialect.spaced and not dialect.is_padded
    is_headed = heads(names[:used], [cells[:used] for cells in even], spaced=is_spaced)
    # Rows without a header may stand below a sentence, and nothing follows them.
    is_first = not dialect.spaced and (above[:1] in {"", "#"} or len(dialect.cells(above)) == 1)
    if len(even) < _MIN_ROWS or not (is_headed or (is_first and is_row(names, even))):
        return None
    typed = typed_places(names, even)
    # Blanks divide words as well, so that nearly all cells need a type.
    is_blank = dialect.delimiter == " "
    if is_blank and not (is_headed and len(typed) > 2 and len(typed) + 1 >= len(names)):  # noqa: PLR2004 - columns
        return None
    firsts = [cells[0] for cells in (names, *even)]
    # A bank writes labels with their values above its rows, and a print has commas between thousands.
    is_form = len(names) == 2 and all(first[-1:] == ":" for first in firsts)  # noqa: PLR2004 - columns
    is_other = is_form or all("  " in first.strip() for first in firsts)
    if is_other or (dialect.delimiter == "\t" and not any(firsts)):
        return None
    if not typed and (dialect.least < len(names) or len(dialect.cells(above)) == len(names)):
        # A line like it above means that this one is a row.
        return None
    labels = unique_names(name.strip() if is_headed else "" for name in names)
    below = below if is_headed else start
    rows, place, unread = _read_even(text, below, dialect, labels), len(text), 0
    if rows is None and not is_blank:
        rows, place, unread = _read_uneven(text, below, dialect, labels, typed)
    follows = not is_headed and any(line[:1] != "#" for line in text[place:].split("\n") if line.strip())
    if rows is None or len(rows) < _MIN_ROWS or follows:
        return None
    return TextPart(start, place, _without_blanks(names, labels, rows), "csv", dialect.delimiter, unread)


def _without_blanks(names: list[str], labels: list[str], rows: _Rows) -> _Rows:
    """Returns rows without further lines of names above them, and without a last column of nothing."""
    if len(set(names)) < len(names):
        first = [names, *(list(row.values()) for row in rows[:4])]
        count, labels = len(first), unique_names(names_of(first))
        rows = [dict(zip(labels, row.values(), strict=True)) for row in rows[count - len(first) :]]
    if not names[-1] and not any(row[labels[-1]] for row in rows):
        for row in rows:
            del row[labels[-1]]
    return rows


def _names(head: list[str], body: list[list[str]], dialect: _Dialect) -> list[str]:
    """Returns a line with as many cells as those below it have, of which one may have no name at either end."""
    if not head[-1] and all(len(cells) < len(head) for cells in body):
        return head[:-1]
    if len(head) < _MIN_ROWS or any(len(cells) != len(head) + 1 for cells in body):
        return head
    if not any(cells[-1] for cells in body):
        return [*head, ""]
    # Above the names of a table may be a title of fewer cells.
    return head if heads(body[0], body[1:], spaced=dialect.spaced) else ["", *head]


def _records(text: str, start: int, dialect: _Dialect) -> Iterator[tuple[list[str], int]]:
    """Yields the cells of each line and where the next one starts. A quote that nothing closes is a letter."""
    width = 0
    while start < len(text):
        ends = [line_end(text, start)]
        while text.count('"', start, ends[-1]) % 2 and len(ends) <= 50:  # noqa: PLR2004 - lines
            ends.append(line_end(text, ends[-1]))
        end, stop = ends[0], ends[-1]
        cells = dialect.cells(text[start:stop])
        if stop > end and width and len(cells) != width:
            cells, stop = text[start:end].rstrip("\r\n").split(dialect.delimiter), end
        width = width or len(cells)
        yield cells, stop
        start = stop


def _read_even(text: str, start: int, dialect: _Dialect, names: Sequence[str]) -> _Rows | None:
    """Returns the rows of a text that is a table to its end, or None if not all lines have as many cells."""
    rows: _Rows = []
    reader = dialect.reader(io.StringIO(text[start:].rstrip("\r\n"), newline=""))
    try:
        # The C reader keeps the interpreter's lock for one chunk, and an event loop waits no longer for a thread that
        # reads. Fewer lines than the garbage collector waits for before it looks at new objects.
        while chunk := list(islice(reader, 500)):
            if set(map(len, chunk)) != {len(names)}:
                return None
            rows += [dict(zip(names, line, strict=True)) for line in chunk]
    except csv.Error:
        return None
    return rows


def _read_uneven(text: str, at: int, dialect: _Dialect, names: list[str], typed: list[int]) -> tuple[_Rows, int, int]:
    """Returns the rows, where they end, and how many lines between them have too many cells.

    A line with too few cells lacks the last ones. Too many uneven lines make no rows. An empty line may end the table.
    """
    width, rows = len(names), _Rows()
    uneven: list[list[str]] = []
    between = unread = 0
    place = last = at
    is_below_gap = goes_on = False
    for line, stop in _records(text, at, dialect):
        if not line or line[0][:1] == "#":
            is_below_gap = is_below_gap or not line
            continue
        cells = line if any(line[width:]) else line[:width]
        goes_on = len(cells) > 1 and (not typed or any(is_typed(cells[place]) for place in typed if place < len(cells)))
        if is_below_gap and (not goes_on or any(len(other) == 1 for other in uneven)):
            break
        is_below_gap, last = False, stop
        if not dialect.least <= len(cells) <= width:
            uneven.append(cells)
            continue
        between += len(uneven)
        unread += sum(len(other) > width for other in uneven)
        rows += [dict(zip_longest(names, each, fillvalue="")) for each in (*uneven, cells) if len(each) <= width]
        uneven.clear()
        place = stop
    rest = text[place : place + _MAX_HEADER].lstrip().partition("\n")[0]
    # A remark may follow the rows, and the rest of a row or of an uneven table may not. Tools cut a text within a row.
    is_cut = bool(typed) and goes_on and stop == len(text) and text[-1:] != "\n"
    if uneven and rest and (is_cut or not any(map(str.isalpha, rest))):
        between += len(uneven)
        unread += len(uneven)
        place = last
    # One line in ten may have too few or too many cells, and one of five with a type.
    most = max(len(rows) // 10, bool(typed) and len(rows) >= 5)  # noqa: PLR2004
    return (rows if between <= most else []), place, unread

"""Tables written as text: JSON, JSON lines, CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from adk_context_pack._json import json_text
from adk_context_pack.tables.columns import as_record, unique_names
from adk_context_pack.tables.numbers import number_of, plain

_DELIMITERS = ",\t;|"
_HEADER = re.compile(r"[^\W\d][\w .%/()#:-]{0,60}").fullmatch
_MIN_CSV_ROWS = 2
_PROBED_LINES = 20


@dataclass(frozen=True, slots=True)
class TextTable:
    """What a text holds, and what is needed to write it again.

    Attributes:
        form: "json" for any JSON document, "lines" for one JSON object a line, "csv".
        value: the document, or the rows.
        delimiter: what separates the cells of CSV.
        newline: what ends its lines.
    """

    form: Literal["json", "lines", "csv"]
    value: Any
    delimiter: str = ","
    newline: str = "\n"

    def write(self, value: Any) -> Any:
        """`value` in the form of the text; what is no list of rows goes out as it is."""
        if self.form == "json":
            return json_text(value)
        if not isinstance(value, (list, tuple)):
            return value
        if self.form == "lines":
            return "\n".join(map(json_text, value))
        return to_csv(value, list(self.value[0]), delimiter=self.delimiter, newline=self.newline)


def read_text(text: str) -> TextTable | None:
    """The JSON or CSV in a text; None where it is prose, a log or anything else."""
    start, end = text[:64].lstrip()[:1], text[-64:].rstrip()[-1:]
    if (start, end) in {("[", "]"), ("{", "}")}:
        return _read_json(text)
    return _read_csv(text) if "\n" in text else None


def to_csv(rows: Iterable[Any], columns: Sequence[str], *, delimiter: str = ",", newline: str = "\n") -> str:
    """Rows as RFC 4180 CSV with a header; a missing cell is empty."""
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


def _read_json(text: str) -> TextTable | None:
    try:
        value = json.loads(text)
    except RecursionError:
        return None
    except ValueError:
        return _read_lines(text)
    return TextTable("json", value) if isinstance(value, (dict, list)) else None


def _read_lines(text: str) -> TextTable | None:
    rows = []
    for line in text.splitlines():
        try:
            row = json.loads(line) if line.startswith("{") else None
        except (ValueError, RecursionError):
            return None
        if not isinstance(row, Mapping):
            return None
        rows.append(row)
    return TextTable("lines", rows) if len(rows) > 1 else None


def _read_csv(text: str) -> TextTable | None:
    head = text[: text.index("\n")].rstrip("\r")
    delimiter = max(_DELIMITERS, key=head.count)
    if not head.count(delimiter) or not _is_header(next(csv.reader([head], delimiter=delimiter), [])):
        return None
    # A look at the first lines spares a long text that is no table.
    if not _is_even(csv.reader(islice(io.StringIO(text, newline=""), _PROBED_LINES), delimiter=delimiter)):
        return None
    try:
        header, *lines = filter(None, csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    if len(lines) < _MIN_CSV_ROWS or set(map(len, lines)) != {len(header)}:
        return None
    names = unique_names(header)
    rows = [dict(zip(names, line, strict=True)) for line in lines]
    return TextTable("csv", rows, delimiter, "\r\n" if "\r\n" in text[: len(head) + 2] else "\n")


def _is_header(cells: Sequence[str]) -> bool:
    # Names stand in a header: `12:01:07,310 INFO start` is the first line of a log, `Dear all, thank you` of a letter.
    return len(cells) > 1 and all(_HEADER(cell) and number_of(cell) is None for cell in cells)


def _is_even(lines: Iterable[Sequence[str]]) -> bool:
    try:
        lengths = [len(line) for line in lines if line]
    except csv.Error:
        return False
    # The last of the probed lines may end within a quoted cell.
    return len(lengths) > _MIN_CSV_ROWS and len(set(lengths[:-1])) == 1

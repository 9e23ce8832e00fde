"""Chooses in which form the rows of a table are shown: whole, with long cells cut, or by what tells them apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from adk_context_pack.tables.columns import Column, as_record, is_missing, is_record, iter_columns
from adk_context_pack.tables.find_tables import Table
from adk_context_pack.tables.outliers import Odd
from adk_context_pack.tools.result_limits import Encoding
from adk_context_pack.tools.table_text import rows_as_csv

_MAX_DEPTH = 6
_LOOKED_AT = 200
_MAX_READ = 300
"""A table with more rows is asked rather than read."""
_MAX_TITLE, _LONG_TEXT = 160, 200
_READ_SHARE = 0.35
"""Where this share of a table's characters is in texts of several words, its rows are read one by one."""
_SHORTEST_READ = 20
_ADDRESS = re.compile(r"\w+://|www\.|/\w")
_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|ico)\b", re.IGNORECASE)
_WORDS = re.compile(r"\w\s+\w|[^\W\d_a-zA-Z\u00c0-\u024f]{8}")


@dataclass(frozen=True, slots=True)
class CellLimits:
    """The most that is shown of a cell.

    Attributes:
        characters: of a text.
        entries: of a list within a row. A dict within a row shows four times as many keys.
    """

    characters: int
    entries: int


Picked = Mapping[int, str]
"""The indexes of rows in the order in which they are shown, each with a word around which its long texts are cut."""

STEPS = (CellLimits(1_000, 20), CellLimits(300, 8), CellLimits(100, 3), CellLimits(40, 1))
"""The limits that are tried one after the other until some rows fit."""


@dataclass(frozen=True, slots=True)
class RowForm:
    """A form in which rows are shown.

    Attributes:
        limits: the most that is shown of a cell, or None for whole cells.
        columns: the columns that are shown, as one CSV text. Empty for all.
        of: how many columns there are.
    """

    limits: CellLimits | None = None
    columns: tuple[str, ...] = ()
    of: int = 0

    def said(self, table: Table, picked: Picked, odd: Mapping[int, Sequence[Odd]]) -> dict[str, str]:
        """Says what is missing in the shown rows, and which these are, for `_row_limits`."""
        said = {}
        first = next((place for place, row in enumerate(picked) if place != row), len(picked))
        if first < len(picked):
            begin = [f"0-{first - 1}" if first > 1 else "0"] if first else []
            rest = (f"{row} ({odd[row][0].column})" if row in odd else str(row) for row in list(picked)[first:])
            said["rows"] = ", ".join([*begin, *rest])
        whole = RowForm(columns=self.columns).rows(table, picked)
        if (limits := self.limits) is not None and any(shortened(row, limits) is not row for row in whole):
            said["cells"] = "long ones are cut, see the marks"
        return {**said, "columns": f"{len(self.columns)} of {self.of}"} if 0 < len(self.columns) < self.of else said

    def shown(self, table: Table, picked: Picked, encoding: Encoding) -> Any:
        """Returns some rows of a table. A table is never shown as an empty one."""
        if not picked:
            return f"({len(table.rows)} rows, none shown)" if table.rows else []
        rows = self.rows(table, picked)
        if self.columns:
            return rows_as_csv(rows)
        return rows_as_csv(rows, table.columns) if encoding == "csv" else rows

    def costs(self, table: Table, picked: Picked, encoding: Encoding, tokens: Callable[[Any], int]) -> Iterator[int]:
        """Yields the tokens of some rows, one after the other."""
        is_csv = bool(self.columns) or encoding == "csv"
        for number, (row, word) in enumerate(picked.items()):
            shown = self._row(table.rows[row], table, word)
            if is_csv:
                text = rows_as_csv([shown], None if self.columns else table.columns)
                shown = text if number == 0 else text.partition("\n")[2]
            yield tokens(shown) + 1

    def rows(self, table: Table, picked: Picked) -> list[Any]:
        """Returns some rows in this form."""
        return [self._row(table.rows[row], table, word) for row, word in picked.items()]

    def _row(self, row: Any, table: Table, word: str) -> Any:
        if self.columns:
            record = as_record(row, table.columns, scalars=True)
            row = {name: _under(record, name) for name in self.columns}
        return row if self.limits is None else shortened(values_of(row), self.limits, word)


class RowForms(NamedTuple):
    """The forms of a table's rows.

    Attributes:
        forms: the fullest first.
        by_row: whether each row is to be seen, in the first form that has room for all, rather than some rows whole.
    """

    forms: Sequence[RowForm]
    by_row: bool


AS_THEY_ARE = RowForm()


def forms_of(table: Table, odd: Iterable[Odd] = (), *, titles: bool = False) -> RowForms:
    """Returns the forms in which the rows of a table may be shown.

    Search results, tickets and passages are read one by one: each is shown by a number, a title, a source and what
    divides them, if there is no room for more. Other tables are asked, and a few rows show what they look like.

    Args:
        table: the table.
        odd: its odd cells. A row that does not fit whole is shown with their columns.
        titles: whether its rows are read one by one, whatever they hold.
    """
    forms = [AS_THEY_ARE, *map(RowForm, STEPS)]
    looked_at = table.rows[:_LOOKED_AT] if titles or len(table.rows) <= _MAX_READ else []
    columns = [_Look(column) for column in iter_columns(looked_at, table.columns)]
    title = next((each for each in sorted(columns, key=lambda each: -each.title) if each.title), None)
    total = sum(each.characters for each in columns if not each.is_address)
    read = sum(each.characters for each in columns if each.has_words and each.mean >= _SHORTEST_READ)
    if title is None or not (titles or read > _READ_SHARE * total):
        return RowForms([*forms, *_narrow(table, odd)], by_row=False)
    key = next((each for each in columns if each.is_key and each is not title), None)
    source = min((each for each in columns if each.is_source), key=lambda each: each.mean, default=None)
    # What divides the rows comes before dates, names of people and other short cells.
    others = [each for each in columns if each.is_short and each not in (key, title, source)]
    kinds = sorted(others, key=lambda each: (not each.divides, each.distinct if each.divides else 0))[:4]
    texts = [each for each in columns if each.has_words and each.mean > _LONG_TEXT][:1]
    short = list(dict.fromkeys(each.name for each in (key, title, source, *kinds) if each is not None))
    least = list(dict.fromkeys(each.name for each in (title, source or key) if each is not None))
    names = [(300, [*short, *(each.name for each in texts)]), (120, [*short, *(each.name for each in texts)])]
    names += [(160, short), (120, least), (80, [(key or title).name, title.name])]
    narrow = [RowForm(CellLimits(length, 3), tuple(dict.fromkeys(each)), len(columns)) for length, each in names]
    return RowForms([*forms[:3], *narrow], by_row=True)


def _narrow(table: Table, odd: Iterable[Odd]) -> Iterator[RowForm]:
    names = [column.name for column in iter_columns(table.rows[:3], table.columns)]
    first = list(dict.fromkeys([*names[:1], *(cell.column for cell in odd if cell.column in names), *names]))
    yield from (RowForm(STEPS[2], tuple(first[:most]), len(names)) for most in (8, 4) if len(names) > most)


class _Look:
    """What one look at a column's cells says."""

    def __init__(self, column: Column) -> None:
        cells = [value for value in column.values if not is_missing(value)]
        texts = [value for value in cells if isinstance(value, str)]
        self.is_text = 2 * len(texts) > len(cells)
        written = texts if self.is_text else [str(value) for value in cells]
        self.name, self.rows, self.distinct = column.name, len(column.values), len(set(written))
        self.characters = sum(map(len, written))
        self.mean = self.characters / max(len(written), 1)
        self.has_words = 2 * sum(_WORDS.search(text) is not None for text in texts) > len(cells)
        self.is_address = 2 * sum(_ADDRESS.match(text) is not None for text in texts) > len(cells)
        self.is_picture = any(map(_PICTURE.search, texts[:3]))
        self.is_measure = any(type(value) is float for value in cells)

    @property
    def tells_apart(self) -> bool:
        return 10 * self.distinct >= 8 * self.rows

    @property
    def title(self) -> float:
        """How good a title the column is, 0 for none: the words of a short text that is another one in each row."""
        if not self.has_words or self.is_address or not self.tells_apart:
            return 0
        return 1 / (1 + max(0.0, self.mean - _MAX_TITLE))

    @property
    def is_key(self) -> bool:
        is_short = self.mean <= 16 and not self.has_words and not self.is_address  # noqa: PLR2004
        return self.tells_apart and is_short and not self.is_measure

    @property
    def is_source(self) -> bool:
        return self.is_address and self.tells_apart and self.is_text and not self.is_picture

    @property
    def is_short(self) -> bool:
        return self.distinct > 1 and self.mean <= 24 and not self.is_address  # noqa: PLR2004

    @property
    def divides(self) -> bool:
        return self.is_text and self.is_short and self.distinct <= max(2, self.rows // 3)


def values_of(row: Any) -> Any:
    """Returns a row as the values that are shown of it: a model or a dataclass as its fields."""
    return dict(as_record(row)) if is_record(type(row)) else row


def _under(record: Mapping[str, Any], name: str) -> Any:
    """Returns the cell of a column, whose name is dotted where rows are nested."""
    if name in record:
        return record[name]
    for key, value in record.items():
        if name.startswith(f"{key}.") and isinstance(value, Mapping):
            return _under(value, name[len(str(key)) + 1 :])
    return None


def shortened(row: Any, limits: CellLimits, word: str = "") -> Any:
    """Returns a row with its long texts and lists cut, each with a mark that says how much is left out.

    The very same object where nothing is long. All columns of the row stay. A text is cut around `word` if it has it.
    """
    if isinstance(row, Mapping):
        changed = {key: new for key, cell in row.items() if (new := _cell(cell, limits, word, 1)) is not cell}
        return {**row, **changed} if changed else row
    if isinstance(row, (list, tuple)):
        return _entries(row, limits, word, 1)
    return _cell(row, limits, word, 1)


def _cell(cell: Any, limits: CellLimits, word: str, depth: int) -> Any:
    if isinstance(cell, str):
        return _text(cell, limits.characters, word)
    if not isinstance(cell, (Mapping, list, tuple)):
        return cell
    what, most = ("keys", 4 * limits.entries) if isinstance(cell, Mapping) else ("entries", limits.entries)
    if depth >= _MAX_DEPTH:
        return f"… {len(cell)} {what}"
    if isinstance(cell, Mapping):
        new = {key: _cell(item, limits, word, depth + 1) for key, item in islice(cell.items(), most)}
        if len(cell) > most:
            return {**new, "…": f"{len(cell) - most} more keys"}
        return new if any(new[key] is not item for key, item in cell.items()) else cell
    if len(cell) > most:
        return [*_entries(cell[:most], limits, word, depth), f"… {len(cell) - most} more"]
    return _entries(cell, limits, word, depth)


def _entries(cells: Sequence[Any], limits: CellLimits, word: str, depth: int) -> Any:
    new = [_cell(cell, limits, word, depth + 1) for cell in cells]
    return new if any(one is not other for one, other in zip(new, cells, strict=True)) else cells


def _text(text: str, most: int, word: str) -> str:
    start = max(0, text.find(word) + len(word) // 2 - most // 2) if word and text.find(word) > most // 2 else 0
    before, left_out = f"… {start} characters before …" if start else "", len(text) - start - most
    after = f"… {left_out} more characters" if left_out > 0 else ""
    short = f"{before}{text[start : start + most]}{after}"
    return short if len(short) < len(text) else text

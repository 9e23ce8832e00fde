"""Chooses in which form the rows of a table are shown: whole, with long cells cut, or by what tells them apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from adk_context_pack.tables.columns import Column, as_record, is_missing, is_record, iter_columns
from adk_context_pack.tables.find_tables import Table
from adk_context_pack.tools.result_limits import Encoding
from adk_context_pack.tools.table_text import rows_as_csv

_MAX_DEPTH = 6
_LOOKED_AT = 200
_MAX_READ = 300
"""A table with more rows is asked rather than read."""
_FEW_COLUMNS = 8
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

    def said(self, table: Table, count: int) -> dict[str, str]:
        """Says what is missing in the first rows, for `_row_limits`."""
        limits, said = self.limits, {}
        if limits is not None and any(
            shortened(row, limits) is not row for row in RowForm(columns=self.columns).rows(table, count)
        ):
            said["cells"] = "long ones are cut, see the marks"
        return {**said, "columns": f"{len(self.columns)} of {self.of}"} if 0 < len(self.columns) < self.of else said

    def shown(self, table: Table, count: int, encoding: Encoding) -> Any:
        """Returns the first rows of a table. A table is never shown as an empty one."""
        if not count:
            return f"({len(table.rows)} rows, none shown)" if table.rows else []
        rows = self.rows(table, count)
        if self.columns:
            return rows_as_csv(rows)
        return rows_as_csv(rows, table.columns) if encoding == "csv" else rows

    def costs(self, table: Table, most: int, encoding: Encoding, tokens: Callable[[Any], int]) -> Iterator[int]:
        """Yields the tokens of the first rows, one after the other."""
        if not self.columns and encoding == "json":
            yield from (tokens(self._row(row, table)) + 1 for row in islice(table.rows, most))
            return
        for number, row in enumerate(islice(table.rows, most)):
            text = rows_as_csv([self._row(row, table)], None if self.columns else table.columns)
            yield tokens(text if number == 0 else text.partition("\n")[2]) + 1

    def rows(self, table: Table, count: int) -> list[Any]:
        """Returns the first rows in this form."""
        return [self._row(row, table) for row in table.rows[:count]]

    def _row(self, row: Any, table: Table) -> Any:
        if self.columns:
            record = as_record(row, table.columns, scalars=True)
            row = {name: _under(record, name) for name in self.columns}
        return row if self.limits is None else shortened(values_of(row), self.limits)


class RowForms(NamedTuple):
    """The forms of a table's rows.

    Attributes:
        forms: the fullest first.
        by_row: whether each row is to be seen, in the first form that has room for all, rather than some rows whole.
    """

    forms: Sequence[RowForm]
    by_row: bool


AS_THEY_ARE = RowForm()


def forms_of(table: Table, *, titles: bool = False) -> RowForms:
    """Returns the forms in which the rows of a table may be shown.

    Search results, tickets and passages are read one by one: each is shown by a number, a title, a source and what
    divides them, if there is no room for more. Other tables are asked, and a few rows show what they look like.

    Args:
        table: the table.
        titles: whether its rows are read one by one, whatever they hold.
    """
    forms = [AS_THEY_ARE, *map(RowForm, STEPS)]
    if not table.rows or (len(table.rows) > _MAX_READ and not titles):
        return RowForms([*forms, *_narrow(table)], by_row=False)
    columns = [_Look.of(column) for column in iter_columns(table.rows[:_LOOKED_AT], table.columns)]
    title = next((each for each in sorted(columns, key=lambda each: -each.title) if each.title), None)
    total = sum(each.characters for each in columns if not each.is_address)
    read = sum(each.characters for each in columns if each.has_words and each.mean >= _SHORTEST_READ)
    if title is None or not (titles or read > _READ_SHARE * total):
        return RowForms([*forms, *_narrow(table)], by_row=False)
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


def _narrow(table: Table) -> list[RowForm]:
    names = [column.name for column in iter_columns(table.rows[:3], table.columns)]
    return [RowForm(STEPS[2], tuple(names[:_FEW_COLUMNS]), len(names))] if len(names) > _FEW_COLUMNS else []


class _Look(NamedTuple):
    """What one look at a column's cells says."""

    name: str
    characters: int
    mean: float
    distinct: int
    rows: int
    has_words: bool
    is_address: bool
    is_picture: bool
    is_text: bool
    is_measure: bool

    @classmethod
    def of(cls, column: Column) -> _Look:
        cells = [value for value in column.values if not is_missing(value)]
        texts = [value for value in cells if isinstance(value, str)]
        written = texts if 2 * len(texts) > len(cells) else [str(value) for value in cells]
        characters, rows = sum(map(len, written)), len(column.values)
        return cls(
            name=column.name,
            characters=characters,
            mean=characters / max(len(written), 1),
            distinct=len(set(written)),
            rows=rows,
            has_words=2 * sum(_WORDS.search(text) is not None for text in texts) > len(cells),
            is_address=2 * sum(_ADDRESS.match(text) is not None for text in texts) > len(cells),
            is_picture=any(map(_PICTURE.search, texts[:3])),
            is_text=written is texts,
            is_measure=any(type(value) is float for value in cells),
        )

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


def shortened(row: Any, limits: CellLimits) -> Any:
    """Returns a row with its long texts and lists cut, each with a mark that says how much is left out.

    The very same object where nothing is long. All columns of the row stay.
    """
    if isinstance(row, str):
        return _text(row, limits)
    if isinstance(row, Mapping):
        changed = {key: new for key, cell in row.items() if (new := _cell(cell, limits, 1)) is not cell}
        return {**row, **changed} if changed else row
    if isinstance(row, (list, tuple)):
        return _entries(row, limits, 1)
    return row


def _cell(cell: Any, limits: CellLimits, depth: int) -> Any:
    if isinstance(cell, str):
        return _text(cell, limits)
    if isinstance(cell, Mapping):
        if depth >= _MAX_DEPTH:
            return f"… {len(cell)} keys"
        most = 4 * limits.entries
        new = {key: _cell(item, limits, depth + 1) for key, item in islice(cell.items(), most)}
        if len(cell) > most:
            return {**new, "…": f"{len(cell) - most} more keys"}
        return new if any(new[key] is not item for key, item in cell.items()) else cell
    if isinstance(cell, (list, tuple)):
        if depth >= _MAX_DEPTH:
            return f"… {len(cell)} entries"
        return _list(cell, limits, depth)
    return cell


def _list(cell: Sequence[Any], limits: CellLimits, depth: int) -> Any:
    if len(cell) <= limits.entries:
        return _entries(cell, limits, depth)
    return [*_entries(cell[: limits.entries], limits, depth), f"… {len(cell) - limits.entries} more"]


def _entries(cells: Sequence[Any], limits: CellLimits, depth: int) -> Any:
    new = [_cell(cell, limits, depth + 1) for cell in cells]
    return new if any(one is not other for one, other in zip(new, cells, strict=True)) else cells


def _text(text: str, limits: CellLimits) -> str:
    left_out = len(text) - limits.characters
    mark = f"… {left_out} more characters"
    return f"{text[: limits.characters]}{mark}" if left_out > len(mark) else text

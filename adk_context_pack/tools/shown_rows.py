"""Makes the stub of a table: its rows in the form that fits, its columns as text, and the facts of its groups."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import log2
from typing import Any, NamedTuple

from adk_context_pack._json import json_text
from adk_context_pack.errors import counted, logger
from adk_context_pack.tables.columns import Column, as_record, is_missing, is_record, iter_columns
from adk_context_pack.tables.csv_tables import csv_text
from adk_context_pack.tables.find_tables import Table
from adk_context_pack.tables.numbers import as_float, plain, short_text, with_decimals
from adk_context_pack.tables.outliers import Odd, odd_rows
from adk_context_pack.tables.table_facts import ColumnFacts, TableFacts, has_few, sums_by_value, table_facts
from adk_context_pack.tables.trouble import alarming_rows, level_counts
from adk_context_pack.tools.result_limits import Encoding

_ADDRESS = re.compile(r"\w+://|www\.|/\w")
_WORDS = re.compile(r"[^\W\d_]{2}\s+\w|\w\s+[^\W\d_]{2}|[^\W\d_a-zA-Z\u00c0-\u024f]{8}")


class CellLimits(NamedTuple):
    """The most characters of a text, and entries of a list, that a cell shows. A dict shows four times as many keys."""

    characters: int
    entries: int


Picked = Mapping[int, str]
"""The indexes of rows in the order in which they are shown, each with a word around which its long texts are cut."""

STEPS = (CellLimits(1_000, 20), CellLimits(300, 8), CellLimits(100, 3), CellLimits(40, 1))
"""The limits that are tried one after the other until some rows fit."""


class RowForm(NamedTuple):
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
            said["cells"] = "cut, see the marks"
        if picked and 0 < len(self.columns) < self.of:
            said["columns"] = f"{len(self.columns)} of {self.of}"
        return said

    def shown(self, table: Table, picked: Picked, encoding: Encoding) -> Any:
        """Returns some rows of a table. A table is never shown as an empty one."""
        if not picked:
            return f"({counted(len(table.rows), 'row')}, none shown)" if table.rows else []
        rows, is_csv = self.rows(table, picked), bool(self.columns) or encoding == "csv"
        return rows_as_csv(rows, None if self.columns else table.columns) if is_csv else rows

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
            cells = as_record(row, table.columns, scalars=True)
            if not cells.keys() >= set(self.columns):
                cells = {each.name: each.values[0] for each in iter_columns([row], table.columns)} | dict(cells)
            row = {name: cells.get(name) for name in self.columns}
        if self.limits is None:
            return row
        # A model or a dataclass is shown as its fields.
        return shortened(dict(as_record(row)) if is_record(type(row)) else row, self.limits, word)


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
    # A table with more rows is asked rather than read.
    looked_at = table.rows[:200] if titles or len(table.rows) <= 300 else []  # noqa: PLR2004 - rows
    columns = [_Look(column) for column in iter_columns(looked_at, table.columns)]
    title = next((each for each in sorted(columns, key=lambda each: -each.title) if each.title), None)
    total = sum(each.characters for each in columns if not each.is_address)
    read = sum(each.different for each in columns if each.has_words and each.mean >= 20)  # noqa: PLR2004 - characters
    # Where a third of the characters is in texts of several words, rows are read one by one.
    if title is None or not (titles or read > 0.35 * total):
        names = [column.name for column in iter_columns(table.rows[:3], table.columns)]
        first = list(dict.fromkeys([*names[:1], *(cell.column for cell in odd if cell.column in names), *names]))
        narrow = [RowForm(STEPS[2], tuple(first[:most]), len(names)) for most in (8, 4) if len(names) > most]
        return RowForms([*forms, *narrow], by_row=False)
    key = next((each for each in columns if each.is_key and each is not title), None)
    source = min(
        (each for each in columns if each.is_address and each.tells_apart), key=lambda each: each.mean, default=None
    )
    # What divides the rows comes before dates, names of people and other short cells.
    others = [each for each in columns if each.is_short and each not in (key, title, source)]
    kinds = sorted(others, key=lambda each: (not each.divides, each.distinct if each.divides else 0))[:4]
    texts = sorted((each for each in columns if each.has_words and each is not title), key=lambda each: -each.mean)[:1]
    short = list(dict.fromkeys(each.name for each in (key, title, source, *kinds) if each is not None))
    least = list(dict.fromkeys(each.name for each in (title, source or key) if each is not None))
    shown = [(length, [*short, *(each.name for each in texts)]) for length in (300, 120)]
    shown += [(160, short), (120, least), (80, [(key or title).name, title.name])]
    narrow = [RowForm(CellLimits(length, 3), tuple(dict.fromkeys(each)), len(columns)) for length, each in shown]
    return RowForms([*forms[:3], *narrow], by_row=True)


class _Look:
    """What one look at a column's cells says."""

    def __init__(self, column: Column) -> None:
        cells = [value for value in column.values if not is_missing(value)]
        texts = [value for value in cells if isinstance(value, str)]
        self.is_text = 2 * len(texts) > len(cells)
        written = texts if self.is_text else [str(value) for value in cells]
        values = set(written)
        self.name, self.rows, self.distinct = column.name, len(column.values), len(values)
        # A text that rows repeat is read once.
        self.different = sum(map(len, values))
        self.characters = sum(map(len, written))
        self.mean = self.characters / max(len(written), 1)
        self.has_words = 2 * sum(_WORDS.search(text) is not None for text in texts) > len(cells)
        self.is_address = 2 * sum(_ADDRESS.match(text) is not None for text in texts) > len(cells)
        is_measure = any(type(value) is float for value in cells)
        self.tells_apart = 10 * self.distinct >= 8 * self.rows
        # The words of a short text that are others in each row are a good title.
        said = {"".join(filter(str.isalpha, text)) for text in texts}
        may_be_title = self.has_words and not self.is_address and self.tells_apart and 5 * len(said) > len(texts)
        self.title = may_be_title / (1 + max(0.0, self.mean - 160))
        self.is_key = self.tells_apart and self.mean <= 16 and not (self.has_words or self.is_address or is_measure)  # noqa: PLR2004
        self.is_short = self.distinct > 1 and self.mean <= 24 and not self.is_address  # noqa: PLR2004
        self.divides = self.is_text and self.is_short and self.distinct <= max(2, self.rows // 3)


def shortened(cell: Any, limits: CellLimits, word: str = "", depth: int = 0) -> Any:
    """Returns a row, or at a greater depth a cell, with its long texts and lists cut, each with a mark that says so.

    The very same object if nothing is long. All columns of the row stay. A text is cut around `word` if it has it.
    """
    if isinstance(cell, str):
        return _text(cell, limits.characters, word)
    if not isinstance(cell, (Mapping, list, tuple)):
        return cell
    what, most = ("key", 4 * limits.entries) if isinstance(cell, Mapping) else ("item", limits.entries)
    if depth >= 6:  # noqa: PLR2004 - levels
        return f"… {counted(len(cell), what)}"
    most = most if depth else len(cell)
    left = len(cell) - most
    if isinstance(cell, Mapping):
        new = {key: shortened(item, limits, word, depth + 1) for key, item in islice(cell.items(), most)}
        if left > 0:
            return {**new, "…": counted(left, "more key")}
        return new if any(new[key] is not item for key, item in cell.items()) else cell
    entries = [shortened(item, limits, word, depth + 1) for item in cell[:most]]
    if left > 0:
        return [*entries, f"… {left} more"]
    return entries if any(one is not other for one, other in zip(entries, cell, strict=True)) else cell


def _text(text: str, most: int, word: str) -> str:
    start = max(0, text.find(word) + len(word) // 2 - most // 2) if word and text.find(word) > most // 2 else 0
    before, left_out = f"… {start} characters before …" if start else "", len(text) - start - most
    after = f"… {left_out} more characters" if left_out > 0 else ""
    short = f"{before}{text[start : start + most]}{after}"
    return short if len(short) < len(text) else text


def without_noise(value: Any) -> Any:
    """Returns a sum of floats as one would write it: 145140.86 for 145140.86000000002.

    Cells with a few decimals each are floats beside them. Their exact sum differs from the sum of what is written
    behind the fifteenth figure, so it is rounded there if that leaves some figures fewer.
    """
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    near = f"{value:.15g}"
    figures = near.partition("e")[0].replace(".", "").replace("-", "").strip("0")
    return float(near) if len(figures) <= 12 else value  # noqa: PLR2004 - digits


Facts = tuple[TableFacts, Mapping[int, Sequence[Odd]]]
"""The facts of a table, and its rows that are unlike the others, the oddest first."""


def facts_of(tables: Sequence[Table]) -> dict[str, Facts]:
    """Returns the facts of each table by its key, or nothing if they cannot be computed."""
    try:
        return {table.key: _facts(table) for table in tables}
    except Exception as exception:
        # The rows are capped all the same. The type only: a message may quote a cell.
        logger.warning("facts could not be computed: %s", type(exception).__name__)
        return {}


def _facts(table: Table) -> Facts:
    rows = table.rows
    facts = table_facts(rows, columns=table.columns)
    if table.around is not None:
        return facts, {}
    # If more than a tenth of the lines report trouble, trouble is not what is unusual.
    if 0 < 10 * len(alarms := alarming_rows(rows, most=len(rows) // 10 + 1)) <= len(rows):
        return facts, {row: [Odd(row, "alarm", log2(len(rows) / len(alarms)))] for row in alarms}
    numbers = {column.name for column in facts.columns if column.kind == "number"}
    odd = odd_rows(rows, table.columns, facts.outliers, numbers)
    apart = {*facts.total_rows, *facts.repeated_headers}
    return facts, {row: cells for row, cells in odd.items() if row not in apart}


def forms_of_facts(table: Table, facts: TableFacts, beside: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yields the forms in which the facts of a table may join its rows, the fullest first and always as many."""
    more = {"levels": level_counts(table.rows), "unread_rows": table.unread, **beside}
    more = {name: value for name, value in more.items() if value}
    sums = [
        f"{name}: " + ", ".join(f"{listed_value(value)} = {without_noise(plain(total))}" for value, total in by.items())
        for name, by in sums_by_value(table.rows, facts, columns=table.columns).items()
    ]
    # What is around it has facts of its own.
    facts = replace(facts, columns=tuple(each for each in facts.columns if each.name not in (table.around or ())))
    said = facts_as_text(facts) | more
    for count in (len(sums), 2, 1):
        yield said | ({"sums": "\n".join(sums[:count])} if sums else {})
    yield said
    yield facts_as_text(facts, others="few") | more
    first = {name: rows[:1] for name, rows in beside.items()}
    for most in (None, 12, 6, 3, 1):
        yield facts_as_text(facts, others=False, most=most) | more | (first if most else {})
    yield {"names": ", ".join(column.name for column in facts.columns), **first}


def beside_rows(said: Mapping[str, Any], table: Table, picked: Picked, form: RowForm) -> dict[str, Any]:
    """Returns facts without what rows say that are shown beside them: names of columns, and values if all rows are."""
    some = form.rows(table, dict(islice(picked.items(), 3)))
    seen = set(form.columns if picked else ())
    if some and (isinstance(some[0], Mapping) or is_record(type(some[0]))):
        seen |= {column.name for column in iter_columns(some)}
    names, notable = said.get("more_columns", "").split(", "), said.get("notable_rows", ())
    left = {
        "more_columns": ", ".join(name for name in names if name not in seen),
        "notable_rows": [cell for cell in notable if cell["row"] not in picked or cell.keys() - seen - {"row"}],
    }
    if "others" in said and len(picked) == len(table.rows):
        lines = said["others"].split("\n")
        left["others"] = "\n".join(line for line in lines if not any(line.startswith(f"{name}: ") for name in seen))
    return {name: value for name, value in ((name, left.get(name, said[name])) for name in said) if value}


_NUMBERS = ("column", "sum", "min", "max", "mean", "min_row", "max_row", "missing", "remark")


def rows_as_csv(rows: Sequence[Any], columns: Sequence[str] | None = None) -> str:
    """Returns rows as RFC 4180 CSV with a header. Lines end in a line feed, nested columns are dotted.

    About half the tokens of the same rows as JSON. Missing cells are empty, lists within a row are Python's text.
    """
    found = list(iter_columns(rows, columns))
    cells = zip(*(column.values for column in found), strict=True)
    return csv_text([[column.name for column in found], *(map(plain, row) for row in cells)]).rstrip("\n")


def facts_as_text(facts: TableFacts, *, others: bool | str = True, most: int | None = None) -> dict[str, Any]:
    """Returns facts in the fewest tokens: numbers as CSV, a line for each other column, and the names of the rest.

    At most `most` columns of numbers get their facts: those with outliers, then those of the largest sums. `others`
    says whether the others do, "few" those of few values.
    """
    numbers = [column for column in facts.columns if column.kind == "number"]
    if most is not None and len(numbers) > most:
        ranked = sorted(numbers, key=lambda column: (not column.outliers, -abs(as_float(column.total or 0) or 0)))
        numbers = [column for column in numbers if column in ranked[:most]]
    result: dict[str, Any] = {}
    # Amounts of several currencies have a line for each of them.
    if parts := [part for column in numbers for part in column.parts or (column,)]:
        # Each form of a figure, however short, states what limits it.
        lines: list[list[Any]] = [list(_NUMBERS), *map(_number_line, parts)]
        # What no column has to say is not said of any.
        columns = [each for each in zip(*lines, strict=True) if each[0] not in _NUMBERS[-2:] or any(each[1:])]
        result["numbers"] = csv_text(zip(*columns, strict=True)).rstrip("\n")
    if facts.rows_apart:
        result["rows_apart"] = facts.rows_apart
    shown = [each for each in facts.columns if others is True or each.parts or (others and has_few(each))]
    said = [(each.name, _said_of(each, facts.rows)) for each in shown if each.kind != "number" or each.parts]
    if any(line for _, line in said):
        result["others"] = "\n".join(f"{name}: {line}" for name, line in said if line)
    told = {column.name for column in numbers} | {name for name, line in said if line}
    if names := ", ".join(column.name for column in facts.columns if column.name not in told):
        result["more_columns"] = names
    return result


def _number_line(column: ColumnFacts) -> list[Any]:
    low, high = plain(column.minimum), plain(column.maximum)
    total, mean = without_noise(plain(column.total)), without_noise(with_decimals(column.mean, column.decimals))
    return [column.name, total, low, high, mean, column.min_row, column.max_row, column.missing, _remark(column)]


def _remark(column: ColumnFacts) -> str:
    parts = [f"in {column.unit}"] if column.unit else []
    if column.part_rows:
        parts.append(counted(column.part_rows, "row"))
    if column.not_numbers:
        parts.append(f"without {counted(column.not_numbers, 'non-number')}, such as {short_text(column.example)}")
    return "; ".join([*parts, *filter(None, [column.note])])


def _said_of(column: ColumnFacts, rows: int) -> str:
    """Returns what the values of a column say, or nothing if nearly each row has another one."""
    said = column.as_dict()
    parts = [" to ".join(map(str, dict.fromkeys((said["min"], said["max"]))))] if "min" in said else []
    counts = list(said.get("commonest", {}).items())
    if column.parts:
        # Amounts have figures of their own, beside which stands what is no amount.
        parts = [f"{part.minimum} to {part.maximum} {part.unit}" for part in column.parts if column.kind != "number"]
    elif counts and len(counts) == said["distinct"]:
        parts = [", ".join(f"{listed_value(value)} x{count}" for value, count in counts)]
    elif parts or 2 * said["distinct"] <= rows:
        parts[:0] = [f"{said['distinct']} distinct"]
        # A value that fewer rows have says nothing about a column.
        if counts and counts[0][1] >= 0.05 * rows:
            parts.append(f"most often {listed_value(counts[0][0])} x{counts[0][1]}")
    if column.missing:
        parts.append(f"{column.missing} missing")
    return ", ".join(filter(None, [*parts, _remark(column)]))


def listed_value(value: str) -> str:
    """Returns a value as it is listed among others: in quotes if its end is not plain, or if it has figures."""
    is_plain = value.strip() == value != "" and not any(sign in ',=\n"' or sign.isdigit() for sign in value)
    return value if is_plain else json_text(value)

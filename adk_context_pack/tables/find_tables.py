"""Finds the tables in a tool's result, wherever they are, and puts fewer rows in their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import is_
from typing import Any

from adk_context_pack._json import json_text
from adk_context_pack.tables.columns import as_record, as_records, frame_rows, free_name, is_record, iter_columns
from adk_context_pack.tables.failure import is_text
from adk_context_pack.tables.json_in_text import is_mcp, rows_of_blocks
from adk_context_pack.tables.row_forms import PlainRows, described, read_dict, read_rows
from adk_context_pack.tables.schema import ADDED, column_schema
from adk_context_pack.tables.tables_in_text import find_in_text, joined, rows_path, write_part

ReadMemo = dict[int, tuple[Any, Any]]
"""By the id of a text, list or dict: the object itself, which keeps the id taken, and what was read from it."""
_Visit = Callable[[str, Sequence[Any], Sequence[str] | None, int], Any]

SAME: Any = object()
"""A visit's answer for a table that stays as it is."""
REPEATED = "(rows: see structuredContent)"
"""The text that replaces rows which an MCP result repeats in its structured content."""

# Lists up to this long are looked into for tables within; a longer one is rows, and its length must cost nothing.
_MAX_OPENED = 100
_MEDIA = ("inline_data", "inlineData", "blob")
_LEAVES = frozenset({int, float, bool, type(None)})


class TableWalk:
    """One walk through a result. What `visit` returns takes a table's place, unless it is `SAME`."""

    def __init__(self, visit: _Visit, min_rows: int, memo: ReadMemo | None) -> None:
        self._visit, self._min_rows = visit, min_rows
        self._memo: ReadMemo = {} if memo is None else memo
        # The rows of each table, and what took their place.
        self._seen: dict[str, tuple[Sequence[Any], Any]] = {}
        self._taken: dict[str, int] = {}
        self._mirrors: frozenset[str] = frozenset()
        self._above: list[Mapping[Any, Any]] = []

    def walk(self, value: Any, keys: tuple[Any, ...] = ()) -> Any:
        """Returns `value`, or a copy with what the visits put in the place of its tables."""
        # Most of what is looked at is one of these, and asking for abstract types takes ten times as long.
        if type(value) in _LEAVES or len(keys) > 12:  # noqa: PLR2004 - levels
            return value
        if isinstance(value, str):
            return self._text(value, keys)
        if isinstance(value, Mapping):
            return self._mcp(value, keys) if is_mcp(value) else self._mapping(value, keys)
        if isinstance(value, (list, tuple)):
            return self._list(value, keys)
        return value if isinstance(value, type) else self._object(value, keys)

    def _once(self, value: Any, read: Callable[[], Any]) -> Any:
        # Nearly all dicts and lists are read as plain ones, which costs less than to remember it.
        if id(value) not in self._memo and (found := read()) is not None:
            self._memo[id(value)] = (value, found)
        return self._memo.get(id(value), (value, None))[1]

    def _text(self, text: str, keys: tuple[Any, ...]) -> Any:
        # A row takes two characters at least, and most texts in a result are far shorter than a table.
        if len(text) < max(2 * self._min_rows, 2):
            return text
        parts = self._once(text, lambda: find_in_text(text))
        values = [
            part if isinstance(part, str)
            else self.walk(part.value, keys) if part.form in {"json", "lines"}
            else self._table(part.value, keys, None, part.unread)
            for part in parts
        ]  # fmt: skip
        if all(map(is_, values, (part if isinstance(part, str) else part.value for part in parts))):
            return text
        new = [
            value if isinstance(part, str) else f"{value}\n" if isinstance(value, str) else write_part(part, value)
            for part, value in zip(parts, values, strict=True)
        ]
        return "".join(map(_as_text, new)) if len(new) != 1 else values[0] if isinstance(values[0], str) else new[0]

    def _mapping(self, value: Mapping[Any, Any], keys: tuple[Any, ...]) -> Any:
        form = self._once(value, lambda: read_dict(value, min_rows=self._min_rows))
        if form is not None:
            new = self._table(form.rows, keys)
            are_rows = isinstance(new, (list, tuple))
            return value if new is form.rows else form.write(list(new)) if are_rows else {"rows": new}
        self._above.append(value)
        changed = {}
        for key, item in value.items():
            path = (*keys, key)
            new = self._list(item, path, value) if isinstance(item, (list, tuple)) else self.walk(item, path)
            if new is not item:
                changed[key] = new
        self._above.pop()
        return {**value, **changed} if changed else value

    def _list(self, value: Sequence[Any], keys: tuple[Any, ...], around: Mapping[Any, Any] | None = None) -> Any:
        path = rows_path(value)
        read = partial(read_rows, value, around or {}, self._above)
        first = value[0] if value else None
        # Few rows may hold series of many points.
        are_many = len(value) >= self._min_rows or (type(first) is dict and list in map(type, first.values()))
        # What is remembered of pages are their rows.
        form = read() if path is not None else self._once(value, read) if value and are_many else None
        if path is not None and form is None and not _are_tables(value):
            return self._pages(value, path, keys)
        # Media leave a result by themselves. The ends tell them from rows; looking at all would cost by row.
        ends = (value[0], value[-1]) if value else ()
        are_media = any(isinstance(end, bytes) or any(hasattr(end, name) for name in _MEDIA) for end in ends)
        are_series = form is not None and len(form.rows) > len(value)
        if are_series or (len(value) >= self._min_rows and not are_media and not _wraps_rows(value, 0)):
            form = form or PlainRows(value)
            new = self._table(form.rows, keys, form.columns)
            return value if new is form.rows else form.write([*new]) if isinstance(new, (list, tuple)) else new
        if len(value) > _MAX_OPENED:
            return value
        new = [self.walk(item, (*keys, index)) for index, item in enumerate(value)]
        return value if all(map(is_, new, value)) else new

    def _pages(self, pages: Sequence[Any], path: Sequence[Any], keys: tuple[Any, ...]) -> Any:
        lists, around = list(pages), {}
        for key in path:
            around = lists[0]
            lists = [page[key] for page in lists if key in page]
        rows = self._once(pages, lambda: [row for page in lists for row in page])
        self._above.append(around)
        new = self._list(rows, (*keys, *path), around)
        self._above.pop()
        return pages if new == rows else [joined(pages, path, new)]

    def _table(self, rows: Sequence[Any], keys: tuple[Any, ...], names: Any = None, unread: int = 0) -> Any:
        if len(rows) < self._min_rows:
            return rows
        key = ".".join(map(str, keys)) or "result"
        for mirror in self._mirrors:
            there, answer = self._seen[mirror]
            if len(there) == len(rows) and (mirror == key or _cells(there[0]) == _cells(rows[0])):
                return rows if answer is SAME else REPEATED
        key = free_name(key, self._taken)
        new = self._visit(key, rows, names, unread)
        self._seen[key] = rows, new
        return rows if new is SAME else new

    def _object(self, value: Any, keys: tuple[Any, ...]) -> Any:
        inner = self._once(value, lambda: frame_rows(value))
        if inner is None and is_record(type(value)) and not any(hasattr(value, name) for name in _MEDIA):
            fields = dict(as_record(value))
            inner = fields["root"] if fields.keys() == {"root"} else fields
        if inner is None:
            return value
        new = self.walk(inner, keys)
        return value if new is inner else new

    def _mcp(self, value: Mapping[str, Any], keys: tuple[Any, ...]) -> Any:
        outside, structured = set(self._seen), value.get("structuredContent")
        new = {"structuredContent": self.walk(structured, keys)}
        # The protocol has servers repeat the structured content as JSON in a text block.
        # https://modelcontextprotocol.io/specification/2025-06-18/server/tools#structured-content
        self._mirrors = frozenset(self._seen.keys() - outside)
        new["content"] = self._blocks(value["content"], keys, structured)
        self._mirrors = frozenset()
        changed = {key: item for key, item in new.items() if item is not value.get(key)}
        return {**value, **changed} if changed else value

    def _blocks(self, blocks: Sequence[Any], keys: tuple[Any, ...], structured: Any) -> Any:
        rows = rows_of_blocks([block["text"] for block in blocks if is_text(block)], structured)
        if rows is None or len(rows) < self._min_rows:
            walked = [self.walk(block["text"], keys) if is_text(block) else None for block in blocks]
            new = [
                block if text is None or text is block["text"] else {**block, "text": _as_text(text)}
                for block, text in zip(blocks, walked, strict=True)
            ]
            return blocks if all(map(is_, new, blocks)) else new
        shown = self._table(rows, (*keys, "result") if structured is not None else keys)
        if shown is rows:
            return blocks
        at = next(at for at, block in enumerate(blocks) if is_text(block))
        said = map(_as_text, shown if isinstance(shown, (list, tuple)) else [shown])
        others = (block for block in blocks[at:] if not is_text(block))
        return [*blocks[:at], *({**blocks[at], "text": text} for text in said), *others]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def _wraps_rows(value: Sequence[Any], depth: int) -> bool:
    """Returns whether a list is one page or one result with rows of its own, or series that are longer than it."""
    match value:
        # What is said of a page stands before its rows, as the World Bank answers.
        case [Mapping(), [Mapping(), *_]]:
            return True
    if 0 < len(value) <= _MAX_OPENED and _are_tables(value):
        return True
    if len(value) != 1 or not isinstance(value[0], Mapping) or depth > 3:  # noqa: PLR2004 - levels
        return False
    inner = (item for item in value[0].values() if isinstance(item, list))
    return any((item[1:] and isinstance(item[0], (Mapping, list))) or _wraps_rows(item, depth + 1) for item in inner)


def _are_tables(value: Sequence[Any]) -> bool:
    """Returns whether each entry is a table of its own that is longer than the list."""
    return all(isinstance(each, Mapping) and read_dict(each, min_rows=len(value) + 3) for each in value)


def _cells(row: Any) -> Any:
    """Returns what two rows have alike that say the same, whether or not their cells are texts."""
    return list(map(str, row.values())) if isinstance(row, Mapping) else row


@dataclass(frozen=True, slots=True)
class Table:
    """One table in a result.

    Attributes:
        key: the place of the table: its key in the result (`rows`), dotted for a nested one (`data.rows`,
            `accounts.0.rows`), `result` for a bare list. JSON text and MCP's envelope add nothing to it. `_2` tells
            equal keys apart.
        rows: all rows, the result's own list or what was read from its text or envelope. Never write into them.
        columns: the names of the columns where rows are lists of values and the result names them, else None.
        unread: how many lines of a text could not be read as rows. They are not among the rows.
        around: the columns of a table within another one that are those of the rows around its own.
    """

    key: str
    rows: Sequence[Any]
    columns: Sequence[str] | None = None
    unread: int = 0
    around: Sequence[str] | None = None


def tables_within(table: Table) -> Iterator[Table]:
    """Yields the tables in the rows of another one, such as the lines of orders, under keys such as `orders.lines`."""
    # Beside its own cells each row has those of the row around it, but no amounts, which would be added up repeatedly.
    some = iter_columns(table.rows[:_MAX_OPENED], table.columns)
    columns = list(iter_columns(table.rows, table.columns)) if any(_holds_rows(each.values) for each in some) else []
    about = [each for each in columns if not each.types & {list, tuple} and column_schema(each).role not in ADDED]
    beside = list(zip(*(each.values for each in about), strict=True)) or [()] * len(table.rows)
    last, known = table.key.rpartition(".")[2], table.around or ()
    names = [each.name if each.name in known else f"{last}.{each.name}" for each in about]
    for held in (each for each in columns if _holds_rows(each.values)):
        inner = zip(beside, map(_records, held.values), strict=True)
        rows = [{**dict(zip(names, cells, strict=True)), **row} for cells, lines in inner for row in lines]
        if rows:
            yield (found := Table(f"{table.key}.{held.name}", rows, around=names))
            yield from tables_within(found)


def _records(cells: Sequence[Any] | None) -> Sequence[Any]:
    if not cells or isinstance(cells[0], dict):
        return cells or ()
    # Without names such lists are coordinates or vectors.
    form = read_rows(cells, {})
    return as_records(form.rows, form.columns) if form else ()


def _holds_rows(cells: Sequence[Any]) -> bool:
    """Returns whether the cells of a column are lists of rows of one kind, empty ones or missing."""
    kinds = {type(row) for rows in cells if type(rows) is list for row in rows}
    return kinds in ({dict}, {list}) and set(map(type, cells)) <= {list, type(None)}


def find_tables(value: Any, *, min_rows: int = 1, memo: ReadMemo | None = None) -> list[Table]:
    """Returns the tables in `value`, in their order there.

    Finds lists of dicts, models, lists of values and scalars, in dicts and lists of any depth up to 12, in pydantic
    models, in MCP results, and in texts: JSON, XML, what Python prints, lines of these, CSV, Markdown, HTML, drawn
    tables and records with a name before each cell, alone, in a code fence or between words. Reads the envelopes of
    GA4, BigQuery, Athena, CloudWatch, DynamoDB, Elasticsearch and GraphQL, Google Sheets' values with their header,
    dicts of lists and of columns, and frames of pandas, polars and pyarrow. Pages of rows are one table, and so are
    rows that an MCP result has both in `structuredContent` and in a text.

    The time does not depend on the number of rows, except where a text, an envelope or a frame is read.

    Args:
        value: what a tool returned. It is only read.
        min_rows: a list with fewer entries is not a table. Its content is looked at instead.
        memo: a dict of the caller's, passed to `replace_rows` as well, so that a text is read once.
    """
    found: list[Table] = []

    def collect(*table: Any) -> Any:
        found.append(Table(*table))
        return SAME

    TableWalk(collect, min_rows, memo).walk(value)
    # There may be thousands of tables, with few lists of columns among them.
    known = Counter(map(_columns, found))
    most = max(map(len, known), default=0)
    return [table for table in found if len(table.rows) > most or not _describes(table, known)]


def replace_rows(value: Any, rows: Mapping[str, Any], *, min_rows: int = 1, memo: ReadMemo | None = None) -> Any:
    """Returns `value` with other rows in place of some tables.

    New containers are built along the way to those tables. Everything else stays the very same object, and `value`
    and its rows are not written into. CSV, JSON and JSON lines keep their form, other tables in texts become
    CSV, a service's envelopes become plain rows. A pydantic model on the way becomes a dict of its fields. Rows that
    an MCP result repeats in a text are put in `structuredContent` alone.

    `rows` has, by the key of a table, the rows that take their place (a list), or any value, such as a text. All else
    has to be as for `find_tables`, since keys depend on which tables there are.
    """

    def replace(key: str, *_: Any) -> Any:
        shown = rows.get(key, SAME)
        return [_plain_row(row) for row in shown] if isinstance(shown, (list, tuple)) else shown

    return TableWalk(replace, min_rows, memo).walk(value)


def _columns(table: Table) -> frozenset[Any]:
    row = table.rows[0] if table.rows else ()
    return frozenset(table.columns or (row if isinstance(row, Mapping) else ()))


def _describes(table: Table, known: Mapping[frozenset[Any], int]) -> bool:
    """Returns whether a table lists the columns of another one, of which so many are known, with their types."""
    names, own, count = set(described(table.rows) or ()), _columns(table), len(table.rows)
    return bool(names) and any(
        count <= len(columns) and names <= columns and (times > 1 or columns != own) for columns, times in known.items()
    )


def _plain_row(row: Any) -> Any:
    if not is_record(type(row)):
        return row
    dump = getattr(row, "model_dump", None)
    return dump(mode="json") if dump else dict(as_record(row))

"""The tables in a tool's result, wherever they are, and the way to put fewer rows in their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adk_context_pack._json import json_text
from adk_context_pack.tables.columns import as_record, is_record
from adk_context_pack.tables.shapes import fits, header_of, is_mcp, is_text, rows_of_blocks, with_rows
from adk_context_pack.tables.text_tables import TextTable, read_text

_MAX_DEPTH = 12
# Lists up to this long are looked into for tables within; a longer one is rows, and its length must cost nothing.
_MAX_OPENED = 100
_MEDIA = ("inline_data", "inlineData", "blob")
_LEAVES = frozenset({int, float, bool, type(None)})
_SAME: Any = object()

Memo = dict[int, tuple[str, TextTable | None]]
_Visit = Callable[[str, Sequence[Any], Sequence[str] | None], Any]


@dataclass(frozen=True, slots=True)
class Table:
    """One table in a result.

    Attributes:
        key: where it stands: its key in the result (`rows`), dotted for a nested one (`data.rows`, `accounts.0.rows`),
            `result` for a bare list. JSON text and MCP's envelope add nothing to it. `_2` tells equal keys apart.
        rows: all rows, the result's own list or what was read from its text: read them, never write into them.
        columns: the names of the columns where rows are lists of values and the result names them, else None.
    """

    key: str
    rows: Sequence[Any]
    columns: Sequence[str] | None = None


def find_tables(value: Any, *, min_rows: int = 1, memo: Memo | None = None) -> list[Table]:
    """The tables in `value`, in the order in which they stand there.

    Finds lists of dicts, models, lists of values and scalars, in dicts and lists of any depth up to 12, in pydantic
    models, in JSON, JSON lines and CSV within texts, and in MCP results, where the same rows in `structuredContent`
    and in the text are one table. The time does not depend on the number of rows, except where a text is read.

    Args:
        value: what a tool returned; only read.
        min_rows: lists with fewer entries are no tables; what is in them is looked at instead.
        memo: a dict of the caller's, passed to `replace_rows` as well, so that a text is read once.
    """
    found: list[Table] = []

    def collect(key: str, rows: Sequence[Any], columns: Sequence[str] | None) -> Any:
        found.append(Table(key, rows, columns))
        return _SAME

    _Walk(collect, min_rows, memo).start(value)
    return found


def replace_rows(value: Any, rows: Mapping[str, Any], *, min_rows: int = 1, memo: Memo | None = None) -> Any:
    """`value` with other rows in place of some tables.

    New containers are built along the way to those tables; everything else stays the very same object, and `value`
    and its rows are not written into. A text keeps its form. A pydantic model on the way becomes a dict of its fields.

    Args:
        value: what `find_tables` was called with.
        rows: by the key of a table, the rows that take their place (a list), or any value, such as a text.
        min_rows: as for `find_tables`, since keys depend on which tables there are.
        memo: as for `find_tables`.
    """

    def replace(key: str, _: Sequence[Any], __: Sequence[str] | None) -> Any:
        shown = rows.get(key, _SAME)
        return [_plain_row(row) for row in shown] if isinstance(shown, (list, tuple)) else shown

    return _Walk(replace, min_rows, memo).start(value)


class _Walk:
    """One walk through a result; what `visit` returns takes a table's place, unless it is `_SAME`."""

    def __init__(self, visit: _Visit, min_rows: int, memo: Memo | None) -> None:
        self._visit = visit
        self._min_rows = min_rows
        self._memo: Memo = {} if memo is None else memo
        self._sizes: dict[str, int] = {}
        self._answers: dict[str, Any] = {}
        self._mirrors: frozenset[str] = frozenset()

    def start(self, value: Any) -> Any:
        return self._value(value, ())

    def _value(self, value: Any, keys: tuple[Any, ...]) -> Any:
        # Most of what is looked at is one of these, and asking for abstract types takes ten times as long.
        if type(value) in _LEAVES or len(keys) > _MAX_DEPTH:
            return value
        if isinstance(value, str):
            return self._text(value, keys)
        if isinstance(value, Mapping):
            return self._mcp(value, keys) if is_mcp(value) else self._mapping(value, keys)
        if isinstance(value, (list, tuple)):
            return self._list(value, keys)
        return self._model(value, keys) if is_record(type(value)) and not isinstance(value, type) else value

    def _text(self, text: str, keys: tuple[Any, ...]) -> Any:
        # A row takes two characters at least, and most texts in a result are far shorter than a table.
        if len(text) < max(2 * self._min_rows, 2):
            return text
        if id(text) not in self._memo:
            self._memo[id(text)] = (text, read_text(text))
        read = self._memo[id(text)][1]
        if read is None:
            return text
        document = read.form == "json"
        new = self._value(read.value, keys) if document else self._table(read.value, keys, None)
        return text if new is read.value else read.write(new)

    def _mapping(self, value: Mapping[Any, Any], keys: tuple[Any, ...]) -> Any:
        changed = {}
        header, names = header_of(value)
        for key, item in value.items():
            if key == header:
                continue
            path = (*keys, key)
            new = self._list(item, path, names) if isinstance(item, (list, tuple)) else self._value(item, path)
            if new is not item:
                changed[key] = new
        return {**value, **changed} if changed else value

    def _list(self, value: Sequence[Any], keys: tuple[Any, ...], names: Sequence[str] | None = None) -> Any:
        if len(value) >= self._min_rows and _holds_rows(value):
            return self._table(value, keys, names if names and fits(value, names) else None)
        if len(value) > _MAX_OPENED:
            return value
        new = [self._value(item, (*keys, index)) for index, item in enumerate(value)]
        return value if all(one is other for one, other in zip(new, value, strict=True)) else new

    def _table(self, rows: Sequence[Any], keys: tuple[Any, ...], names: Sequence[str] | None) -> Any:
        if len(rows) < self._min_rows:
            return rows
        key = ".".join(map(str, keys)) or "result"
        if key in self._mirrors and self._sizes[key] == len(rows):
            new = self._answers[key]
        else:
            key = self._free(key)
            self._sizes[key] = len(rows)
            new = self._answers[key] = self._visit(key, rows, names)
        return rows if new is _SAME else new

    def _free(self, key: str) -> str:
        number, name = 1, key
        while name in self._sizes:
            number += 1
            name = f"{key}_{number}"
        return name

    def _model(self, value: Any, keys: tuple[Any, ...]) -> Any:
        if any(hasattr(value, name) for name in _MEDIA):
            return value
        fields = dict(as_record(value))
        if fields.keys() == {"root"}:
            new = self._value(fields["root"], keys)
            return value if new is fields["root"] else new
        new = self._value(fields, keys)
        return value if new is fields else new

    def _mcp(self, value: Mapping[str, Any], keys: tuple[Any, ...]) -> Any:
        changed = {}
        outside = set(self._sizes)
        structured = value.get("structuredContent")
        new = self._value(structured, keys)
        if new is not structured:
            changed["structuredContent"] = new
        # The protocol has servers repeat the structured content as JSON in a text block.
        # https://modelcontextprotocol.io/specification/2025-06-18/server/tools#structured-content
        self._mirrors = frozenset(self._sizes.keys() - outside)
        blocks = value["content"]
        new = self._blocks(blocks, keys, structured)
        self._mirrors = frozenset()
        if new is not blocks:
            changed["content"] = new
        return {**value, **changed} if changed else value

    def _blocks(self, blocks: Sequence[Any], keys: tuple[Any, ...], structured: Any) -> Any:
        texts = [block["text"] for block in blocks if is_text(block)]
        rows = rows_of_blocks(texts, structured)
        if rows is None or len(rows) < self._min_rows:
            new = [self._block(block, keys) for block in blocks]
            return blocks if all(one is other for one, other in zip(new, blocks, strict=True)) else new
        shown = self._table(rows, (*keys, "result") if structured is not None else keys, None)
        return blocks if shown is rows else list(with_rows(blocks, shown))

    def _block(self, block: Any, keys: tuple[Any, ...]) -> Any:
        if not is_text(block):
            return block
        new = self._value(block["text"], keys)
        return block if new is block["text"] else {**block, "text": new if isinstance(new, str) else json_text(new)}


def _holds_rows(value: Sequence[Any]) -> bool:
    # Media leave a result by themselves. The ends tell them from rows; looking at all would cost by row.
    ends = (value[0], value[-1]) if value else ()
    return not any(isinstance(end, bytes) or any(hasattr(end, name) for name in _MEDIA) for end in ends)


def _plain_row(row: Any) -> Any:
    if not is_record(type(row)):
        return row
    dump = getattr(row, "model_dump", None)
    return dump(mode="json") if dump else dict(as_record(row))

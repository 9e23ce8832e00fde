"""Packs rows for session state: their keys once, their values column by column, compressed by LZMA.

Neighbours in a column resemble each other more than neighbours in a row, so that the text is shorter than that of the
same rows by zlib. ADK stores it twice, with the event and in the session's state. The price is the time of packing,
once for each result. `python -m tests.benchmarks.bench_session_size` shows size and time.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from adk_context_pack.errors import StoreError
from adk_context_pack.stores.codec import decompress, sized
from adk_context_pack.stores.json_parts import loads

try:
    import lzma
except ImportError:  # pragma: no cover - some Pythons are built without it
    lzma = None  # type: ignore[assignment]

_MIN_BYTES: Final = 4_096
# The parser holds the interpreter's lock for as long as it reads the columns.
_MAX_BYTES: Final = 2_000_000
_MIN_ROWS = 8
_MAX_SHAPES = 16
_DICTIONARY: Final = 1 << 20
_PRESET = 1


def pack_rows(data: bytes) -> str | None:
    """Returns a result as text for session state, or None if its rows would gain nothing or are too many.

    Returns:
        The length of the packed JSON in bytes, a colon, and LZMA2 without a header in base64.
    """
    if lzma is None or not _MIN_BYTES <= len(data) <= _MAX_BYTES or b"[{" not in data:
        return None
    packer = _Packer()
    node = packer.node(loads(data.decode()), depth=8)
    # Texts may hold half a pair of surrogates, which JSON can escape and UTF-8 has no form for.
    packed = json.dumps(node, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass")
    if not packer.tables or len(packed) >= len(data):
        return None
    filters = [{"id": lzma.FILTER_LZMA2, "preset": _PRESET, "dict_size": min(_DICTIONARY, max(4_096, len(packed)))}]
    return f"{len(packed)}:{base64.b64encode(lzma.compress(packed, lzma.FORMAT_RAW, filters=filters)).decode()}"


def unpack_rows(text: object) -> Any:
    """Returns the result that `pack_rows` made into text: what `decode` returns of the same bytes.

    Raises:
        StoreError: the text is damaged, or this Python was built without LZMA.
    """
    if lzma is None:  # pragma: no cover - some Pythons are built without it
        raise StoreError("the stored result cannot be read, since this Python has no lzma module; call its tool again")
    size, packed = sized(text, _MAX_BYTES)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": _PRESET, "dict_size": _DICTIONARY}]
    data = decompress(packed, size, lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters))
    try:
        return _value(json.loads(data.decode(errors="surrogatepass")))
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError, StopIteration) as error:
        raise StoreError(f"the stored result is damaged ({type(error).__name__}); call its tool again") from error


class _Packer:
    """Turns a value into nodes, and counts the tables in it.

    A node is `[value]` for a value as it is, a dict of nodes for a dict, and `[order, [keys, nodes], …]` for rows: the
    columns of each set of keys, and for each row the number of its set (None if there is one set only).
    """

    def __init__(self) -> None:
        self.tables = 0

    def node(self, value: Any, depth: int) -> Any:
        """Returns the node of a value."""
        if isinstance(value, dict) and depth:
            return {key: self.node(item, depth - 1) for key, item in value.items()}
        if isinstance(value, list) and depth and (shapes := _shapes(value)):
            self.tables += 1
            return self._table(value, shapes, depth - 1)
        return [value]

    def _table(self, rows: list[dict[str, Any]], shapes: Mapping[tuple[str, ...], int], depth: int) -> list[Any]:
        order = [shapes[tuple(row)] for row in rows] if len(shapes) > 1 else None
        columns = []
        for keys, number in shapes.items():
            own = rows if order is None else [row for row, each in zip(rows, order, strict=True) if each == number]
            columns.append([keys, [self.node([row[key] for row in own], depth) for key in keys]])
        return [order, *columns]


def _shapes(rows: list[Any]) -> dict[tuple[str, ...], int]:
    """Returns the sets of keys of rows, numbered. Empty for few rows, rows of too many kinds, and other values."""
    shapes: dict[tuple[str, ...], int] = {}
    for row in rows if len(rows) >= _MIN_ROWS else ():
        if not isinstance(row, dict) or not row or len(shapes) > _MAX_SHAPES:
            return {}
        shapes.setdefault(tuple(row), len(shapes))
    return shapes


def _value(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _value(item) for key, item in node.items()}
    if not isinstance(node, list):
        raise TypeError("a node that is neither a dict nor a list")
    if len(node) == 1:
        return node[0]
    order, *shapes = node
    rows = ((keys, zip(*map(_value, columns), strict=True)) for keys, columns in shapes)
    sets = [[dict(zip(keys, values, strict=True)) for values in every] for keys, every in rows]
    if order is None:
        return sets[0]
    found = [iter(rows) for rows in sets]
    return [next(found[number]) for number in order]

"""Full results as JSON: exact, written in pieces that let other threads run, and small where state keeps them."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from pydantic_core import from_json, to_json

from adk_context_pack._json import exact_json, read_json
from adk_context_pack.errors import P, StoreError

# One call of the C encoder holds the interpreter's lock until it returns.
_AT_ONCE: dict[type, int] = {str: 1_000_000, list: 1_000, dict: 1_000}
"""The characters and items that are written at once."""


def dumps(value: Any, write: Callable[[Any], str]) -> str:
    """Returns what `write` returns, and lets other threads run while it writes a long text, list or object."""
    return "".join(parts(value, write))


def parts(value: Any, write: Callable[[Any], str], depth: int = 8) -> Iterator[str]:
    """Yields the text of `dumps` in parts, since joining a long text also keeps other threads waiting."""
    has_long = type(value) is dict and depth and any(map(_is_long, value.values()))
    if not (has_long or _is_long(value)) or (type(value) is dict and not all(type(key) is str for key in value)):
        yield write(value)
    elif has_long:
        for number, (key, item) in enumerate(value.items()):
            yield f"{',' if number else '{'}{write(key)}:"
            yield from parts(item, write, depth - 1)
        yield "}"
    elif type(value) is dict:
        items, most = iter(value.items()), _AT_ONCE[dict]
        yield from _enclosed("{}", ",", map(write, iter(lambda: dict(islice(items, most)), {})))
    else:
        (marks, separator), most = ('""', "") if type(value) is str else ("[]", ","), _AT_ONCE[type(value)]
        steps = range(0, len(value), most)
        yield from _enclosed(marks, separator, (write(value[at : at + most]) for at in steps))


def _enclosed(marks: str, separator: str, written: Iterable[str]) -> Iterator[str]:
    """Yields parts that were written as texts, lists or objects of their own as those of a single one."""
    yield marks[0]
    for number, part in enumerate(written):
        if number and separator:
            yield separator
        yield part[1:-1]
    yield marks[1]


def _is_long(value: Any) -> bool:
    return len(value) > _AT_ONCE[type(value)] if type(value) in _AT_ONCE else False


_BYTES_A_MEMBER = 64


class Encoded(NamedTuple):
    """A result as JSON in UTF-8, and whether JSON could hold every value as it was."""

    data: bytes
    plain: bool


def encode(value: Any) -> Encoded:
    """Returns `value` as compact JSON in the spelling of `exact_json`, or raises a `StoreError` if it has no form."""
    odd: list[type] = []
    try:
        written = parts(value, lambda part: exact_json(part, on_odd=lambda found: odd.append(type(found))))
        # Python lets other threads run while it joins bytes, and not while it joins texts. Half a pair of surrogates,
        # for which UTF-8 has no form, is written as JSON escapes it.
        return Encoded(b"".join(part.encode(errors="backslashreplace") for part in written), not odd)
    except Exception as error:
        # A model or a sequence of the user's own may fail in any way, and its message may quote the result.
        raise StoreError(f"it has no JSON form ({type(error).__name__})") from error


def decode(data: bytes | str) -> Any:
    """Returns what `encode` made into bytes, or raises a `StoreError` for data that are not JSON."""
    try:
        return read_json(data if isinstance(data, str) else data.decode())
    except (ValueError, RecursionError, AttributeError) as error:
        raise StoreError(f"the stored result is damaged ({type(error).__name__}); call its tool again") from error


def compress(data: bytes) -> str:
    """Returns bytes as text for session state: zlib (RFC 1950) in base64, which every database takes as it is."""
    return base64.b64encode(zlib.compress(data)).decode()


def sized(text: object, max_bytes: int = 999_999_999) -> tuple[int, str]:
    """Returns the length in bytes that a stored text begins with, and what follows its colon."""
    # A forged entry may claim any length. One that is missing or above `max_bytes` is a `StoreError`.
    length, _, rest = str(text).partition(":")
    if not length.isdecimal() or len(length) > len(str(max_bytes)) or int(length) > max_bytes:
        raise StoreError("the stored result is damaged (its length is missing or too large); call its tool again")
    return int(length), rest


def decompress(text: str, size: int, unpacker: Any = None) -> bytes:
    """Returns the `size` bytes that `compress` made into text, or raises a `StoreError`. It unpacks no more of them."""
    try:
        data: bytes = (unpacker or zlib.decompressobj()).decompress(base64.b64decode(text, validate=True), size + 1)
    except Exception as error:
        raise StoreError(f"the stored result is damaged ({type(error).__name__}); call its tool again") from error
    if len(data) != size:
        raise StoreError("the stored result is damaged (its length); call its tool again")
    return data


def rough_size(value: Any, depth: int = 3) -> int:
    """Returns a rough number of bytes of `value` as JSON, from its texts and lengths near the top, in a short time."""
    if isinstance(value, str | bytes):
        return len(value)
    if not isinstance(value, dict | list | tuple):
        return _BYTES_A_MEMBER
    few = len(value) <= _BYTES_A_MEMBER
    if depth and few:
        return sum(rough_size(item, depth - 1) for item in (value.values() if isinstance(value, dict) else value))
    # Rows have some eight cells.
    return 8 * _BYTES_A_MEMBER * len(value)


def survives_as_state(value: Any, encoded: Encoded) -> bool:
    """Returns whether every session service keeps `value` as it is."""
    data, odd = encoded.data, list[str]()
    # PostgreSQL's JSONB refuses NUL and NaN and makes 1e+16 an integer and -0.0 a plain zero. ADK writes NaN as null,
    # and what it cannot serialise ends the run. The marks may stand in texts as well.
    if any(mark in data for mark in (b"NaN", b"Infinity", b"e+", b"-0.0,", b"-0.0]", b"-0.0}")):
        json.loads(data, parse_constant=odd.append, parse_float=odd.append)
    is_odd = any("+" in text or text in ("-0.0", "NaN", "Infinity", "-Infinity") for text in odd)
    if not encoded.plain or b"\\u0000" in data or is_odd:
        return False
    try:
        # Redis and MongoDB read events by pydantic, to a depth of 200, some of which are the event's own.
        from_json(b"[" * 8 + to_json(value) + b"]" * 8)
    except ValueError:
        return False
    return True


T = TypeVar("T")

OFF_LOOP_BYTES = 65_536
"""Work over fewer bytes stays on the event loop, where it takes less time than a change of threads."""

# One for each process: threads die in a fork, and work given to those of the parent would never end.
# asyncio's default executor also resolves host names, so that work of ours in it could hold up every connection.
# Large work has one thread, and small work another, so that a small result never waits for large ones.
_threads = lru_cache(maxsize=2)(lambda *_: ThreadPoolExecutor(max_workers=1, thread_name_prefix="adk_context_pack"))


async def off_loop(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Returns `work(*args, **kwargs)`, run in a thread if it is long.

    The caller can be cancelled at once. Work that has begun then ends by itself, and its result is dropped. The rough
    size is in bytes or characters. Large work is done one after the other, and small work beside it.
    """
    if size < OFF_LOOP_BYTES:
        return work(*args, **kwargs)
    context, threads = copy_context(), _threads(os.getpid(), size > 16 * OFF_LOOP_BYTES)
    return await asyncio.get_running_loop().run_in_executor(threads, lambda: context.run(work, *args, **kwargs))


try:
    import lzma
except ImportError:  # pragma: no cover - some Pythons are built without it
    lzma = None  # type: ignore[assignment]

# The parser holds the interpreter's lock for as long as it reads the columns.
_MAX_BYTES: Final = 2_000_000
_DICTIONARY: Final = 1 << 20


def pack_rows(data: bytes) -> str | None:
    """Returns a result as text for session state, or None if its rows would gain nothing or are too many.

    The text is the length of the packed JSON in bytes, a colon, and LZMA2 without a header in base64.
    """
    if lzma is None or len(data) < 4_096 or len(data) > _MAX_BYTES or b"[{" not in data:  # noqa: PLR2004
        return None
    tables: list[int] = []
    node = _node(read_json(data.decode()), 8, tables)
    # Texts may hold half a pair of surrogates, which JSON can escape and UTF-8 has no form for.
    packed = json.dumps(node, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass")
    if not tables or len(packed) >= len(data):
        return None
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": min(_DICTIONARY, max(4_096, len(packed)))}]
    return f"{len(packed)}:{base64.b64encode(lzma.compress(packed, lzma.FORMAT_RAW, filters=filters)).decode()}"


def unpack_rows(text: object) -> Any:
    """Returns the result that `pack_rows` made into text: what `decode` returns of the same bytes."""
    if lzma is None:  # pragma: no cover - some Pythons are built without it
        raise StoreError("the stored result cannot be read, since this Python has no lzma module; call its tool again")
    size, packed = sized(text, _MAX_BYTES)
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": _DICTIONARY}]
    data = decompress(packed, size, lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters))
    try:
        return _value(json.loads(data.decode(errors="surrogatepass")))
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError, StopIteration) as error:
        raise StoreError(f"the stored result is damaged ({type(error).__name__}); call its tool again") from error


def _node(value: Any, depth: int, tables: list[int]) -> Any:
    """Returns the node of a value, and adds the number of rows of each table in it to `tables`.

    A node is `[value]` for a value as it is, a dict of nodes for a dict, and `[order, [keys, nodes], …]` for rows: the
    columns of each set of keys, and for each row the number of its set (None if there is one set only).
    """
    if isinstance(value, dict) and depth:
        return {key: _node(item, depth - 1, tables) for key, item in value.items()}
    if not (isinstance(value, list) and depth and (shapes := _shapes(value))):
        return [value]
    tables.append(len(value))
    order = [shapes[tuple(row)] for row in value] if len(shapes) > 1 else None
    columns = []
    for keys, number in shapes.items():
        own = value if order is None else [row for row, each in zip(value, order, strict=True) if each == number]
        columns.append([keys, [_node([row[key] for row in own], depth - 1, tables) for key in keys]])
    return [order, *columns]


def _shapes(rows: list[Any]) -> dict[tuple[str, ...], int]:
    """Returns the sets of keys of rows, numbered. Empty for few rows, rows of too many kinds, and other values."""
    shapes: dict[tuple[str, ...], int] = {}
    for row in rows if len(rows) > 7 else ():  # noqa: PLR2004 - rows
        if not isinstance(row, dict) or not row or len(shapes) > 16:  # noqa: PLR2004 - sets of keys
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

"""Full results as JSON: exact, written in pieces that let other threads run, and small where state keeps them."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache
from typing import Any, NamedTuple, ParamSpec, TypeVar

from pydantic_core import from_json, to_json

from adk_context_pack._json import exact_json, without_surrogates
from adk_context_pack.errors import StoreError
from adk_context_pack.stores.json_parts import loads, parts

_BYTES_A_MEMBER = 64


class Encoded(NamedTuple):
    """A result as JSON.

    Attributes:
        data: the JSON, in UTF-8.
        plain: whether JSON could hold every value as it was.
    """

    data: bytes
    plain: bool


def encode(value: Any) -> Encoded:
    """Returns `value` as compact JSON in the spelling of `exact_json`.

    Raises:
        StoreError: the value holds something that has no JSON form, or is nested too deep for one.
    """
    odd: list[type] = []
    try:
        written = parts(value, lambda part: exact_json(part, on_odd=lambda found: odd.append(type(found))))
        # Python lets other threads run while it joins bytes, and not while it joins texts.
        return Encoded(b"".join(map(_utf8, written)), not odd)
    except Exception as error:
        # A model or a sequence of the user's own may fail in any way, and its message may quote the result.
        raise StoreError.of("form", type(error).__name__) from error


def decode(data: bytes | str) -> Any:
    """Returns what `encode` made into bytes.

    Raises:
        StoreError: the data are not JSON.
    """
    try:
        return loads(data if isinstance(data, str) else data.decode())
    except (ValueError, RecursionError, AttributeError) as error:
        raise StoreError(f"the stored result is damaged ({type(error).__name__}); call its tool again") from error


def compress(data: bytes) -> str:
    """Returns bytes as text for session state: zlib (RFC 1950) in base64, which every database takes as it is."""
    return base64.b64encode(zlib.compress(data)).decode()


def sized(text: object, max_bytes: int = 999_999_999) -> tuple[int, str]:
    """Returns the length in bytes that a stored text begins with, and what follows its colon.

    Raises:
        StoreError: the length is missing or above `max_bytes`. A forged entry may claim any.
    """
    length, _, rest = str(text).partition(":")
    if not length.isdecimal() or len(length) > len(str(max_bytes)) or int(length) > max_bytes:
        raise StoreError("the stored result is damaged (its length is missing or too large); call its tool again")
    return int(length), rest


def decompress(text: str, size: int, unpacker: Any = None) -> bytes:
    """Returns the bytes that `compress` made into text.

    Args:
        text: what `compress` gave.
        size: how many bytes there are. Never more are unpacked, whatever the text holds.
        unpacker: what unpacks bytes of another form than zlib's.

    Raises:
        StoreError: the text is damaged or holds another number of bytes.
    """
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
    data = encoded.data
    # PostgreSQL's JSONB refuses NUL and NaN and makes 1e+16 an integer and -0.0 a plain zero. ADK writes NaN as null,
    # and what it cannot serialise ends the run.
    if not encoded.plain or b"\\u0000" in data or _has_odd_numbers(data):
        return False
    try:
        # Redis and MongoDB read events by pydantic, to a depth of 200, some of which are the event's own.
        from_json(b"[" * 8 + to_json(value) + b"]" * 8)
    except ValueError:
        return False
    return True


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return without_surrogates(text).encode()


def _has_odd_numbers(data: bytes) -> bool:
    odd: list[str] = []
    # The marks may stand in texts as well.
    if any(mark in data for mark in (b"NaN", b"Infinity", b"e+", b"-0.0,", b"-0.0]", b"-0.0}")):
        json.loads(data, parse_constant=odd.append, parse_float=odd.append)
    return any("+" in text or text in ("-0.0", "NaN", "Infinity", "-Infinity") for text in odd)


P = ParamSpec("P")
T = TypeVar("T")

OFF_LOOP_BYTES = 65_536
"""Work over fewer bytes stays on the event loop, where it takes less time than a change of threads."""
OFF_LOOP_EVENTS = 256
"""The same for work over events or contents."""

# One for each process: threads die in a fork, and work given to those of the parent would never end.
# asyncio's default executor also resolves host names, so that work of ours in it could hold up every connection.
# Large work has one thread, and small work another, so that a small result never waits for large ones.
_threads = lru_cache(maxsize=2)(lambda *_: ThreadPoolExecutor(max_workers=1, thread_name_prefix="adk_context_pack"))


async def off_loop(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Returns `work(*args, **kwargs)`, run in a thread if it is long.

    The caller can be cancelled at once. Work that has begun then ends by itself, and its result is dropped.

    Args:
        size: bytes, or characters, that the work goes over. A rough figure is enough. Large work is done one after the
            other, and small work beside it.
        work: a function that touches nothing of the event loop.
        args: its arguments.
        kwargs: its arguments by name.
    """
    if size < OFF_LOOP_BYTES:
        return work(*args, **kwargs)
    context = copy_context()
    return await asyncio.get_running_loop().run_in_executor(
        _threads(os.getpid(), size > 16 * OFF_LOOP_BYTES), lambda: context.run(work, *args, **kwargs)
    )

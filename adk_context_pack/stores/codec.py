"""Full results as JSON text, exact for everything that JSON can hold and settled for what it cannot."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, NamedTuple
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json

from adk_context_pack.errors import StoreError

_ODD_NUMBERS = (b"NaN", b"Infinity", b"e+", b"-0.0,", b"-0.0]", b"-0.0}")


class Encoded(NamedTuple):
    """A result as JSON.

    Attributes:
        data: the JSON, in UTF-8.
        plain: whether nothing had to be settled: JSON could hold every value as it was.
    """

    data: bytes
    plain: bool


def encode(value: Any) -> Encoded:
    """`value` as compact JSON; NaN and infinities as the words that Python's `json` reads back.

    Tuples and sets become lists, pydantic models and dataclasses objects, `Decimal`, dates and UUIDs their text, bytes
    base64 text.

    Raises:
        StoreError: the value holds something that has no JSON form, or is nested too deep for one.
    """
    settled: list[type] = []

    def settle(odd: Any) -> Any:
        settled.append(type(odd))
        return _plain(odd)

    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=settle)
        data = text.encode() if _is_utf8(text) else json.dumps(value, separators=(",", ":"), default=_plain).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"the result has no JSON form ({type(error).__name__})") from error
    return Encoded(data, not settled)


def decode(data: bytes | str) -> Any:
    """What `encode` made into bytes.

    Raises:
        StoreError: no JSON.
    """
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"the stored result cannot be read ({type(error).__name__})") from error


def survives_as_state(value: Any, encoded: Encoded) -> bool:
    """Whether every session service keeps `value` as it is.

    Args:
        value: a result.
        encoded: what `encode` made of it.
    """
    data = encoded.data
    # PostgreSQL's JSONB refuses NUL and NaN and makes 1e+16 an integer and -0.0 a plain zero, ADK writes NaN as null,
    # and what it cannot serialise ends the run.
    if not encoded.plain or b"\\u0000" in data:
        return False
    if any(mark in data for mark in _ODD_NUMBERS) and not _has_plain_numbers(data):
        return False
    try:
        to_json(value)
    except PydanticSerializationError:
        return False
    return True


def _is_utf8(text: str) -> bool:
    # A lone surrogate: UTF-8 has no form for it, JSON's own escapes have.
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _has_plain_numbers(data: bytes) -> bool:
    # The marks may stand in texts as well.
    odd: list[str] = []
    json.loads(data, parse_constant=odd.append, parse_float=odd.append)
    return not any("+" in text or text in ("-0.0", "NaN", "Infinity", "-Infinity") for text in odd)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return list(value)
    if isinstance(value, Enum):
        return value.value
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID | timedelta | PurePath):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    # numpy's numbers, without importing numpy.
    if (item := getattr(value, "item", None)) is not None and not getattr(value, "ndim", 0):
        return item()
    raise TypeError(type(value).__name__)

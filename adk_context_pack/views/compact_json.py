"""Any Python value as compact JSON text: deterministic, and never an exception for an odd value."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import json
import math
import pathlib
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from pydantic import BaseModel

_MAX_DEPTH = 100
_MAX_INTEGER_BITS = 10_000
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def compact_json(value: Any) -> str:
    """`value` as JSON without blanks, non-ASCII characters as they are.

    What JSON cannot hold is rendered so that a reader sees what it was: dates and times in ISO 8601, `Decimal`,
    `Fraction`, `UUID` and paths as their text, an enum as its value, a set as a sorted list, bytes as `<12 bytes>`,
    `nan` and `inf` as `"NaN"`, `"Infinity"` and `"-Infinity"`, pydantic models and dataclasses as objects of their
    fields, a value inside itself as `<circular>`, what is nested deeper than Python can follow as `<nested too
    deeply>`, and anything else as `<TypeName>` (a `repr` may hold an address, which would change the prompt from one
    run to the next).

    Args:
        value: any Python value; it is read, never changed.
    """
    try:
        text = _dump(value, default=_standin)
    except (TypeError, ValueError, RecursionError):
        # Keys that are no strings, nan, a circle, great depth: rare, so the slow walk is only for them.
        text = _dump(_walk(value, ()))
    # A lone surrogate is a valid Python string that no HTTP client can encode; as an escape it is valid JSON.
    return text if text.isascii() else _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _dump(value: Any, *, default: Callable[[Any], Any] | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=default)


def _standin(value: Any) -> Any:
    """What stands in JSON for one value that it cannot hold; containers keep their raw members."""
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, decimal.Decimal | fractions.Fraction | uuid.UUID | pathlib.PurePath | dt.timedelta):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, AbstractSet):
        return sorted(value, key=compact_json)
    if isinstance(value, Sequence):
        return list(value)
    return _object(value)


def _object(value: Any) -> Any:
    if isinstance(value, BaseModel):
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        return {**fields, **(value.model_extra or {})}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    # The scalars and arrays of numeric libraries, without importing any of them.
    to_list = getattr(value, "tolist", None)
    if callable(to_list) and not isinstance(value, type):
        return to_list()
    return f"<{type(value).__name__}>"


def _walk(value: Any, above: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return _number(value)
    if id(value) in above:
        return "<circular>"
    if len(above) >= _MAX_DEPTH:
        return "<nested too deeply>"
    inner = (*above, id(value))
    if isinstance(value, Mapping):
        return {_key(key): _walk(item, inner) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(item, inner) for item in value]
    if isinstance(value, AbstractSet):
        members = (_walk(item, inner) for item in value)
        return sorted(members, key=_dump)
    return _walk(_standin(value), inner)


def _number(value: float) -> Any:
    if isinstance(value, enum.Enum):
        return _number(value.value)
    if isinstance(value, int):
        # Python refuses to write out an integer of more than 4,300 digits.
        return value if value.bit_length() < _MAX_INTEGER_BITS else f"<integer of {value.bit_length()} bits>"
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool | int | float):
        return json.dumps(_number(key) if isinstance(key, int | float) else key).strip('"')
    standin = _standin(key)
    return standin if isinstance(standin, str) else compact_json(standin)

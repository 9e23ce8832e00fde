"""Writes any Python value as JSON, and shortens texts. It decides how a date, an enum or a model is spelled.

Stores, counters, tools, views and reports write through here, so that a result reads the same wherever it was kept.
Reading what was written and writing it again gives the same text.

| value | in JSON |
| --- | --- |
| date, time, datetime | ISO 8601 text |
| `Decimal`, `Fraction`, `UUID`, path, IP address, `timedelta`, pydantic's own types | its text |
| enum | its value |
| pydantic model, dataclass | object of its fields, by alias if there is one |
| tuple, set | list, a set in sorted order |
| bytes | base64 text (in `view_json` the size) |
| exception | its message |
| numbers and arrays of numpy and pandas | numbers and lists, a missing value is null |
| NaN, infinity | the words that Python's `json` reads back (in `view_json` texts) |
| key that is not a text | the text of the key |
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import ipaddress
import json
import math
import pathlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel

_BY_TEXT = (
    *(decimal.Decimal, fractions.Fraction, uuid.UUID, pathlib.PurePath, dt.timedelta),
    *(ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network, ipaddress.IPv6Network),
)
_BYTES = (bytes, bytearray, memoryview)
_MAX_DEPTH = 100
# The errors of `json.dumps`: an unknown type or key, a circle or a number it refuses, and great depth.
_REFUSALS = (TypeError, ValueError, RecursionError)
IN_STEPS = 200_000
"""A document of this many characters is read in steps, between which another thread may run."""
_MAX_STEPPED_DEPTH = 3
DECODER: Any = json.JSONDecoder()


def read_json(text: str, *, in_steps: int = IN_STEPS) -> Any:
    """Returns or raises what `json.loads` does, and lets other threads run between the rows of a text that is long."""
    if len(text) < in_steps:
        return json.loads(text)
    decoder: Any = json.JSONDecoder()
    decoder.scan_once = partial(_scan, 0)
    return decoder.decode(text)


def _scan(depth: int, text: str, place: int) -> Any:
    """Reads a value as the decoder does, but step by step where it has rows or, down to a few levels, an object."""
    sign, inside = text[place : place + 1], (text, place + 1)
    if sign == "[" and depth <= _MAX_STEPPED_DEPTH and text[place + 1 : place + 64].lstrip()[:1] in {"[", "{"}:
        return DECODER.parse_array(inside, DECODER.scan_once)
    if sign == "{" and depth <= _MAX_STEPPED_DEPTH:
        return DECODER.parse_object(inside, DECODER.strict, partial(_scan, depth + 1), None, None)
    return DECODER.scan_once(text, place)


def exact_json(value: Any, *, on_odd: Callable[[Any], None] = lambda _: None) -> str:
    """Returns `value` as compact JSON that reads back as what it means. `on_odd` gets what JSON has no form for.

    It raises a TypeError for what has no form here, such as a function or an iterator, a ValueError for a value that
    contains itself and an integer that is longer than Python writes, and a RecursionError for what is nested too deep.
    """

    def settle(odd: Any) -> Any:
        on_odd(odd)
        return json_value(odd)

    try:
        return _dump(value, settle)
    except TypeError:
        # The walk costs many times what the C encoder does, and only odd keys need it.
        walked = _Walk(settle, cut=False)(value)
        on_odd(value)
        return _dump(walked, settle)


def json_text(value: Any, *, layout: Literal["compact", "spaced", "indented"] = "compact") -> str:
    """Returns `value` as JSON for counters, previews and pages, and never fails.

    Writes the same text as `exact_json` wherever that one succeeds. Anything else shows as `<TypeName>`, since a `repr`
    may hold an address that differs from run to run. A value inside itself shows as `<circular>`. The layout "spaced"
    has a blank after commas and colons.
    """
    options = {} if layout == "compact" else {"separators": None, "indent": 1 if layout == "indented" else None}
    try:
        return _dump(value, _shown, **options)
    except _REFUSALS:
        return _dump(_Walk(_shown)(value), _shown, **options)


def view_json(value: Any) -> str:
    """Returns `value` as compact JSON for a prompt, and never fails.

    It is `json_text` with three differences: every client can encode it and every parser reads it (NaN and infinities
    are texts, lone surrogates are escapes), and bytes show as their size, such as `<12 bytes>`.
    """
    try:
        text = _dump(value, _viewed, allow_nan=False)
    except _REFUSALS:
        text = _dump(_Walk(_viewed, nan_is_text=True)(value), _viewed, allow_nan=False)
    return without_surrogates(text)


def without_surrogates(text: str) -> str:
    """Returns JSON with lone surrogates as escapes, since UTF-8 has no form for them. The JSON says the same."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def json_value(value: Any) -> Any:
    """Returns what JSON holds in the place of a value, with members as they are, or raises a TypeError."""
    if isinstance(value, dt.date | dt.time):
        # pandas counts its missing moment among the moments, and it alone differs from itself.
        return value.isoformat() if value == value else None  # noqa: PLR0124
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, _BY_TEXT):
        return str(value)
    if isinstance(value, _BYTES):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, AbstractSet):
        return sorted(value, key=json_text)
    return list(value) if isinstance(value, Sequence) else _object(value)


def opened(value: Any) -> Any:
    """Returns the object or list that a text holds as JSON, and any other value as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in {"{", "["}:
        return value
    try:
        return read_json(value)
    except (ValueError, RecursionError):
        return value


def opened_exactly(text: str) -> Any:
    """Returns the object or list that a text holds as JSON, or the text itself if JSON would write a part otherwise.

    That is a number such as 1.10, an integer beyond 2^53, a constant that JSON lacks, and a name that occurs twice.
    """
    if text.lstrip()[:1] not in {"{", "["}:
        return text

    def number(kind: type[int | float], digits: str) -> float:
        # Some providers read every number as a double.
        if repr(found := kind(digits)) != digits or (kind is int and abs(found) > 2**53):
            raise ValueError(digits)
        return found

    def members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) != len(pairs):
            raise ValueError
        return found

    whole, real = partial(number, int), partial(number, float)
    try:
        return json.loads(text, parse_int=whole, parse_float=real, parse_constant=real, object_pairs_hook=members)
    except (ValueError, RecursionError):
        return text


def shorten(text: str, limit: int) -> str:
    """Returns `text`, or its beginning with a mark at its end, in at most `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def shorten_counted(text: str, limit: int) -> str:
    """Returns `text`, or its first `limit` characters with a mark that says how many are missing."""
    return text if len(text) <= limit else f"{text[:limit]}… [+{len(text) - limit} characters]"


def is_number(value: Any) -> bool:
    """Returns whether a value is a number, which a boolean is to Python and not to JSON."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _object(value: Any) -> Any:
    kind = type(value)
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True, warnings=False)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, BaseException):
        return str(value) or kind.__name__
    if kind.__name__ == "NAType":
        return None
    # numpy gives moments in nanoseconds as bare integers, and has a text for each.
    if kind.__name__ in ("datetime64", "timedelta64"):
        return str(value) if value == value else None  # noqa: PLR0124
    # The numbers and arrays of numpy, pandas and others, without importing any of them.
    for name in ("tolist", "item"):
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            return method()
    # URLs, secrets and other types of pydantic.
    if hasattr(kind, "__get_pydantic_core_schema__"):
        return str(value)
    raise TypeError(kind.__name__)


def _shown(value: Any) -> Any:
    try:
        return json_value(value)
    except Exception:
        # A model or a sequence of the user's own may fail in any way.
        return f"<{type(value).__name__}>"


def _viewed(value: Any) -> Any:
    return f"<{len(value)} bytes>" if isinstance(value, _BYTES) else _shown(value)


def _dump(value: Any, settle: Callable[[Any], Any], **options: Any) -> str:
    return json.dumps(value, **{"ensure_ascii": False, "separators": (",", ":"), "default": settle, **options})


@dataclasses.dataclass(frozen=True, slots=True)
class _Walk:
    """Turns a value into what `_dump` takes. With `cut`, circles, depth and huge integers become words."""

    settle: Callable[[Any], Any]
    cut: bool = True
    nan_is_text: bool = False

    def __call__(self, value: Any, above: tuple[int, ...] = ()) -> Any:
        if value is None or isinstance(value, str | bool):
            return value
        if isinstance(value, int | float):
            return self._number(value)
        if id(value) in above:
            if self.cut:
                return "<circular>"
            raise ValueError("Circular reference detected")
        if self.cut and len(above) >= _MAX_DEPTH:
            return "<nested too deeply>"
        inner = (*above, id(value))
        if isinstance(value, Mapping):
            items = {self._key(key): self(item, inner) for key, item in value.items()}
            if len(items) < len(value) and not self.cut:
                raise ValueError("two keys have the same text")
            return items
        if isinstance(value, list | tuple):
            return [self(item, inner) for item in value]
        return self(self.settle(value), inner)

    def _number(self, value: float) -> Any:
        if isinstance(value, enum.Enum):
            return self._number(value.value)
        if isinstance(value, int):
            huge = self.cut and value.bit_length() >= 10_000  # noqa: PLR2004 - bits
            return f"<integer of {value.bit_length()} bits>" if huge else value
        if not self.nan_is_text or math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"

    def _key(self, key: Any) -> str:
        if isinstance(key, str):
            return key
        if key is None or isinstance(key, bool | int | float):
            return json.dumps(self._number(key) if isinstance(key, int | float) else key).strip('"')
        standin = list(key) if isinstance(key, tuple) else self.settle(key)
        return standin if isinstance(standin, str) else json_text(standin)

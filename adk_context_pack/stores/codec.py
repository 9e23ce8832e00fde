"""Full results as JSON text, exact for everything that JSON can hold and settled for what it cannot."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from pydantic_core import PydanticSerializationError, to_json

from adk_context_pack._json import exact_json, without_surrogates
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
    """Returns `value` as compact JSON in the spelling of `exact_json`.

    Raises:
        StoreError: the value holds something that has no JSON form, or is nested too deep for one.
    """
    odd: list[type] = []
    try:
        text = exact_json(value, on_odd=lambda found: odd.append(type(found)))
    except Exception as error:
        # A model or a sequence of the user's own may fail in any way, and its message may quote the result.
        raise StoreError(f"the result has no JSON form ({type(error).__name__})") from error
    return Encoded(without_surrogates(text).encode(), not odd)


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


def _has_plain_numbers(data: bytes) -> bool:
    # The marks may stand in texts as well.
    odd: list[str] = []
    json.loads(data, parse_constant=odd.append, parse_float=odd.append)
    return not any("+" in text or text in ("-0.0", "NaN", "Infinity", "-Infinity") for text in odd)

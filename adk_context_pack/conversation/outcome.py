"""What came of a tool call, in a few words: status, error text, counts and shapes instead of bodies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from json.encoder import encode_basestring as _quote
from typing import Any

from adk_context_pack._json import json_text

_ERROR_KEYS = ("error", "errors", "error_message", "errorMessage", "exception")
_MESSAGE_KEYS = ("message", "reason", "detail", "details", "result", "content")
_FAILED = frozenset({"error", "failed", "failure", "fail", "denied", "rejected", "exception"})
_ERROR_TEXT = re.compile(r"\W*(error|exception|traceback|fail)", re.IGNORECASE)
_SHORT = 60
# The keys of a capped result, in the words of tools/row_stub.py, which stands above this module.
_LIMITS = "_row_limits"
_HANDLE = "_handle"
_KEYS = 8
_SCALARS = {None: "null", True: "true", False: "false"}
_ENTRIES = 20


def cut(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters with a mark that says how many are missing."""
    return text if len(text) <= limit else f"{text[:limit]}… [+{len(text) - limit} characters]"


def outcome_of(response: Any, *, max_chars: int, max_error_chars: int) -> str:
    """What came of a call.

    Args:
        response: the tool's response as the session holds it (ADK makes it a dict).
        max_chars: the longest description, in characters.
        max_error_chars: the longest error text, in characters.
    """
    if isinstance(response, Mapping):
        if (error := _error(response)) is not None:
            return f"error: {cut(error, max_error_chars)}"
        if len(response) == 1:
            # ADK wraps what is no dict as {"result": …}; the key says nothing.
            ((key, value),) = response.items()
            return cut(_shape(value) if key in ("result", "output") else f"{{{_entry(key, value)}}}", max_chars)
        if isinstance(limits := response.get(_LIMITS), Mapping):
            response = _capped(response, limits)
        entries = [_entry(key, value) for key, value in islice(response.items(), _ENTRIES)]
        more = f", +{len(response) - _ENTRIES}" if len(response) > _ENTRIES else ""
        return cut(f"{{{', '.join(entries)}{more}}}", max_chars)
    return cut(_shape(response), max_chars)


class _Total(str):
    """How many rows a capped list stands for, told as it is."""

    __slots__ = ()


def _capped(response: Mapping[Any, Any], limits: Mapping[Any, Any]) -> dict[Any, Any]:
    """A capped result as what it stands for: its true number of rows, without the facts beside them."""
    told = {key: value for key, value in response.items() if not str(key).startswith("_") or key == _HANDLE}
    for key, limit in limits.items():
        if key in told and isinstance(limit, Mapping) and isinstance(total := limit.get("total"), int):
            told[key] = _Total(f"list of {total}")
    return told


def _entry(key: object, value: Any) -> str:
    if isinstance(value, _Total):
        return f"{_key(key)}: {value}"
    if isinstance(value, str) and isinstance(key, str) and len(value) <= _SHORT and len(key) <= _SHORT:
        return f"{key}: {_quote(value)}"
    return f"{_key(key)}: {_shape(value)}"


def _key(key: object) -> str:
    return cut(key if isinstance(key, str) else str(key), _SHORT)


def _error(response: Mapping[Any, Any]) -> str | None:
    for key in _ERROR_KEYS:
        if value := response.get(key):
            return _message(value)
    status = response.get("status")
    failed = response.get("isError") is True or (isinstance(status, str) and status.lower() in _FAILED)
    if failed:
        found = next((response[key] for key in _MESSAGE_KEYS if response.get(key)), status or "failed")
        return _message(found)
    text = response.get("result") if len(response) == 1 else None
    return text if isinstance(text, str) and _ERROR_TEXT.match(text) else None


def _message(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and isinstance(value.get("message"), str):
        return str(value["message"])
    return json_text(value)


def _shape(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return _SCALARS[value] if value is None or isinstance(value, bool) else str(value)
    if isinstance(value, str):
        return _quote(value) if len(value) <= _SHORT else f"text of {len(value)} characters"
    if isinstance(value, Mapping):
        return _keys(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        first = value[0] if value else None
        return f"list of {len(value)}" + (f" {_keys(first)}" if isinstance(first, Mapping) else "")
    return cut(str(value), _SHORT)


def _keys(value: Mapping[Any, Any]) -> str:
    shown = ", ".join([_key(key) for key in islice(value, _KEYS)])
    more = f", +{len(value) - _KEYS}" if len(value) > _KEYS else ""
    return f"{{{shown}{more}}}"

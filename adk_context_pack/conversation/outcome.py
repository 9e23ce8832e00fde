"""Describes a tool's result in a few words: status, error text, true sizes and shapes instead of bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from json.encoder import encode_basestring as _quote
from sys import maxsize
from typing import Any

from adk_context_pack._json import json_text, opened, shorten_counted
from adk_context_pack.tables.failure import error_of, is_text
from adk_context_pack.tables.json_in_text import is_mcp, rows_of_blocks
from adk_context_pack.tables.stub_form import HANDLE, LIMITS, PREVIEW, stored_text

_SHORT = 60
_KEYS = 8
_ENTRIES = 20
_MAX_PARSED = 200_000


def outcome_of(response: Any, *, max_chars: int, max_error_chars: int) -> str:
    """Returns what came of a call, in a few words.

    A capped or offloaded result is described by its true size and its handle, and an MCP result by what it holds.
    """
    if (error := error_of(response)) is not None:
        stored, said = stored_text(error), error.partition("\n")[2]
        told = f"{said[:max_error_chars]}… [{stored}]" if stored else shorten_counted(error, max_error_chars)
        return f"error: {told}{_rows_beside(response, max_chars)}"
    return shorten_counted(_described(response), max_chars)


def _rows_beside(response: Any, max_chars: int) -> str:
    # A partial result has rows although something failed.
    if not isinstance(response, Mapping):
        return ""
    told = _true_sizes(response)
    rows = {key: told[key] for key, value in response.items() if isinstance(value, list) and value and key in _ROWS}
    rows |= {HANDLE: told[HANDLE]} if HANDLE in told and rows else {}
    return shorten_counted(f", beside {_entries(rows)}", max_chars) if rows else ""


_ROWS = frozenset({"rows", "results", "result", "data", "items", "records", "values"})


def _described(response: Any) -> str:
    if not isinstance(response, Mapping):
        return _shape(response)
    told = _true_sizes(response)
    if len(told) == 1:
        # ADK wraps what is not a dict as {"result": …}; the key says nothing.
        ((key, value),) = told.items()
        return _shape(value) if key in ("result", "output") else f"{{{_entry(key, value)}}}"
    return _entries(told)


def _entries(told: Mapping[Any, Any]) -> str:
    entries = [_entry(key, value) for key, value in islice(told.items(), _ENTRIES)]
    more = f", +{len(told) - _ENTRIES}" if len(told) > _ENTRIES else ""
    return f"{{{', '.join(entries)}{more}}}"


def _true_sizes(response: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Returns a result as what it stands for: true numbers of rows, and the contents of MCP blocks."""
    limits = response.get(LIMITS)
    told = dict(response)
    if isinstance(limits, Mapping):
        told = {key: value for key, value in told.items() if not str(key).startswith("_") or key in (HANDLE, PREVIEW)}
    if is_mcp(told):
        told = _mcp(told)
    for path, limit in limits.items() if isinstance(limits, Mapping) else ():
        total = limit.get("total") if isinstance(limit, Mapping) else None
        # A list within another field is named by its whole path, beside that field.
        if isinstance(total, int) and total < maxsize and (path in told or str(path).partition(".")[0] in told):
            # It is told as a list of that length.
            told[path] = range(total)
    return told


def _mcp(response: Mapping[Any, Any]) -> dict[Any, Any]:
    told = {key: value for key, value in response.items() if key not in ("content", "structuredContent", "isError")}
    blocks, structured = response["content"], response.get("structuredContent")
    texts = [block["text"] for block in blocks if is_text(block)]
    others = [str(block.get("type")) for block in blocks if not is_text(block)]
    if isinstance(structured, Mapping) and structured:
        told = {**structured, **told}
    elif (rows := rows_of_blocks(texts, structured)) is not None:
        told = {"result": rows, **told}
    elif texts:
        only = texts[0] if len(texts) == 1 else texts
        told = {"result": opened(only) if len(only) <= _MAX_PARSED else only, **told}
    if others:
        told["attached"] = ", ".join(others)
    return told


def _entry(key: object, value: Any) -> str:
    is_short = isinstance(value, str) and isinstance(key, str) and len(value) <= _SHORT and len(key) <= _SHORT
    return f"{key}: {_quote(value)}" if is_short else f"{shorten_counted(str(key), _SHORT)}: {_shape(value)}"


def _shape(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return json_text(value) if value is None or isinstance(value, bool) else str(value)
    if isinstance(value, str):
        if (stored := stored_text(value)) is not None:
            return str(stored)
        return _quote(value) if len(value) <= _SHORT else f"text of {len(value)} characters"
    if isinstance(value, Mapping):
        return _keys(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        first = value[0] if value else None
        return f"list of {len(value)}" + (f" {_keys(first)}" if isinstance(first, Mapping) else "")
    return shorten_counted(str(value), _SHORT)


def _keys(value: Mapping[Any, Any]) -> str:
    shown = ", ".join([shorten_counted(str(key), _SHORT) for key in islice(value, _KEYS)])
    more = f", +{len(value) - _KEYS}" if len(value) > _KEYS else ""
    return f"{{{shown}{more}}}"

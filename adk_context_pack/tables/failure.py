"""Finds out whether a tool's result is a failure, and what it says about it.

This is the one answer to "did this fail?" for reports, narratives, summaries and reducers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from adk_context_pack._json import is_number, json_text
from adk_context_pack.tables.columns import as_record, is_record

MESSAGE_KEYS = (
    *("error_message", "errorMessage", "error_description", "message", "msg", "reason", "detail", "details"),
)
"""The keys under which a failed result says why."""

_STATUS_KEYS = ("status", "status_code", "statusCode")
_DECLARING = frozenset({"isError", "success", "ok", *_STATUS_KEYS})
_ERROR_KEYS = ("error", "error_message", "errorMessage", "exception", "failure", "errors")
_BODY_KEYS = ("result", "content", "text", "output", "title")
_WRAPPERS = frozenset({"result", "output", "response"})
_NOT_ROWS = frozenset({*_ERROR_KEYS, *MESSAGE_KEYS, "content"})
_FAILED = frozenset({"error", "failed", "failure", "fail", "exception", "fatal"})
# An order or a job may be cancelled although the tool that looks it up did not fail.
_ENDED = frozenset({"denied", "rejected", "timeout", "timed_out", "cancelled", "canceled", "aborted", "forbidden"})
_BESIDE_ENDED = frozenset(
    {
        *_ERROR_KEYS,
        *MESSAGE_KEYS,
        *_BODY_KEYS,
        "status",
        "query_id",
        "queryId",
        "tool",
        "code",
        "error_code",
        "errorCode",
    }
)
_GOOD = frozenset({"ok", "success", "succeeded", "successful", "completed", "complete", "done", "passed", "pass"})
# Values of an error field that say that there is none.
_NONE = frozenset({"", "0", "none", "null", "nil", "nan", "n/a", "na", "ok", "false", "no error", "no errors", "-"})
_LONGEST_NONE = max(map(len, _NONE))
_CODES = frozenset({"code", "status", "errno", "error_code", "errorCode"})
_HTTP_ERRORS = range(400, 600)
_MAX_START = 400
_MAX_PARSED = 20_000
_MAX_DEPTH = 3

_START = re.compile(r"\W*")
_FIGURE = r"\s*[-+]?\d[\d,]*(?:\.\d+)?\s*%?"
_ERROR_TEXTS = (
    re.compile(r"traceback \(most recent call last\)", re.IGNORECASE),
    # As Python and the JVM write exceptions: `ValueError: …`, `KeyError('x')`, `java.io.IOException: …`. A figure
    # with decimals after the colon is a measure, such as `MeanSquaredError: 0.11`.
    re.compile(r"(?:[A-Za-z_$][\w$]*\.)*[A-Z_$][\w$]*(?:Error|Exception)(?:\(|$|:(?!\s*[-+]?\d+\.\d+\s*%?\s*$))"),
    re.compile(
        r"(?:(?:fatal|internal|unexpected|runtime|server|http|api|tool|system|client|database|network|mcp|input|unknown"
        r"|validation|syntax|connection|permission|authentication|critical)[ _-]+)*"
        r"(?:error|exception|failure|fatal|panic)"
        r"(?:$|[!.\])](?:\s|$)|\s+[-\u2013\u2014]\s(?!\d)|\s*\((?:code|http|status|\d)|\s*\[E?\d|\s*#?\d{3}\b|:\s*[45]\d\d\b"
        rf"|:(?!(?:{_FIGURE}|\s*(?:none|null|no))\s*(?:$|[,;.])))",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:error|exception|failure) (?:(?:execut|invok|call|runn|fetch|retriev|load|read|writ|pars|creat|updat|delet"
        r"|connect|process|open|gett|send|access|query|perform|validat|decod|resolv)ing\b"
        r"|(?:while|when|during|occurred|raised|thrown|code|from)\b|in (?:tool|function|thread|call)\b)",
        re.IGNORECASE,
    ),
    re.compile(r"(?:an?|the|some)\s+(?:\w+\s+){0,3}(?:error|exception|failure)\s+(?:has\s+)?occurred", re.IGNORECASE),
    re.compile(r"failed(?:$|[!.](?:\s|$)| to [a-z]| with\b| because\b| due to\b|:(?!\s*\d))", re.IGNORECASE),
    re.compile(
        r"(?:http[ /\d.]*)?[45]\d\d (?:\w+ ){0,2}(?:error|not found|forbidden|unauthorized|bad request|bad gateway"
        r"|too many requests|service unavailable|gateway timeout)\b",
        re.IGNORECASE,
    ),
)


def error_of(result: Any) -> str | None:
    """Returns what a failed result says about its failure; None for a result that did not fail.

    A failure is what says so: MCP's `isError`, a status such as "error", `success: false`, an `error` with a text or
    an object, or the text of an exception. A count or a measure under such a name (`errors: 1`, `error: 0.113`), an
    empty one, and prose that begins like one ("Exceptionally strong quarter") are not.

    Args:
        result: what a tool returned, or what ADK stores of it.
    """
    return _error_of(result, _MAX_DEPTH)


def has_failed(result: Any) -> bool:
    """Returns whether the call as a whole failed; False for a partial result, with rows beside an `error`."""
    found = _opened(result)
    if isinstance(found, Mapping) and _rows_beside(found) and not _declared(found):
        return False
    return error_of(result) is not None


def _error_of(result: Any, depth: int) -> str | None:
    result = _opened(result)
    if isinstance(result, str):
        return _text_error(result, depth)
    if not isinstance(result, Mapping) or not result:
        return None
    if _declared(result):
        return _said_by(result) or _status_of(result) or "failed"
    if (said := _field_error(result)) is not None:
        return said
    return _inner_error(result, depth)


def _opened(result: Any) -> Any:
    return dict(as_record(result)) if is_record(type(result)) else result


def _declared(result: Mapping[Any, Any]) -> bool:
    """Returns whether the result itself says that the call failed."""
    # As a rule none of these is there, and one look tells.
    if result.keys().isdisjoint(_DECLARING):
        return False
    if result.get("isError") is True or result.get("success") is False or result.get("ok") is False:
        return True
    status = _status_of(result)
    if status in _FAILED:
        return True
    if status in _ENDED:
        return result.keys() <= _BESIDE_ENDED
    # Problem details, https://www.rfc-editor.org/rfc/rfc9457.
    code = next((result[key] for key in _STATUS_KEYS if key in result), None)
    return _is_http_error(code) and any(isinstance(result.get(key), str) for key in (*MESSAGE_KEYS, "title"))


def _field_error(result: Mapping[Any, Any]) -> str | None:
    for key in _ERROR_KEYS:
        if (value := result.get(key)) and _is_error_value(value, result, several=key == "errors"):
            return _message(value) if isinstance(value, str | Mapping | list | tuple) else _said_by(result) or "failed"
    return None


def _is_error_value(value: Any, result: Mapping[Any, Any], *, several: bool) -> bool:
    if isinstance(value, str):
        return value.strip()[: _LONGEST_NONE + 1].lower() not in _NONE
    if isinstance(value, Mapping | list | tuple):
        # Figures are counts or measures. A check that went well may list what it found.
        return not _are_figures(value) and not (several and _is_good(result))
    return value is True or (_is_http_error(value) and _said_by(result) is not None)


def _are_figures(value: Any) -> bool:
    if isinstance(value, Mapping):
        return not _CODES & value.keys() and all(map(is_number, value.values()))
    return all(map(is_number, value))


def _inner_error(result: Mapping[Any, Any], depth: int) -> str | None:
    if depth <= 0:
        return None
    if len(result) == 1:
        ((key, value),) = result.items()
        return _error_of(value, depth - 1) if key in _WRAPPERS else None
    texts = _block_texts(result)
    # MCP results that are not flagged: one block with what the tool says.
    return _error_of(texts[0], depth - 1) if len(texts) == 1 else None


def _text_error(text: str, depth: int) -> str | None:
    start = text[:_MAX_START]
    place = _START.match(start)
    if any(pattern.match(start, place.end() if place else 0) for pattern in _ERROR_TEXTS):
        return text
    if depth <= 0 or len(text) > _MAX_PARSED or not text.lstrip().startswith("{"):
        return None
    try:
        return _error_of(json.loads(text), depth - 1)
    except (ValueError, RecursionError):
        return None


def _said_by(result: Mapping[Any, Any]) -> str | None:
    for key in (*_ERROR_KEYS, *MESSAGE_KEYS):
        value = result.get(key)
        if isinstance(value, str | Mapping | list | tuple) and value:
            return _message(value)
    if texts := _block_texts(result):
        return "\n".join(texts)
    return next((_message(result[key]) for key in _BODY_KEYS if result.get(key)), None)


def _message(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return next(
            (value[key] for key in MESSAGE_KEYS if isinstance(value.get(key), str) and value[key]), json_text(value)
        )
    if isinstance(value, list | tuple) and value and all(isinstance(item, Mapping) for item in value):
        said = [item.get("message") for item in value]
        if all(isinstance(message, str) and message for message in said):
            return "\n".join(map(str, said))
    return json_text(value)


def _block_texts(result: Mapping[Any, Any]) -> list[str]:
    blocks = result.get("content")
    found: Iterable[Any] = blocks if isinstance(blocks, list | tuple) else ()
    texts = [block.get("text") for block in found if isinstance(block, Mapping) and block.get("type") == "text"]
    return [text for text in texts if isinstance(text, str)]


def _rows_beside(result: Mapping[Any, Any]) -> bool:
    return any(
        isinstance(value, list | tuple) and len(value) > 1 for key, value in result.items() if key not in _NOT_ROWS
    )


def _status_of(result: Mapping[Any, Any]) -> str | None:
    status = result.get("status")
    return status.strip().lower() if isinstance(status, str) and status.strip() else None


def _is_good(result: Mapping[Any, Any]) -> bool:
    return _status_of(result) in _GOOD or result.get("success") is True or result.get("ok") is True


def _is_http_error(value: Any) -> bool:
    return is_number(value) and value in _HTTP_ERRORS

"""Finds out whether a tool's result is a failure, and what it says about it.

This is the one answer to "did this fail?" for reports, narratives, summaries and reducers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from adk_context_pack._json import is_number, json_text, opened
from adk_context_pack.tables.columns import as_record, is_record
from adk_context_pack.tables.text_scan import without_markup
from adk_context_pack.tables.trouble import Severity, says_failure, words_of

MESSAGE_KEYS, ERROR_KEYS, _BODY_KEYS = (tuple(words_of(kind)[Severity.ERROR]) for kind in ("why", "wrong", "body"))
"""The keys under which a failed result says why, that something went wrong, and whatever else."""
# An order or a job may be cancelled although the tool that looks it up did not fail.
_FAILED, _ENDED, _BESIDE_ENDED, _GOOD, _NONE, _LOOKED_UP, _EXIT_KEYS, _SAYING = (
    frozenset(words_of(kind)[Severity.ERROR])
    for kind in ("failed", "status", "beside", "good", "none", "looked up", "exits", "saying")
)
_HTTP_ERRORS = frozenset((*range(400, 600), *map(str, range(400, 600))))
# What servers say that say no more. Words such as "gone" may be an answer.
_REASONS = {each.phrase.lower() for each in HTTPStatus if each in _HTTP_ERRORS and " " in each.phrase}
_REASONS |= {"unauthorized", "forbidden"}


def error_of(result: Any, depth: int = 3) -> str | None:
    """Returns what a failed result says about its failure, or None for a result that did not fail.

    A failure is what says so: MCP's `isError`, a status such as "error", `success: false`, an `error` with a text or
    an object, or the text of an exception. A count or a measure under such a name (`errors: 1`, `error: 0.113`), an
    empty one, and prose that begins like one ("Exceptionally strong quarter") are not. Looks `depth` results deep.
    """
    result = _opened(result)
    if isinstance(result, str):
        found = opened(result) if depth > 0 and len(result) <= 20_000 else None  # noqa: PLR2004 - characters
        if isinstance(found, dict):
            return error_of(found, depth - 1)
        # A server that failed says so in the title of a page, and hardly anything else.
        text = _message(result) if len(result) <= 2_000 else result  # noqa: PLR2004 - characters
        return text if text.strip(" .!").lower() in _REASONS or says_failure(text) else None
    if not isinstance(result, Mapping) or not result:
        return None
    if _declared(result):
        codes = [f"{key}: {value}" for key, value in result.items() if _plain(key) in {"code", *_EXIT_KEYS} and value]
        return _said_by(result) or _status_of(result) or ", ".join(codes) or "failed"
    for key in ERROR_KEYS:
        if (value := result.get(key)) and _is_error_value(value, result, several=key in ("errors", "errmsg")):
            return _message(value) if isinstance(value, str | Mapping | list | tuple) else _said_by(result) or "failed"
    # MCP results that are not flagged: one block with what the tool says.
    said: list[Any] = _block_texts(result)
    if not said and not _SAYING.isdisjoint(result):
        # A server gives the status and an address as well.
        filled = (each for each in _filled(result).values() if not _is_http_error(each))
        said = [each for each in filled if not (isinstance(each, str) and each.startswith("http"))]
    return error_of(said[0], depth - 1) if len(said) == 1 and depth > 0 else None


def has_failed(result: Any) -> bool:
    """Returns whether the call as a whole failed, or False for a partial result, with rows beside an `error`."""
    found = _opened(result)
    if isinstance(found, Mapping) and not _declared(found):
        others = [found[key] for key in found.keys() - {*ERROR_KEYS, *MESSAGE_KEYS, "content"}]
        if any(len(rows) > 1 for rows in others if isinstance(rows, list | tuple)):
            return False
    return error_of(result) is not None


def _opened(result: Any) -> Any:
    return dict(as_record(result)) if is_record(type(result)) else result


def _declared(given: Mapping[Any, Any]) -> bool:
    """Returns whether the result itself says that the call failed."""
    has_reason = any(isinstance(given.get(key), str) for key in MESSAGE_KEYS)
    # `exitCode` is `exit_code`, and `Success` is `success`. What has very many keys is rows.
    result = given if len(given) > 500 else {_plain(key): value for key, value in given.items()}  # noqa: PLR2004
    status, wrong = _status_of(result), result.get("detail")
    is_told = status in _FAILED or any(result.get(key) is True for key in ("iserror", "failed"))
    # AWS names the class of an exception, and FastAPI lists what is wrong in a request.
    is_told = is_told or ("__type" in given and says_failure(str(given["__type"]).rpartition("#")[2]))
    denied = {key: result[key] for key in ("success", "ok", "succeeded", "successful", "issuccess") if key in result}
    # A 0 among other figures is a count.
    has_counts = bool(denied) and any(map(is_number, map(result.get, result.keys() - denied - _BESIDE_ENDED)))
    noes = {"false"} if has_counts else {"false", "0"}
    if is_told or any(isinstance(value, int | str) and str(value).lower() in noes for value in denied.values()):
        return True
    first = next(iter(wrong), None) if isinstance(wrong, list) else None
    if isinstance(first, Mapping) and {"loc", "msg"} <= first.keys() and result.keys() <= _BESIDE_ENDED:
        return True
    if status in _ENDED or any(_status_of(result, key) in _FAILED for key in ("state", "outcome", "result")):
        return _filled(result).keys() <= _BESIDE_ENDED
    if exits := result.keys() & (_EXIT_KEYS | ({"code"} if "stderr" in result else set())):
        return any(is_number(result[key]) and result[key] != 0 for key in exits) and _LOOKED_UP.isdisjoint(result)
    if "code" in result and _is_http_error(result["code"]) and _LOOKED_UP.isdisjoint(result):
        # A room or a course has such a number, too, but says more of itself and gives no reason.
        return has_reason or (result.keys() <= _BESIDE_ENDED and not _filled(result).keys() & {*_BODY_KEYS, "data"})
    # In the place of what was asked for, an envelope has a code and a reason.
    codes = [str(result[key]) for key in ("code", "errorcode", "resultcode") if key in result]
    if has_reason and any(code.strip("0") and code[:2] != "20" for code in codes):
        filled, asked = _filled(result).keys(), {"data", "result", "details"} & result.keys()
        if filled <= _BESIDE_ENDED and not asked <= filled:
            return str(_said_by(given)).lower() not in _GOOD
    # Problem details, https://www.rfc-editor.org/rfc/rfc9457.
    has_reason = has_reason or any(isinstance(result.get(key), str) for key in _BODY_KEYS)
    return has_reason and any(_is_http_error(result.get(key)) for key in ("status", "statuscode", "httpstatuscode"))


@lru_cache(maxsize=4096)
def _plain(key: Any) -> str:
    return re.sub(r"[\W_]", "", str(key)).lower()


def _filled(result: Mapping[Any, Any]) -> dict[Any, Any]:
    # Not every object has a truth of its own.
    plain = (str, list, tuple, Mapping, type(None))
    return {key: value for key, value in result.items() if not isinstance(value, plain) or value}


def _is_error_value(value: Any, result: Mapping[Any, Any], *, several: bool) -> bool:
    # A check that went well may list what it found, and a code of 0 has a message in any language.
    is_good = _status_of(result) in _GOOD or result.get("success") is True or result.get("ok") is True
    names = {"code", *_EXIT_KEYS}
    is_good = several and (is_good or any(str(code) == "0" and _plain(key) in names for key, code in result.items()))
    if isinstance(value, str):
        return value.strip()[:20].lower() not in _NONE and not is_good
    if isinstance(value, Mapping | list | tuple):
        # Figures are counts or measures.
        has_codes = isinstance(value, Mapping) and {"code", "status", "errno", "error_code", "errorCode"} & value.keys()
        are_figures = not has_codes and all(map(is_number, value.values() if isinstance(value, Mapping) else value))
        return not are_figures and not is_good
    return value is True or (_is_http_error(value) and _said_by(result) is not None)


def _said_by(result: Mapping[Any, Any]) -> str | None:
    for key in (*ERROR_KEYS, *MESSAGE_KEYS):
        value = result.get(key)
        if isinstance(value, str | Mapping | list | tuple) and value:
            return _message(value)
    if texts := _block_texts(result):
        return "\n".join(texts)
    return next((_message(result[key]) for key in _BODY_KEYS if result.get(key)), None)


def _message(value: Any) -> str:
    if isinstance(value, str):
        # A server answers with a page, most of which is markup.
        return without_markup(value, has_comments=True) or value if is_page(value) else value
    said: list[Any] = []
    if isinstance(value, Mapping):
        said = [value[key] for key in MESSAGE_KEYS if isinstance(value.get(key), str) and value[key]][:1]
    elif isinstance(value, list | tuple):
        said = [item.get("message") if isinstance(item, Mapping) else None for item in value]
    are_told = said and all(isinstance(message, str) and message for message in said)
    return "\n".join(said) if are_told else json_text(value)


def is_text(block: Mapping[Any, Any]) -> bool:
    """Returns whether a content block of an MCP result is text."""
    return block.get("type") == "text" and isinstance(block.get("text"), str)


def is_page(text: Any) -> bool:
    """Returns whether a value is the text of an HTML page."""
    return isinstance(text, str) and text[:200].lstrip().lower().startswith(("<!doctype html", "<html"))


def _block_texts(result: Mapping[Any, Any]) -> list[str]:
    blocks = result.get("content")
    maps = (block for block in blocks if isinstance(block, Mapping)) if isinstance(blocks, list | tuple) else ()
    return [block["text"] for block in maps if is_text(block)]


def _status_of(result: Mapping[Any, Any], key: str = "status") -> str | None:
    status = result.get(key)
    return (status[:100].strip().lower() or None) if isinstance(status, str) else None


def _is_http_error(value: Any) -> bool:
    return isinstance(value, int | float | str) and value in _HTTP_ERRORS

"""Keeps an event true whose full result the session service refused."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from google.genai import types

from adk_context_pack.reports.cap_report import CapReport, give_report
from adk_context_pack.stores.append_guard import Addition
from adk_context_pack.stores.entries import is_entry
from adk_context_pack.stores.handles import HANDLE_LENGTH, is_result_key
from adk_context_pack.tables.stub_form import HANDLE

logger = logging.getLogger("adk_context_pack")


@dataclass(frozen=True, kw_only=True, eq=False)
class KeptResult(Addition):
    """A result, what the model gets in its place, and the state keys between them.

    Attributes:
        key: the state key of the kept result, `rows:<tool>:<handle>` or `payload:…`.
        call_id: the id of the call. None if it is not known, and the handle tells.
        unkept: makes what the model gets if the session service refuses what was kept.
        smaller: what the model gets.
        report: what is reported of a refusal, the error left out.
        on_report: called with it, if anything is.
    """

    call_id: str | None
    unkept: Callable[[], Any]
    smaller: Any
    report: CapReport
    on_report: Callable[[CapReport], None] | None

    def keys_in(self, delta: Mapping[str, Any]) -> Collection[str]:
        """The result's key, the user's own key for it, its time limit, and the marks on what it replaced."""
        handle = self.key[-HANDLE_LENGTH:]
        keys = {key for key in delta if key.endswith(f":{handle}")}
        keys |= {key for key, value in delta.items() if is_entry(value, "expired") and is_result_key(key)}
        entry: Any = delta.get(self.key)
        if is_entry(entry, "key"):
            keys.add(entry["key"])
        return keys & delta.keys()

    def taken_out_of(self, part: types.Part) -> types.Part:
        """Returns the part without the handle, if it is the response to the call."""
        response = part.function_response
        if response is None or not self._is_of(response):
            return part
        whole = _undone(response.response or {}, _as_response(self.smaller), _as_response(self.unkept()))
        return part.model_copy(update={"function_response": response.model_copy(update={"response": whole})})

    def was_refused(self, error: Exception) -> None:
        """Reports that nothing was kept."""
        reason = f"the session service refused what was kept of it ({type(error).__name__})"
        logger.warning("a result of %s could not be kept: %s", self.report.tool, reason)
        give_report(self.on_report, replace(self.report, error=reason))

    def _is_of(self, response: types.FunctionResponse) -> bool:
        if self.call_id is not None:
            return response.id == self.call_id
        return (response.response or {}).get(HANDLE) == self.key[-HANDLE_LENGTH:]


def _undone(response: Mapping[str, Any], smaller: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    if all(name in response and response[name] == value for name, value in smaller.items()):
        return {**result, **{name: value for name, value in response.items() if name not in smaller}}
    # A callback has made something else of it, perhaps for a good reason; only the handle says what is not true.
    return {name: value for name, value in response.items() if name != HANDLE or value != smaller.get(HANDLE)}


def _as_response(value: Any) -> Mapping[str, Any]:
    # ADK makes a dict of a result, with parts (a picture, a file) beside it on most releases.
    whole = value if isinstance(value, dict) else {"result": value}
    return {name: item for name, item in whole.items() if not isinstance(item, types.Part)}

"""Tries the laws of a result pass on results of many shapes."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from adk_context_pack._json import json_text
from adk_context_pack.stores.handles import find_result
from adk_context_pack.tables.failure import error_of
from adk_context_pack.testing.picture import picture
from adk_context_pack.tools.result_pass import ResultPass
from adk_context_pack.tools.tool_call import ToolCall

_ROWS = [{"id": number, "name": f"row {number}", "cost": number / 7} for number in range(400)]
_LOG = "".join(f"line {number} of a log\n" for number in range(3000))
RESULTS: tuple[Any, ...] = (
    *({}, [], "", "short", 7, True, {"result": None}, {"status": "ok"}),
    *({"rows": _ROWS[:3]}, {"rows": _ROWS}, _ROWS, {"data": {"rows": _ROWS}, "next": None}),
    *(_LOG, {"log": _LOG}, {"log": _LOG, "rows": _ROWS, "status": "ok"}, {"deep": {"er": [{"text": _LOG}]}}),
    *({"error": "quota exceeded"}, {"error": _LOG}, {"status": "error", "message": "too many rows", "rows": _ROWS}),
    {"isError": True, "content": [{"type": "text", "text": _LOG}]},
    {"isError": False, "content": [{"type": "text", "text": json.dumps(_ROWS)}]},
)
"""The results on which every pass is tried."""


def check_result_pass(pass_: ResultPass, *, results: Iterable[Any] = (), tool_name: str = "fetch") -> None:
    """Tries six laws on a result pass; returns where all of them hold. Call it where no event loop runs.

    Pure: the result that comes in does not change. Idle is identity: an equal result is the same object. Settled: the
    result of the pass, if it stored nothing, passes it as it is. Never grows: there are at most as many characters.
    Failures: a failed result keeps its status and message, and still reads as a failure. Reachable: the session has a
    stored result for each handle that the pass made.

    Args:
        pass_: the pass.
        results: results of your own to try it on, beside `RESULTS`.
        tool_name: the tool that is said to have returned them.

    Raises:
        AssertionError: a law is broken, or the pass raises; the message names the law and shows the result.
    """
    for result in (*RESULTS, *results):
        asyncio.run(_check(pass_, copy.deepcopy(result), tool_name))


async def _check(pass_: ResultPass, result: Any, tool_name: str) -> None:
    before, call = picture(result), _call(tool_name)
    shown = await _applied(pass_, result, call)
    _must(picture(result) == before, "pure", "the result that came in was changed", result)
    if picture(shown) == before:
        _must(shown is result, "idle is identity", "an equal result, but another object", result)
        return
    if not call.kept:
        again = await _applied(pass_, shown, _call(tool_name))
        _must(picture(again) == picture(shown), "settled", "the second time changed the result", result)
    _must(len(json_text(shown)) <= len(json_text(result)), "never grows", "there are more characters", result)
    if (error := error_of(result)) is not None:
        _must(error_of(shown) is not None, "failures", "the failure reads as a success", result)
        kept = ("status", "message") if isinstance(result, dict) and isinstance(shown, dict) else ()
        same = all(shown.get(key) == result[key] for key in kept if key in result and len(error) < len(_LOG))
        _must(same, "failures", "status or message is gone", result)
    for entry in call.kept:
        find_result(call.context.session.state, entry.handle)


async def _applied(pass_: ResultPass, result: Any, call: ToolCall) -> Any:
    try:
        return await pass_.apply(result, call)
    except Exception as error:
        raise AssertionError(f"{pass_.name} raises {type(error).__name__}: {error}\n{_shown(result)}") from error


def _call(tool_name: str) -> ToolCall:
    session = SimpleNamespace(id="session", app_name="app", user_id="user", state={}, events=[])
    delta: dict[str, Any] = {}
    return ToolCall(
        tool_name=tool_name,
        session_id="session",
        state_delta=delta,
        actions=None,
        context=SimpleNamespace(session=session, artifact_service=None, session_service=None, state=session.state),
    )


def _must(holds: bool, law: str, otherwise: str, result: Any) -> None:  # noqa: FBT001 - reads as a sentence
    if not holds:
        raise AssertionError(f'the law "{law}" is broken: {otherwise}\n{_shown(result)}')


def _shown(result: Any) -> str:
    return json_text(result)[:500]

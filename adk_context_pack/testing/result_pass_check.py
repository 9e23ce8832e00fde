"""Tries the laws of result passes on results of many shapes."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService

from adk_context_pack._json import json_text
from adk_context_pack.conversation.ledger import scalars
from adk_context_pack.conversation.token_estimate import estimate_payload
from adk_context_pack.errors import StoreError
from adk_context_pack.stores.opening import load_payload
from adk_context_pack.tables.failure import error_of
from adk_context_pack.tables.stub_form import told_to
from adk_context_pack.testing.mixed_results import mixed_results
from adk_context_pack.testing.picture import picture
from adk_context_pack.tools.result_pass import MIN_LOSS, ResultPass, reduce_result
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
"""The results on which passes are always tried."""
_TOOLS = frozenset({"query_rows", "read_payload"})


def check_result_pass(
    *passes: ResultPass, results: Iterable[Any] = (), count: int = 40, seed: int = 0, tool_name: str = "fetch"
) -> None:
    """Tries the laws of result passes that run together, and returns if all of them hold.

    Pure: the result that comes in does not change. Idle is identity: an equal result is the same object. Settled: what
    was not stored in part passes as it is. Never grows: there are at most as many tokens. Failures: a failed result
    keeps its status and message, and still reads as a failure. Reachable: whatever is not shown is behind a handle that
    the result names. True: no table or text is shown as an empty one. Named: only tools that the agent has are named.
    Floor: a store that fails costs the rest of the result, and does not bring it back into the prompt.

    Call it where no event loop runs.

    Args:
        passes: the passes, in the order in which they run.
        results: results of your own to try them on, beside `RESULTS` and those of `mixed_results`.
        count: how many of the latter.
        seed: the seed of these.
        tool_name: the tool that is said to have returned them.

    Raises:
        AssertionError: a law is broken, or a pass raises. The message names the law and shows the result.
    """
    for number, result in enumerate([*RESULTS, *mixed_results(count, seed=seed), *results]):
        # Half of the agents have no tool to read back with.
        offered = _TOOLS if number % 2 else frozenset()
        asyncio.run(_check(passes, copy.deepcopy(result), tool_name, offered))


async def _check(passes: tuple[ResultPass, ...], result: Any, tool_name: str, offered: frozenset[str]) -> None:
    before, call = picture(result), _call(tool_name, offered)
    shown = await _reduced(passes, result, call)
    _must(picture(result) == before, "pure", "the result that came in was changed", result)
    if picture(shown) == before:
        _must(shown is result, "idle is identity", "an equal result, but another object", result)
        return
    if not call.kept:
        again = await _reduced(passes, shown, _call(tool_name, offered))
        _must(picture(again) == picture(shown), "settled", "the second time changed the result", result)
    _must(estimate_payload(shown) <= estimate_payload(result), "never grows", "there are more tokens", result)
    if (error := error_of(result)) is not None:
        _must(error_of(shown) is not None, "failures", "the failure reads as a success", result)
        kept = ("status", "message") if isinstance(result, dict) and isinstance(shown, dict) else ()
        same = all(shown.get(key) == result[key] for key in kept if key in result and len(error) < len(_LOG))
        _must(same, "failures", "status or message is gone", result)
    text = json_text(shown)
    relayed = json_text(told_to((), shown))
    for name in _TOOLS:
        has_it = name in offered or name in json_text(result)
        _must(has_it or name not in text, "named", f"{name} is named, which the agent does not have", result)
        _must(name in json_text(result) or name not in relayed, "named", f"{name} is named to another agent", result)
    _must(not any(_emptied(result, shown)), "true", "something is shown as empty that is not", result)
    opened = [shown]
    for entry in call.kept:
        _must(entry.handle in text, "reachable", "something is kept under a handle that is not shown", result)
        opened.append(await load_payload(call.context, entry.handle))
    lost = estimate_payload(result) - estimate_payload(shown)
    if (call.kept or lost >= MIN_LOSS) and any(entry.is_reducing for entry in passes):
        there = {str(leaf) for leaf in scalars(result) if leaf not in (None, "")}
        missing = there - {str(leaf) for value in opened for leaf in scalars(value)}
        _must(not missing, "reachable", f"neither shown nor kept: {sorted(missing)[:3]}", result)
    if call.kept:
        poor = await reduce_result(passes, result, _call(tool_name, offered, broken=True))
        is_small = 2 * estimate_payload(poor) <= 3 * estimate_payload(shown) + 400
        _must(is_small, "floor", "a store that fails brings the whole into the prompt", result)


async def _reduced(passes: tuple[ResultPass, ...], result: Any, call: ToolCall) -> Any:
    try:
        return await reduce_result([replace(entry, on_error="raise") for entry in passes], result, call)
    except Exception as error:
        raise AssertionError(f"a pass raises {type(error).__name__}: {error}\n{_shown(result)}") from error


def _emptied(whole: Any, shown: Any) -> Iterator[bool]:
    """Yields whether something in `whole` is shown as empty and is not."""
    if isinstance(whole, Mapping) and isinstance(shown, Mapping):
        for key, item in whole.items():
            if key in shown:
                yield from _emptied(item, shown[key])
    elif isinstance(whole, Mapping | list | tuple | str):
        yield bool(whole) and isinstance(shown, Mapping | list | tuple | str) and not shown


def _call(tool_name: str, offered: frozenset[str], *, broken: bool = False) -> ToolCall:
    delta: dict[str, Any] = {}
    session = SimpleNamespace(id="session", app_name="app", user_id="user", state=delta, events=[])
    # Half of the apps have an artifact service.
    artifacts = InMemoryArtifactService() if offered else None
    context = SimpleNamespace(session=session, artifact_service=artifacts, session_service=None, state=session.state)
    return (_Broken if broken else ToolCall)(
        tool_name=tool_name, session_id="session", state_delta=delta, context=context, offered=offered
    )


class _Broken(ToolCall):
    """A call whose results cannot be kept."""

    async def keep(self, *_: Any, **__: Any) -> str:
        """Fails as a store does."""
        raise StoreError("the store is full")


def _must(holds: bool, law: str, otherwise: str, result: Any) -> None:  # noqa: FBT001 - reads as a sentence
    if not holds:
        raise AssertionError(f'the law "{law}" is broken: {otherwise}\n{_shown(result)}')


def _shown(result: Any) -> str:
    return json_text(result)[:500]

"""Which results are never made smaller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.genai import types

from adk_context_pack.stores.handles import is_result_key
from adk_context_pack.stores.opening import READ_BACK_TOOLS
from adk_context_pack.tools.row_stub import HANDLE, LIMITS

# ADK itself reads what these return.
_CONTROL_TOOLS = frozenset({"finish_task", "transfer_to_agent", "set_model_response", "load_artifacts"})
_FAILED = frozenset({"error", "failed", "failure"})


def is_exempt(tool_name: str, result: Any, actions: Any, call_id: str | None) -> bool:
    """Whether a result passes as it is.

    Exempt are results of ADK's control tools and of tools that read stored results back, pending long-running results
    (None), parts and function responses that a tool built itself, errors, stubs, and what a tool says while it waits
    for a confirmation or for credentials.

    Args:
        tool_name: the tool.
        result: what it returned.
        actions: the event actions of the call.
        call_id: the call's id; None where it is not known.
    """
    if tool_name in _CONTROL_TOOLS or tool_name in READ_BACK_TOOLS or _is_waiting(actions, call_id):
        return True
    if result is None or isinstance(result, types.Part | types.FunctionResponse):
        return True
    return isinstance(result, Mapping) and (is_stub(result, actions) or _is_error(result))


def is_stub(result: Any, actions: Any) -> bool:
    """Whether a result is what this package has made of a larger one.

    A tool may write whatever it likes, so that only what was kept within this very call makes a stub of its result.

    Args:
        result: what a tool returned.
        actions: the event actions of the call.
    """
    if not isinstance(result, Mapping) or LIMITS not in result:
        return False
    kept = [str(key) for key in getattr(actions, "state_delta", None) or () if is_result_key(key)]
    handle = result.get(HANDLE)
    return any(handle is None or key.endswith(f":{handle}") for key in kept)


def _is_waiting(actions: Any, call_id: str | None) -> bool:
    asked = (getattr(actions, name, None) or () for name in ("requested_auth_configs", "requested_tool_confirmations"))
    # A merged event of parallel calls holds what each of them asked for.
    return any(call_id in calls if call_id else bool(calls) for calls in asked)


def _is_error(result: Mapping[str, Any]) -> bool:
    status = result.get("status")
    failed = isinstance(status, str) and status.lower() in _FAILED
    return bool(failed or result.get("error") or result.get("isError") is True)

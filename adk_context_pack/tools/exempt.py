"""Decides which results no pass may change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from google.genai import types

from adk_context_pack._adk.known_tools import ToolKind
from adk_context_pack.conversation.tokens import TokenMeter
from adk_context_pack.errors import logger
from adk_context_pack.stores.handles import is_result_key
from adk_context_pack.tables.failure import has_failed
from adk_context_pack.tables.stub_form import HANDLE, LIMITS
from adk_context_pack.tools.tool_call import ToolCall

# Half an instruction or half a schema misleads, ADK reads what its control tools return, and a part of a stored result
# is never cut into a stub again.
CHANGEABLE: Collection[ToolKind | None] = (None, "memory")
"""The kinds of tools whose results passes may change."""

_MAX_FAILURE_TOKENS = 2000


async def stays_whole(result: Any, call: ToolCall) -> bool:
    """Returns whether a result passes as it is.

    So do results of ADK's and the pack's own tools (see `CHANGEABLE`), those that a pass over requests shortens, what
    answers the user (`skip_summarization`), pending long-running results (None), parts and function responses that a
    tool built itself, what a tool returns while it waits for a confirmation or for credentials, and failed results of
    up to about 2,000 tokens.
    """
    try:
        return (
            call.shortened_later
            or call.tool_kind not in CHANGEABLE
            or result is None
            or isinstance(result, types.Part | types.FunctionResponse)
            or _is_waiting(call)
            or getattr(call.actions, "skip_summarization", None) is True
            or await call.off_loop(result, _is_short_failure, result)
        )
    except Exception as exception:
        # A result may be an object of any class, and looking at it may fail. The type only: a message may quote it.
        logger.warning("a result of %s could not be looked at: %s", call.tool_name, type(exception).__name__)
        return True


def is_stub(result: Any, call: ToolCall) -> bool:
    """Returns whether this package has made a result of a larger one, within this very call.

    A tool may return the keys of a stub itself, so only a handle that was kept within the call makes its result one.
    """
    if not isinstance(result, Mapping) or LIMITS not in result:
        return False
    delta = getattr(call.actions, "state_delta", None) or ()
    kept = [str(key) for key in delta if is_result_key(key)] + [f":{entry.handle}" for entry in call.kept]
    handle = result.get(HANDLE)
    return any(handle is None or key.endswith(f":{handle}") for key in kept)


def _is_waiting(call: ToolCall) -> bool:
    waiting_for = ("requested_auth_configs", "requested_tool_confirmations")
    asked = (getattr(call.actions, name, None) or () for name in waiting_for)
    # A merged event of parallel calls holds what each of them asked for.
    return any(call.call_id in calls if call.call_id else bool(calls) for calls in asked)


def _is_short_failure(result: Any) -> bool:
    if not has_failed(result):
        return False
    meter = TokenMeter()
    return (meter.text(result) if isinstance(result, str) else meter.payload(result)) <= _MAX_FAILURE_TOKENS

"""Caps the rows of a tool's result where it is made, and keeps the whole result."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from adk_context_pack._settings import positive
from adk_context_pack.errors import SettingError
from adk_context_pack.tools.capped import LIMITS, capped
from adk_context_pack.tools.payload_store import PayloadStore
from adk_context_pack.tools.stores import READ_BACK_TOOLS
from adk_context_pack.tools.wrap import wrap_tool

logger = logging.getLogger("adk_context_pack")

# ADK reads what these return itself, or the model asked for exactly this.
_NEVER = frozenset(
    {
        "finish_task",
        "transfer_to_agent",
        "set_model_response",
        "load_artifacts",
        *READ_BACK_TOOLS,
    }
)


def cap_rows(tool: Any, *, max_rows: int = 100, state_key: str | None = None) -> BaseTool | BaseToolset:
    """`tool` with its results capped; what the model is told about the tool is unchanged, and so is `tool` itself.

    Args:
        tool: what `LlmAgent(tools=[…])` takes: a function (sync or async, with or without `ToolContext`), a bound
            method, a callable object, a partial, any `BaseTool`, a toolset.
        max_rows: see `CapRows`.
        state_key: see `CapRows`.

    Raises:
        SettingError: `tool` is no tool, or a setting cannot work.
    """
    return wrap_tool(tool, CapRows(max_rows=max_rows, state_key=state_key).reduce)


@dataclass(frozen=True, kw_only=True)
class CapRows:
    """How results are capped; an instance is also an entry for `after_tool_callback=[…]`.

    A result with lists of rows longer than `max_rows` reaches the model with the first `max_rows` of each and
    `_row_limits: {key: {"shown": …, "total": …}}`; everything else is as it was. A bare list, which ADK hands to the
    model as `{"result": […]}`, is capped under that key. The full result is kept in session state, under one key for
    each call. Small results, errors, pending long-running results, confirmations and requests for credentials pass
    as the same object. A result that is capped where it is made never enters the session whole, so the provider's
    cached prefix is not disturbed.

    Args:
        max_rows: how many rows of each list the model sees.
        state_key: the state key of the full result, as a template of the call's arguments and `{tool}`, such as
            "gaql_execution_results:{query_id}"; a key that comes twice holds the newer result. By default
            `rows:<tool>:<handle>`, with a new handle for each call.

    Raises:
        SettingError: a setting that cannot work.
    """

    max_rows: int = 100
    state_key: str | None = None

    def __post_init__(self) -> None:
        """Checks the settings."""
        positive(self, "max_rows", self.max_rows)
        if self.state_key is not None:
            _check_template(self, self.state_key)

    async def __call__(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Any
    ) -> dict[str, Any] | None:
        """ADK's `after_tool_callback`: the capped result, or None where the result stays as it is."""
        result = await self.reduce(tool, args, tool_context, tool_response)
        return None if result is tool_response else result

    async def reduce(self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, result: Any) -> Any:
        """The capped result, or `result` itself where it is small, no result to cap, or could not be kept."""
        try:
            if _passes(tool, tool_context, result):
                return result
            smaller = capped(result, self.max_rows)
            if smaller is not None:
                await self._keep(tool.name, args, tool_context, result)
        except Exception as exception:
            # The type only: a message may quote the payload.
            logger.warning("a result of %s stays whole: %s", tool.name, type(exception).__name__)
            return result
        return result if smaller is None else smaller

    async def _keep(self, tool_name: str, args: Mapping[str, Any], context: ToolContext, result: Any) -> str:
        key = self._key(tool_name, args)
        return await self._store.put(context, _without_media(result), tool_name=tool_name, key=key)

    @property
    def _store(self) -> PayloadStore:
        return PayloadStore(place="state") if self.state_key is not None else PayloadStore()

    def _key(self, tool_name: str, args: Mapping[str, Any]) -> str | None:
        if self.state_key is None:
            return None
        try:
            return self.state_key.format_map({**args, "tool": tool_name})
        except KeyError as missing:
            logger.warning("%s was called without %s, so its full result has no key of its own", tool_name, missing)
            return None


def _check_template(owner: object, template: object) -> None:
    expected = 'a template of plain names such as "results:{query_id}"'
    if not isinstance(template, str) or not template:
        raise SettingError.of(owner, "state_key", template, expected)
    try:
        names = [name for _, name, _, _ in Formatter().parse(template) if name is not None]
    except ValueError:
        raise SettingError.of(owner, "state_key", template, expected) from None
    # Attributes and indexes would let a call's arguments reach into objects.
    if not all(name.isidentifier() for name in names):
        raise SettingError.of(owner, "state_key", template, expected)


def _passes(tool: BaseTool, context: ToolContext, result: Any) -> bool:
    if result is None or tool.name in _NEVER:
        return True
    actions = context.actions
    waiting = (actions.requested_auth_configs, getattr(actions, "requested_tool_confirmations", None))
    return any(waiting) or (isinstance(result, Mapping) and (LIMITS in result or _is_error(result)))


def _is_error(result: Mapping[str, Any]) -> bool:
    status = result.get("status")
    failed = isinstance(status, str) and status.lower() in {"error", "failed", "failure"}
    return bool(failed or result.get("error") or result.get("isError") is True)


def _without_media(result: Any) -> Any:
    # ADK takes parts out of a result and shows them beside it, so they stay with the model; a store is for rows.
    if isinstance(result, Mapping) and any(isinstance(value, types.Part) for value in result.values()):
        return {key: value for key, value in result.items() if not isinstance(value, types.Part)}
    return result

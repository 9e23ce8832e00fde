"""Keeps long texts and deep JSON out of the prompt where a tool returns them, and shows a preview."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Unpack

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.tool_context import ToolContext

from adk_context_pack._adk.offered_tools import offered_tools
from adk_context_pack._json import json_text
from adk_context_pack.conversation.tokens import Counter, TokenMeter
from adk_context_pack.errors import SettingError, positive
from adk_context_pack.reports.cap_report import CapReport, cap_report, give_report, stays_whole
from adk_context_pack.stores.append_guard import guard
from adk_context_pack.stores.handles import HANDLE_LENGTH, state_key
from adk_context_pack.stores.opening import choose_store
from adk_context_pack.stores.payload_store import PayloadStore, Place
from adk_context_pack.tools.common_settings import check_common
from adk_context_pack.tools.exempt import is_exempt, is_stub
from adk_context_pack.tools.kept_result import KeptResult
from adk_context_pack.tools.offload_settings import OffloadSettings
from adk_context_pack.tools.payload_plan import Branch, as_plain, plan, replaced
from adk_context_pack.tools.payload_preview import text_preview
from adk_context_pack.tools.wrap import wrap_tool

PREVIEW = "_preview"
"""Where the preview of a whole result stands."""

_NO_HANDLE = "0" * HANDLE_LENGTH
_MAX_FIELDS = 12
_TELLING = frozenset({"status", "status_code", "code", "error", "error_code", "error_message", "isError", "message"})
_SHORT = 200


@dataclass(frozen=True, kw_only=True)
class OffloadPayload:
    """How large results that are no tables are kept; an instance is also an entry for `after_tool_callback=[…]`.

    Of a result over `max_tokens` the largest texts and branches go to the store, as few as it takes, and a preview
    stands in their place: head, tail and lines that report trouble, or the shape of JSON, with the size and a handle
    for `read_payload`. Everything else, status and error among it, is the same object as before. A result that would
    not get smaller, or could not be kept, passes as it is. Put it after `CapRows`, which leaves tables nothing to do.

    What is kept out where it is made never enters the session: the provider's cached prefix is not disturbed.

    Args:
        max_tokens: a result with at most so many is not touched.
        preview_tokens: the size of one preview.
        store: where the whole is kept: "state", "artifacts", "auto" (see `PayloadStore`), or a store.
        tools: settings for single tools by name, in place of these; None for a tool that is never touched.
        counter: a tokenizer of one's own, from text to tokens; without one, tokens are estimated on the high side.
        on_report: called with a `CapReport` for each payload that was kept or could not be.

    Raises:
        SettingError: a setting that cannot work.
    """

    max_tokens: int = 2000
    preview_tokens: int = 400
    store: Place | PayloadStore = "auto"
    tools: Mapping[str, OffloadPayload | None] = field(default_factory=dict)
    counter: Counter | None = None
    on_report: Callable[[CapReport], None] | None = None

    def __post_init__(self) -> None:
        """Checks the settings."""
        positive(self, "max_tokens", self.max_tokens)
        positive(self, "preview_tokens", self.preview_tokens)
        if self.preview_tokens > self.max_tokens:
            raise SettingError.of(self, "preview_tokens", self.preview_tokens, "at most max_tokens")
        check_common(self, OffloadPayload)

    async def __call__(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Any
    ) -> dict[str, Any] | None:
        """ADK's `after_tool_callback`: the smaller result, or None where the result stays as it is."""
        result = await self.reduce(tool, args, tool_context, tool_response)
        if result is tool_response:
            return None
        # What ADK makes of a result that is no dict.
        return result if isinstance(result, dict) else {"result": result}

    async def reduce(self, tool: BaseTool, _args: dict[str, Any], tool_context: ToolContext, result: Any) -> Any:
        """The smaller result, or `result` itself; what a wrapped tool runs behind itself."""
        # An empty result in place of this one: an error may be as long as any other result, and its body may go.
        actions = tool_context.actions
        if result is None or is_exempt(tool.name, {}, actions, tool_context.function_call_id):
            return result
        if is_stub(result, actions):
            return result
        settings = self.settings_for(tool.name)
        return result if settings is None else await settings.offloaded(result, tool_context, tool_name=tool.name)

    def settings_for(self, tool_name: str) -> OffloadPayload | None:
        """The settings for one tool: its own, or these; None for a tool that is never touched."""
        return self.tools.get(tool_name, self)

    async def offloaded(  # noqa: PLR0913 - a call, and where it came from
        self,
        result: Any,
        context: Any,
        *,
        tool_name: str,
        delta: MutableMapping[str, Any] | None = None,
        offered: frozenset[str] = frozenset(),
        call_id: str | None = None,
    ) -> Any:
        """The smaller form of any result, or `result` itself where it is small or cannot be kept.

        Args:
            result: what the tool returned.
            context: ADK's tool, callback or invocation context.
            tool_name: the tool.
            delta: the state delta to write to where `context` has none of its own; see `PayloadStore.put`.
            offered: names of tools that the agent has beyond its own list.
            call_id: the call's id, where `context` does not know it.
        """
        handles: list[str] = []
        try:
            can_read = "read_payload" in offered or "read_payload" in offered_tools(context)
            smaller = await self._smaller(result, context, tool_name, delta, handles, can_read=can_read)
        except Exception as exception:
            stays_whole(context, tool_name, exception, self.on_report)
            smaller = result
        for handle in handles:
            kept = KeptResult(
                key=state_key("payload", tool_name, handle),
                call_id=call_id or getattr(context, "function_call_id", None),
                result=result,
                smaller=smaller,
                report=cap_report(context, tool_name),
                on_report=self.on_report,
            )
            guard(context, kept)
        return smaller

    async def _smaller(  # noqa: PLR0913 - as above
        self,
        result: Any,
        context: Any,
        tool_name: str,
        delta: MutableMapping[str, Any] | None,
        handles: list[str],
        *,
        can_read: bool,
    ) -> Any:
        meter = TokenMeter(counter=self.counter)
        plain = as_plain(result)
        branches = plan(
            plain,
            max_tokens=self.max_tokens,
            preview_tokens=self.preview_tokens,
            measure=lambda value: meter.text(value) if isinstance(value, str) else meter.payload(value),
        )
        gains = [(branch, shown) for branch in branches if (shown := self._stub(branch, meter, can_read=can_read))]
        store, smaller = choose_store(self.store), plain
        for branch, shown in gains:
            handle = await store.put(context, branch.value, tool_name=tool_name, kind="payload", delta=delta)
            handles.append(handle)
            give_report(self.on_report, cap_report(context, tool_name, handle=handle))
            smaller = _with_preview(smaller, branch, shown.replace(_NO_HANDLE, handle, 1))
        return smaller if gains else result

    def _stub(self, branch: Branch, meter: TokenMeter, *, can_read: bool) -> str | None:
        text = branch.value if isinstance(branch.value, str) else json_text(branch.value)
        how = f"; read_payload(handle='{_NO_HANDLE}') reads and searches it" if can_read else f" as {_NO_HANDLE}"
        kind = "text" if isinstance(branch.value, str) else "JSON"
        mark = f"[{kind} of {len(text)} characters, shown in part. The whole is kept{how}]"
        stub = f"{mark}\n{text_preview(text, max_tokens=self.preview_tokens, counter=self.counter)}"
        return stub if meter.text(stub) < branch.tokens else None


def offload_payload(tool: Any, **settings: Unpack[OffloadSettings]) -> BaseTool | BaseToolset:
    """`tool` with its large results kept in a store and shown as previews; `tool` itself is unchanged.

    Args:
        tool: what `LlmAgent(tools=[…])` takes: a function (sync or async, with or without `ToolContext`), a bound
            method, a callable object, a partial, any `BaseTool`, a toolset.
        settings: those of `OffloadPayload`: `max_tokens`, `preview_tokens`, `store`, `tools` (for a toolset),
            `counter`, `on_report`.

    Raises:
        SettingError: `tool` is no tool, or a setting cannot work.
    """
    return wrap_tool(tool, OffloadPayload(**settings).reduce)


def _with_preview(result: Any, branch: Branch, shown: str) -> Any:
    if branch.path or not isinstance(result, Mapping):
        return replaced(result, branch.path, shown)
    # Short fields such as status and error say what the result is; they stay beside the preview of the whole.
    short = {key: value for key, value in result.items() if _is_short(value)}
    if len(short) > _MAX_FIELDS:
        short = {key: value for key, value in short.items() if key in _TELLING}
    return {**short, PREVIEW: shown}


def _is_short(value: Any) -> bool:
    return value is None or isinstance(value, bool | float | int) or (isinstance(value, str) and len(value) <= _SHORT)

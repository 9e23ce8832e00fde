"""Keeps long texts and deep JSON out of the prompt where a tool returns them, and shows a preview."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Unpack

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset

from adk_context_pack.errors import SettingError, positive
from adk_context_pack.tools.result_limits import ResultLimits
from adk_context_pack.tools.result_pass import PlannedPass, ResultSettings
from adk_context_pack.tools.wrap import wrap_tool


class OffloadSettings(ResultSettings, total=False):
    """The settings of `offload_payload`, explained at `OffloadPayload`."""

    max_tokens: int
    preview_tokens: int | None


@dataclass(frozen=True, kw_only=True)
class OffloadPayload(PlannedPass):
    """Keeps large texts and branches of results in a store, and shows the model a preview of each.

    Of a result over `max_tokens` the largest texts and branches go to the store, as few as it takes. In their place the
    model gets a preview: head, tail and lines that report trouble, or the shape of JSON, with the size and a handle for
    `read_payload`. Everything else, status and message of a failure among it, is the same object as before. Prose, code
    and passages of up to four times `max_tokens` stay whole, as they are mostly read to their end, and so do texts of
    a tool whose results the session has read back before. A failed result of up to about 2,000 tokens, unless it is
    a web page, and a result that would not get smaller pass as they are. A payload that cannot be stored is shown in
    part all the same, and its preview says so. Together with `CapRows` one plan reduces tables and what is beside them.

    An instance is an entry for `after_tool_callback=[…]` or for the `result_passes` of a `ContextPackPlugin`.

    Cost to the prompt cache: none. A result that is offloaded as the tool returns it never enters the session.

    Args:
        max_tokens: a result with at most so many is not touched.
        preview_tokens: the size of one preview. None means a fifth of `max_tokens`, and at least 100 tokens.
        store: where the whole is kept: "state", "artifacts", "auto" (see `PayloadStore`), or a store.
        counter: a tokenizer from text to tokens. Without one, tokens are estimated on the high side.
        tools: settings for single tools by name, in place of these. "whole" or None is for a tool that is never
            touched.
        on_report: called with a `CapReport` for each payload that was kept or could not be.
        on_error: "skip" logs a failure, "raise" lets the exception through, for tests.
    """

    kept_kind: ClassVar[Literal["payload"]] = "payload"

    max_tokens: int = 1000
    preview_tokens: int | None = None

    def __post_init__(self) -> None:
        """Checks the settings."""
        super().__post_init__()
        positive(self, "max_tokens", self.max_tokens)
        if self.preview_tokens is not None and positive(self, "preview_tokens", self.preview_tokens) > self.max_tokens:
            raise SettingError.of(self, "preview_tokens", self.preview_tokens, "at most max_tokens")

    def limit(self, limits: ResultLimits) -> ResultLimits:
        """Returns limits with those of texts and branches put in."""
        size = self.preview_tokens or min(max(100, round(self.max_tokens * 0.2)), self.max_tokens)
        counter = limits.counter or self.counter
        return replace(limits, text_tokens=self.max_tokens, preview_tokens=size, counter=counter)


def offload_payload(tool: Any, **settings: Unpack[OffloadSettings]) -> BaseTool | BaseToolset:
    """Returns `tool` with its large results kept in a store and shown as previews. `tool` itself is unchanged.

    Args:
        tool: what `LlmAgent(tools=[…])` takes: a function (sync or async, with or without `ToolContext`), a bound
            method, a callable object, a partial, any `BaseTool`, a toolset.
        settings: those of `OffloadPayload`: `max_tokens`, `preview_tokens`, `store`, `counter`, `tools` (for a
            toolset), `on_report`, `on_error`.

    Raises:
        SettingError: `tool` is not a tool, or a setting cannot work.
    """
    return wrap_tool(tool, OffloadPayload(**settings).reduce)


DEFAULT_PAYLOADS = OffloadPayload()
"""Other results of up to 1,000 tokens reach the model as they are, others as previews of 200 tokens."""

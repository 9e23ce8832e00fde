"""Keeps long texts and deep JSON out of the prompt where a tool returns them, and shows a preview."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, TypedDict, Unpack

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset

from adk_context_pack._json import json_text
from adk_context_pack.conversation.tokens import Counter, TokenMeter, valid_counter
from adk_context_pack.errors import SettingError, positive
from adk_context_pack.reports.cap_report import CapReport
from adk_context_pack.stores.handles import NO_HANDLE
from adk_context_pack.stores.json_parts import dumps
from adk_context_pack.stores.opening import choose_store
from adk_context_pack.stores.payload_store import PayloadStore, Place
from adk_context_pack.tables.failure import MESSAGE_KEYS
from adk_context_pack.tables.frames import without_frames
from adk_context_pack.tables.stub_form import FACTS, HANDLE, LIMITS, NOTE, PREVIEW, preview_mark
from adk_context_pack.tools.exempt import is_stub
from adk_context_pack.tools.payload_plan import Branch, as_plain, plan, replaced
from adk_context_pack.tools.result_pass import ResultPass
from adk_context_pack.tools.tool_call import ToolCall
from adk_context_pack.tools.wrap import wrap_tool

_PREVIEW_TOKENS = 400
_MAX_FIELDS = 12
_TELLING = frozenset({"status", "status_code", "code", "error", "error_code", "isError", *MESSAGE_KEYS})
_SHORT, _SHORT_MESSAGE = 200, 2_000
_OF_THE_STUB = frozenset({LIMITS, FACTS, HANDLE, NOTE})


class OffloadSettings(TypedDict, total=False):
    """The settings of `offload_payload`, explained at `OffloadPayload`."""

    max_tokens: int
    preview_tokens: int | None
    store: Place | PayloadStore
    counter: Counter | None
    tools: Mapping[str, OffloadPayload | None]
    on_report: Callable[[CapReport], None] | None
    on_error: Literal["skip", "raise"]


@dataclass(frozen=True, kw_only=True)
class OffloadPayload(ResultPass):
    """Keeps large texts and branches of results in a store, and shows the model a preview of each.

    Of a result over `max_tokens` the largest texts and branches go to the store, as few as it takes. In their place the
    model gets a preview: head, tail and lines that report trouble, or the shape of JSON, with the size and a handle for
    `read_payload`. Everything else, status and message of a failure among it, is the same object as before. A failed
    result of up to about 2,000 tokens, a result that would not get smaller, and one that could not be stored pass as
    they are. Put it after `CapRows`: of a capped result it reduces only what stands beside the tables.

    An instance is an entry for `after_tool_callback=[…]` or for the `result_passes` of a `ContextPackPlugin`.

    Cost to the prompt cache: none. A result that is offloaded as the tool returns it never enters the session.

    Args:
        max_tokens: a result with at most so many is not touched.
        preview_tokens: the size of one preview. None means half of `max_tokens`, and at most 400 tokens.
        store: where the whole is kept: "state", "artifacts", "auto" (see `PayloadStore`), or a store.
        counter: a tokenizer from text to tokens; without one, tokens are estimated on the high side.
        tools: settings for single tools by name, in place of these; None for a tool that is never touched.
        on_report: called with a `CapReport` for each payload that was kept or could not be.
        on_error: "skip" leaves a result whole when offloading fails, "raise" lets the exception through, for tests.

    Raises:
        SettingError: a setting that cannot work.
    """

    kept_kind: ClassVar[str | None] = "payload"

    max_tokens: int = 2000
    preview_tokens: int | None = None
    store: Place | PayloadStore = "auto"
    counter: Counter | None = None

    def __post_init__(self) -> None:
        """Checks the settings."""
        super().__post_init__()
        positive(self, "max_tokens", self.max_tokens)
        if self.preview_tokens is not None and positive(self, "preview_tokens", self.preview_tokens) > self.max_tokens:
            raise SettingError.of(self, "preview_tokens", self.preview_tokens, "at most max_tokens")
        choose_store(self.store)
        valid_counter(self, self.counter)

    @property
    def _preview_size(self) -> int:
        return self.preview_tokens or max(1, min(_PREVIEW_TOKENS, self.max_tokens // 2))

    async def apply(self, result: Any, call: ToolCall) -> Any:
        """Returns the result with previews in the place of its largest parts, or `result` itself where it is small.

        A data frame becomes rows in any case, since ADK has no JSON for it.
        """
        result = await call.off_loop(result, without_frames, result)
        if not is_stub(result, call):
            return await self._reduced(result, call)
        # A capped result may hold long texts beside its tables.
        rest = _beside_tables(result)
        return _merged(result, rest, await self._reduced(rest, call))

    async def _reduced(self, result: Any, call: ToolCall) -> Any:
        meter = TokenMeter(counter=self.counter)
        smaller, branches = await call.off_loop(result, self._planned, result, meter)
        if not branches:
            return result
        mark = partial(preview_mark, can_read=call.offers("read_payload"), refer_in=call.where_to_refer)
        gains = await call.off_loop(result, self._gains, branches, meter, mark)
        for branch, preview in gains:
            handle = await call.keep(branch.value, store=self.store)
            smaller = await call.off_loop(result, _with_preview, smaller, branch, preview.shown(mark, handle))
        return smaller if gains else result

    def _planned(self, result: Any, meter: TokenMeter) -> tuple[Any, list[Branch]]:
        """Returns the result as plain data, and the branches that have to go."""
        plain = as_plain(result)
        branches = plan(
            plain,
            max_tokens=self.max_tokens,
            preview_tokens=self._preview_size,
            measure=lambda value: meter.text(value) if isinstance(value, str) else meter.payload(value),
        )
        return plain, branches

    def _gains(self, branches: list[Branch], meter: TokenMeter, mark: _Mark) -> list[tuple[Branch, _Preview]]:
        """Returns the branches that get smaller, with what is shown of each."""
        previews = [(branch, self._preview(branch)) for branch in branches]
        return [(one, preview) for one, preview in previews if meter.text(preview.shown(mark, NO_HANDLE)) < one.tokens]

    def _preview(self, branch: Branch) -> _Preview:
        from adk_context_pack.tools.payload_preview import text_preview  # noqa: PLC0415 - few results need one

        text = branch.value if isinstance(branch.value, str) else dumps(branch.value, json_text)
        shown = text_preview(text, max_tokens=self._preview_size, counter=self.counter)
        return _Preview("text" if isinstance(branch.value, str) else "JSON", len(text), shown)


_Mark = Callable[[Literal["text", "JSON"], int, str], str]


class _Preview(NamedTuple):
    kind: Literal["text", "JSON"]
    characters: int
    text: str

    def shown(self, mark: _Mark, handle: str) -> str:
        return f"{mark(self.kind, self.characters, handle)}\n{self.text}"


def offload_payload(tool: Any, **settings: Unpack[OffloadSettings]) -> BaseTool | BaseToolset:
    """Returns `tool` with its large results kept in a store and shown as previews; `tool` itself is unchanged.

    Args:
        tool: what `LlmAgent(tools=[…])` takes: a function (sync or async, with or without `ToolContext`), a bound
            method, a callable object, a partial, any `BaseTool`, a toolset.
        settings: those of `OffloadPayload`: `max_tokens`, `preview_tokens`, `store`, `counter`, `tools` (for a
            toolset), `on_report`, `on_error`.

    Raises:
        SettingError: `tool` is not a tool, or a setting cannot work.
    """
    return wrap_tool(tool, OffloadPayload(**settings).reduce)


def _with_preview(result: Any, branch: Branch, shown: str) -> Any:
    if branch.path or not isinstance(result, Mapping):
        return replaced(result, branch.path, shown)
    # Short fields such as status and error say what the result is; they stay beside the preview of the whole.
    short = {key: value for key, value in result.items() if _is_short(key, value)}
    if len(short) > _MAX_FIELDS:
        short = {key: value for key, value in short.items() if key in _TELLING}
    return {**short, PREVIEW: shown}


def _is_short(key: object, value: Any) -> bool:
    if key in _TELLING and isinstance(value, str | Mapping):
        return len(value if isinstance(value, str) else json_text(value)) <= _SHORT_MESSAGE
    return value is None or isinstance(value, bool | float | int) or (isinstance(value, str) and len(value) <= _SHORT)


def _beside_tables(stub: Mapping[str, Any]) -> dict[str, Any]:
    tables = {str(path).partition(".")[0] for path in stub[LIMITS]} | _OF_THE_STUB
    return {key: value for key, value in stub.items() if key not in tables}


def _merged(stub: Mapping[str, Any], rest: Mapping[str, Any], smaller: Mapping[str, Any]) -> Mapping[str, Any]:
    if smaller is rest:
        return stub
    kept = {key: smaller.get(key, value) for key, value in stub.items() if key not in rest or key in smaller}
    return {**kept, PREVIEW: smaller[PREVIEW]} if PREVIEW in smaller else kept

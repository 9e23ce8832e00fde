"""Adds up what smaller results and the plugin's own tools mean for one request."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack.conversation.growing_cache import bytes_of
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.tokens import TokenMeter
from adk_context_pack.conversation.voices import Voices
from adk_context_pack.reports.result_sizes import SIZES, UNKNOWN, SmallerResult
from adk_context_pack.stores.handles import stored_results

PACK_TOOLS = "tools declared by the plugin"
"""The entry of `ModelCall.memo` with the names of the tools that the plugin added to the request."""

_RELAYED_RESULT = re.compile(r"`([^`]+)` tool returned result:")


class SavedByResults:
    """Holds the tokens that smaller results keep out of one request.

    Attributes:
        tokens: the tokens by tool.
        unknown: smaller results whose saving is not known.
    """

    __slots__ = ("tokens", "unknown")

    def __init__(self) -> None:
        self.tokens: dict[str, int] = {}
        self.unknown = 0

    @property
    def bytes(self) -> int:
        """The memory that it takes, in bytes."""
        return 100 + bytes_of(self.tokens)

    def add(self, found: SmallerResult | None, *, as_text: bool) -> None:
        """Adds one result; None is one that no pass made smaller."""
        if found is UNKNOWN:
            self.unknown += 1
        elif found is not None:
            saved = found.saved_in_text if as_text else found.saved
            self.tokens[found.tool] = self.tokens.get(found.tool, 0) + saved


def saved_by_results(call: ModelCall, contents: Sequence[types.Content], meter: TokenMeter) -> SavedByResults:
    """Returns what smaller results keep out of a request. Contents that an earlier call had are not read again.

    Args:
        call: whose request it is.
        contents: the request's contents before any pass.
        meter: counts the request.
    """
    with meter.growing(contents, "smaller results", SavedByResults) as (saved, new):
        stored = {result.handle: result.tool_name for result in stored_results(call.state)} if new else {}
        is_known = SIZES.knows(call.session_id)
        # A process that has just begun remembers nothing. Only stored results are worth a look then.
        if stored or is_known:
            _add(saved, call, new, stored, None if is_known else set(stored.values()))
    return saved


def declared_tokens(call: ModelCall, request: LlmRequest, meter: TokenMeter) -> int:
    """Returns the tokens of the declarations that the plugin added to a request."""
    names: Collection[str] = call.memo.get(PACK_TOOLS, ())
    if not names:
        return 0
    functions = [
        function
        for tool in (request.config.tools if request.config else None) or ()
        for function in getattr(tool, "function_declarations", None) or ()
        if function.name in names
    ]
    return sum(meter.text(function.model_dump_json(exclude_none=True)) for function in functions)


def _add(
    saved: SavedByResults,
    call: ModelCall,
    contents: Sequence[types.Content],
    stored: Mapping[str, str],
    tools: Collection[str] | None,
) -> None:
    """Adds what contents hold of the results of `tools`, or of all tools where it is None."""
    voices = Voices.of(call)
    for content in contents:
        for part in content.parts or ():
            response = part.function_response
            if response is not None and (tools is None or response.name in tools):
                body = response.response or {}
                found = SIZES.of_response(call.session_id, response.name or "", body, stored)
                saved.add(found, as_text=False)
        if voices.is_relay(content):
            _add_relayed(saved, call.session_id, content, stored)


def _add_relayed(saved: SavedByResults, session_id: str, content: types.Content, stored: Mapping[str, str]) -> None:
    for part in content.parts or ():
        head = _RELAYED_RESULT.search(part.text or "")
        if head is not None:
            saved.add(SIZES.of_text(session_id, head[1], part.text or "", stored), as_text=True)

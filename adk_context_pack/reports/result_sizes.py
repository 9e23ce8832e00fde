"""Remembers what tool results weighed before passes made them smaller, and adds up what that saves a request."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.known_tools import declared_in
from adk_context_pack._json import json_text
from adk_context_pack.conversation.contents import payload_hash
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.outline import Voices
from adk_context_pack.conversation.token_estimate import TokenMeter
from adk_context_pack.stores.handles import IN_TEXT, stored_results


class SmallerResult(NamedTuple):
    """Holds the weights of one result that passes made smaller.

    Attributes:
        tool: the tool's name.
        saved: tokens of the full result less those of the one that the model gets, as the response to its call.
        saved_in_text: the same if ADK writes the result into another agent's request as text.
    """

    tool: str
    saved: int
    saved_in_text: int


class ResultSizes:
    """Remembers smaller results of all sessions of this process, in bounded memory.

    The number is known when a result is made smaller, so that no later call has to open the full one. It is kept in the
    process alone. After a restart, reports count the results of earlier runs as `unknown_results`.
    """

    def __init__(self, max_results: int = 20_000) -> None:
        self._max_results = max_results
        self._known: OrderedDict[tuple[str, object], SmallerResult] = OrderedDict()
        self._sessions: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, session_id: str, shown: Mapping[str, Any], handles: Iterable[str], result: SmallerResult) -> None:
        """Remembers a result."""
        with self._lock:
            for key in (payload_hash(shown), *handles):
                self._sessions[session_id] += (session_id, key) not in self._known
                self._known[session_id, key] = result
            while len(self._known) > self._max_results:
                (oldest, _), _ = self._known.popitem(last=False)
                self._sessions[oldest] -= 1
                if not self._sessions[oldest]:
                    del self._sessions[oldest]

    def knows(self, session_id: str) -> bool:
        """Tells whether any result of a session is remembered."""
        return session_id in self._sessions

    def find(self, session_id: str, tool: str, keys: Iterable[Any], stored: Mapping[str, str]) -> SmallerResult | None:
        """Returns the weights of a result of `tool` by the hash of what is shown of it or the handles in that.

        Returns None if no pass made it smaller, and `UNKNOWN` if an earlier process did, as `stored` tells.
        """
        for key in dict.fromkeys(keys):
            found = self._known.get((session_id, key))
            if found is not None and found.tool == tool:
                return found
            if stored.get(key) == tool:
                return UNKNOWN
        return None


UNKNOWN = SmallerResult(tool="(unknown)", saved=1, saved_in_text=1)
"""A result that an earlier process made smaller, so that nobody remembers what it weighed. It counts as one."""

SIZES = ResultSizes()

ADDED_TOOLS = "tools declared by the plugin"
"""The entry of `ModelCall.memo` with the names of the tools that the plugin added to the request."""

CODE_EXECUTION = "code_execution"
RELAYED_RESULT = re.compile(r"`([^`]+)` tool returned result:")
"""How ADK begins the text of another agent's result, with the tool's name."""


def saved_by_results(call: ModelCall, contents: Sequence[types.Content], meter: TokenMeter) -> Counter[str]:
    """Returns the tokens that smaller results keep out of a request, by tool, how many are `UNKNOWN`, and of all by "".

    Contents that an earlier call had are not read again.
    """
    stored = {result.handle: result.tool_name for result in stored_results(call.state)} if call.state else {}
    is_known = SIZES.knows(call.session_id)
    if not (stored or is_known):
        return Counter()
    # A process that has just begun remembers nothing. Only stored results are worth a look then.
    tools = None if is_known else set(stored.values())

    def take(saved: Counter[str], new: Sequence[types.Content]) -> None:
        voices, has_printed = Voices.of(call), CODE_EXECUTION in stored.values()
        for content in new:
            is_relay = voices.is_relay(content)
            for part in content.parts or ():
                response, tool, text, keys = part.function_response, None, part.text or "", list[Any]()
                if response is not None and (tools is None or response.name in tools):
                    tool, keys = response.name or "", [payload_hash(response.response or {})]
                    # A callback or a session service may have changed its form, but not the handle in it.
                    text = json_text(response.response or {}) if stored else ""
                # So ADK shows a model what an executor printed.
                elif has_printed and text.startswith("```tool_output\n"):
                    tool = CODE_EXECUTION
                elif is_relay and (head := RELAYED_RESULT.search(text)):
                    tool = head[1]
                keys += IN_TEXT.findall(text) if tool is not None else ()
                if tool is not None and (found := SIZES.find(call.session_id, tool, keys, stored)):
                    saved.update({found.tool: found.saved_in_text if is_relay else found.saved, "": 1})

    return meter.grow(contents, "smaller results", Counter[str], take)


def declared_tokens(call: ModelCall, request: LlmRequest, meter: TokenMeter) -> int:
    """Returns the tokens of the declarations that the plugin added to a request."""
    names: Collection[str] = call.memo.get(ADDED_TOOLS, ())
    if not names:
        return 0
    own = (each for each in declared_in(request) if getattr(each, "name", None) in names)
    return sum(meter.text(each.model_dump_json(exclude_none=True)) for each in own)

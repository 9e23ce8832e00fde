"""Builds the requests that the plugin would have made, beside an app that it leaves alone."""

from __future__ import annotations

import hashlib
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from adk_context_pack._adk import Event, LlmRequest, Session, types
from adk_context_pack.conversation.contents import changed, mapped, payload_hash
from adk_context_pack.conversation.model_call import RUNS, ModelCall, ToolRun
from adk_context_pack.conversation.outline import Voices
from adk_context_pack.conversation.token_estimate import window_of
from adk_context_pack.reports.call_report import RELAYED_RESULT, CallReport, CapReport, give_report
from adk_context_pack.stores.byte_cache import KEEPERS, Theirs
from adk_context_pack.stores.handles import HANDLE_LENGTH, ResultKind, state_key
from adk_context_pack.stores.payload_store import PayloadStore
from adk_context_pack.tools.result_limits import LastRequest, ResultWeigher, remember_result
from adk_context_pack.tools.result_pass import ResultReducer

SmallerPair = tuple[tuple[str, int], str, dict[str, Any]]
"""A tool with the hash of its full response, that response as ADK writes it for other agents, and the smaller one."""

_Tools = Mapping[str, ToolRun] | None


@dataclass(frozen=True, kw_only=True)
class UnkeptStore(PayloadStore):
    """Keeps nothing, notes what would have been kept, and gives handles that are the same at each look at an event."""

    event_id: str = ""
    given: dict[str, Any] = field(default_factory=dict, compare=False)

    async def put(self, context: Any, value: Any, *, tool_name: str, kind: ResultKind = "rows", **_: Any) -> str:  # noqa: ARG002 - the signature of the store
        """Returns a new handle, and notes the result."""
        handle = hashlib.sha256(f"{self.event_id} {len(self.given)}".encode()).hexdigest()[:HANDLE_LENGTH]
        self.given[state_key(kind, tool_name, handle)] = value
        return handle


class _Shadow(NamedTuple):
    """An event as the plugin would have had it stored, the state keys of its full results, and the smaller ones."""

    event: Event
    keys: tuple[str, ...]
    pairs: tuple[SmallerPair, ...]


ShadowOf = Callable[[ModelCall], ModelCall]
"""From a model call to the same with the session as the plugin would have it, with smaller results."""


class ShadowSession:
    """Makes requests with the results that the passes would have made, and writes to no event, state or store.

    `reports` are those of the requests that it made, each with the tokens that the provider would count.
    """

    def __init__(self, settings_for: Callable[[str], Any], reports: Sequence[CallReport], **beside: Any) -> None:
        self._settings_for, self._reports, self._beside = settings_for, reports, beside
        self._known: OrderedDict[tuple[str, str], _Shadow | None] = OrderedDict()
        KEEPERS.add(self)

    def drop(self, theirs: Theirs) -> None:
        """Forgets the events of some sessions."""
        for key in [key for key in self._known if key[0] in theirs.sessions]:
            del self._known[key]

    async def see(self, session: Session, event: Event) -> None:
        """Reports on the results in a fresh event."""
        if not event.partial:
            await self._shadow(session.id, event, RUNS.tools(session))

    async def request(self, request: LlmRequest, call: ModelCall) -> tuple[LlmRequest, ShadowOf]:
        """Returns a copy of ADK's request with smaller results, and the session that goes with it.

        The pack's passes and `append_tools` may work on the copy. Nothing that it shares with ADK is written to.
        """
        events: list[Event] = []
        pairs: list[SmallerPair] = []
        state = dict(call.state)
        for event in call.events:
            found = await self._shadow(call.session_id, event) if event.get_function_responses() else None
            events.append(event if found is None else found.event)
            if found is not None:
                pairs += found.pairs
                state |= dict.fromkeys(found.keys, "")
        contents = _exchanged(request.contents or [], Voices.of(call), pairs) if pairs else request.contents
        copied = with_own_tools(request.model_copy(update={"contents": contents}))
        return copied, partial(replace, events=events if pairs else call.events, state=state, is_shadow=True)

    async def _shadow(self, session_id: str, event: Event, tools: _Tools = None) -> _Shadow | None:
        key = session_id, event.id
        if key not in self._known:
            self._known[key] = await self._made(session_id, event, tools)
            # A session with more events would be made anew at each call.
            while len(self._known) > 1_000 and next(iter(self._known))[0] != session_id:  # noqa: PLR2004 - events
                self._known.popitem(last=False)
        return self._known[key]

    async def _made(self, session_id: str, event: Event, tools: _Tools) -> _Shadow | None:
        store = UnkeptStore(event_id=event.id)
        settings = self._settings_for(event.author) if event.get_function_responses() else None
        if settings is None:
            return None
        reducer: ResultReducer = settings.reducer(store, **self._beside)

        def report(found: CapReport) -> None:
            give_report([reducer.on_report], replace(found, session_id=session_id, invocation_id=event.invocation_id))

        key = event.author, session_id
        told = next((each for each in [*self._reports][::-1] if (each.agent, each.session_id) == key), None)
        last = told and LastRequest(tokens=told.tokens_after, opens=told.pack_tools > 0, window=window_of(told.model))
        made = replace(reducer, on_report=report, last=last or LastRequest())
        content = await made.reduced_content(event, None, tools)
        if content is None:
            return None
        parts = zip((event.content.parts if event.content else None) or (), content.parts or (), strict=True)
        responses = [(old.function_response, new.function_response) for old, new in parts if old is not new]
        both = [(old.name or "", old.response or {}, new.response or {}) for old, new in responses if old and new]
        for tool, full, smaller in both:
            handles = [handle for key in store.given if (handle := key[-HANDLE_LENGTH:]) in str(smaller)]
            remember_result(session_id, tool, (full, smaller), handles, ResultWeigher(reducer.counter))
        pairs = tuple(((tool, payload_hash(full)), str(full), smaller) for tool, full, smaller in both)
        return _Shadow(event.model_copy(update={"content": content}), tuple(store.given), pairs)


def _exchanged(contents: Sequence[types.Content], voices: Voices, pairs: Iterable[SmallerPair]) -> list[types.Content]:
    """Returns a request's contents with smaller results in the place of full ones, taking the newest first."""
    # Equal results of several calls differ in their handles. A request may lack the oldest results, but not the newest.
    smaller, texts = defaultdict[Any, list[dict[str, Any]]](list), defaultdict[str, dict[str, Any]](dict)
    for key, text, result in pairs:
        texts[key[0]][text] = key
        smaller[key].append(result)

    def newest(key: tuple[str, int]) -> dict[str, Any]:
        found = smaller[key]
        return found.pop() if len(found) > 1 else found[0]

    def own(part: types.Part) -> types.Part:
        response = part.function_response or types.FunctionResponse()
        if (key := (response.name or "", payload_hash(response.response))) not in smaller:
            return part
        return changed(part, "function_response", changed(response, "response", newest(key)))

    def relayed(part: types.Part) -> types.Part:
        text = part.text or ""
        head = RELAYED_RESULT.search(text)
        for full, key in texts[head[1]].items() if head is not None else ():
            if full in text:
                return part.model_copy(update={"text": text.replace(full, str(newest(key)))})
        return part

    return [mapped(c, relayed if voices.is_relay(c) else own) for c in reversed(contents)][::-1]


def with_own_tools(request: LlmRequest) -> LlmRequest:
    """Returns a copy of a request that takes more tools without changing what it shares with the original."""
    config = request.config
    tools = [
        tool.model_copy(update={"function_declarations": list(tool.function_declarations)})
        if isinstance(tool, types.Tool) and tool.function_declarations
        else tool
        for tool in (config.tools if config else None) or ()
    ]
    own = config and config.model_copy(update={"tools": tools} if tools else None)
    return request.model_copy(update={"config": own, "tools_dict": dict(request.tools_dict)})

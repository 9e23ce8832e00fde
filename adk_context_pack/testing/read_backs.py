"""Reads what a request leaves out with the tools that it names, as an agent would."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest

from adk_context_pack._adk.known_tools import offers
from adk_context_pack._adk.live_events import SessionEvents
from adk_context_pack.conversation.account import entries
from adk_context_pack.conversation.contents import texts_of
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.testing.request_values import part_lines, part_values, says
from adk_context_pack.tools.read_back import offer_read_back
from adk_context_pack.tools.search_history import NAME, SearchHistory, Wanted

_READ_EVENT = re.compile(r"read_event='([^']+)'")
_WORD = re.compile(r"\w{3,}")
_SEARCH = SearchHistory()


def read_backs(request: LlmRequest, text: str, call: ModelCall, stored: Mapping[str, str]) -> str:
    """Returns what the read-backs that a request names would give, within two of them.

    Args:
        request: the reduced request.
        text: what it says.
        call: its model call, whose session holds what was left out.
        stored: what each handle opens, as text.
    """
    found = [whole for handle, whole in stored.items() if handle in text]
    if names_search(request, text) and call.context is not None:
        searched = "\n".join(_searched(text, call))
        found += [searched, *(whole for handle, whole in stored.items() if handle in searched)]
    return "\n".join(found)


def _searched(text: str, call: ModelCall) -> Iterator[str]:
    events = {event.id: event for event in call.events}
    yield from (_event_values(events[name]) for name in _READ_EVENT.findall(text) if name in events)
    tools = {each.name for event in call.events for each in event.get_function_calls() if each.name}
    message = " ".join(part.text or "" for part in (call.user_content.parts if call.user_content else None) or ())
    searches: list[dict[str, Any]] = [{"query": message}, {"agent": "user"}]
    searches += [{"tool": tool} for tool in sorted(tools) if tool in text]
    for search in searches:
        for entry in _search(call, **search).get("found", ()):
            yield entry["text"]
            if entry["event"] in events:
                yield _event_values(events[entry["event"]])


def names_search(request: LlmRequest, text: str) -> bool:
    """Tells whether a request names a search of the session's past, and offers the tool for it."""
    return offers(request.tools_dict, NAME) and (NAME in text or "read_event" in text)


def with_read_backs(
    apply: Callable[[LlmRequest, ModelCall], LlmRequest], request: LlmRequest, call: ModelCall
) -> LlmRequest:
    """Returns the request after `apply`, with the tools that the plugin offers for a pass.

    Args:
        apply: the method of a pass, or anything with a `leaves_history` as a pass has it. Others leave no history.
        request: the request.
        call: its model call.
    """
    leaves = getattr(getattr(apply, "__self__", apply), "leaves_history", None)
    offer_read_back(request, call.state, history=bool(leaves and leaves(request, call)))
    return apply(request, call)


def event_words(event: Event) -> set[str]:
    """Returns the words of three and more characters that an event says, and that its arguments and results hold."""
    return {word for value in _values(event) for word in _WORD.findall(value)}


def shown_words(event: Event, request: LlmRequest, shown: str) -> set[str]:
    """Returns those words of an event that stand in values which a request shows whole.

    Keys are left out, since an account that gives a value in a sentence needs none. What a user typed counts only where
    the request has it as it was typed, since it may read like what ADK says around the words of other agents.

    Args:
        event: the event.
        request: the request.
        shown: the request as text, without what ADK says itself.
    """
    if event.author == "user" and event.content and not event.get_function_responses():
        said = texts_of(event.content)
        if not any(texts_of(content) == said for content in request.contents or ()):
            return set()
    return {word for value in _values(event) if says(shown, value) for word in _WORD.findall(value)}


def listed_events(call: ModelCall) -> Iterator[str]:
    """Yields the ids of all events that `search_history` lists and opens, page after page."""
    before = ""
    while found := _search(call, before_event=before).get("found"):
        yield from (entry["event"] for entry in found)
        before = found[-1]["event"]


def _values(event: Event) -> list[str]:
    # What earlier searches gave is not searched.
    said = [entry.part for entry in entries(event) if entry.tool != NAME]
    return [value for part in said for value in part_values(part)]


def _event_values(event: Event) -> str:
    return "\n".join(line for entry in entries(event) for line in part_lines(entry.part))


def _search(call: ModelCall, *, query: str = "", **wanted: Any) -> dict[str, Any]:
    context: Any = call.context
    try:
        loaded = SessionEvents(context.session.events, whole=True)
        return _SEARCH.found(context, loaded, Wanted(**wanted), query=query.strip()[:1_000])
    except LookupError:
        return {}

"""`search_history`: the session's past, also what is no longer in the request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from google.adk.events.event import Event
from google.adk.tools.tool_context import ToolContext

from adk_context_pack._adk.live_events import live_events
from adk_context_pack.conversation.account import Entry, entries, event_text
from adk_context_pack.passes.context_pass import logger

NAME = "search_history"
_MAX_FOUND = 8
_SNIPPET = 300
_PAGE = 4000


async def search_history(  # noqa: D417, PLR0913, PLR0917 - ADK fills in tool_context; each argument is one the model sees
    tool_context: ToolContext,
    words: str = "",
    agent: str = "",
    tool: str = "",
    before_event: str = "",
    read_event: str = "",
    offset: int = 0,
) -> dict[str, Any]:
    """Finds what was said, called and returned earlier in this conversation, newest first, or reads one event.

    Args:
        words: Words that must all occur, upper and lower case alike; empty finds everything.
        agent: Only what this agent, or "user", said, called or got.
        tool: Only calls and results of this tool.
        before_event: Go on with what is older than this event id.
        read_event: An event id: gives this event's whole text, in pages, in place of a search.
        offset: The character of the event to begin with; go on with next_offset.
    """
    try:
        events = _visible(tool_context)
        if read_event:
            return _page(events, str(read_event), max(int(offset or 0), 0))
        found = _search(_older(events, before_event), str(words or ""), agent, tool)
        return _answer(found)
    except LookupError as error:
        return {"error": str(error.args[0])}
    except Exception:
        # The traceback goes to the log; a tool of ours never ends a run.
        logger.exception("search_history failed")
        return {"error": "The history could not be searched."}


def _visible(context: ToolContext) -> list[Event]:
    """The events of this session that are the agent's to know: live ones, in its own scope or in none."""
    invocation = getattr(context, "_invocation_context", None)
    scope = getattr(invocation, "isolation_scope", None)
    return [
        event
        for event in live_events(context.session.events)
        if event.actions.compaction is None and getattr(event, "isolation_scope", None) in {None, scope}
    ]


def _older(events: Sequence[Event], event_id: str) -> Sequence[Event]:
    if not event_id:
        return events
    return events[: _index(events, event_id)]


def _search(events: Iterable[Event], words: str, agent: str, tool: str) -> list[tuple[Entry, str]]:
    wanted = words.casefold().split()
    found: list[tuple[Entry, str]] = []
    for event in reversed(list(events)):
        if agent and event.author != agent:
            continue
        for entry in entries(event):
            # What this tool itself was asked and gave would be found again and again.
            if entry.tool == NAME or (tool and entry.tool != tool):
                continue
            text = entry.text
            folded = text.casefold()
            if all(word in folded or word in entry.tool.casefold() for word in wanted):
                found.append((entry, _snippet(text, folded, wanted)))
        # Whole events, since reading on begins before an event.
        if len(found) > _MAX_FOUND:
            break
    return found


def _answer(found: Sequence[tuple[Entry, str]]) -> dict[str, Any]:
    if not found:
        return {"found": [], "note": "Nothing in this session matches. Fewer or other words may."}
    shown = list(found[:_MAX_FOUND])
    reply: dict[str, Any] = {"found": [_describe(entry, snippet) for entry, snippet in shown]}
    if len(found) > len(shown):
        reply["more"] = f"There is more that is older: go on with before_event={shown[-1][0].event.id!r}."
    return reply


def _describe(entry: Entry, snippet: str) -> dict[str, Any]:
    described = {"event": entry.event.id, "agent": entry.event.author, "kind": entry.kind}
    if entry.tool:
        described["tool"] = entry.tool
    described["text"] = snippet
    if len(entry.text) > len(snippet):
        described["read"] = f"{len(entry.text)} characters; read_event={entry.event.id!r} gives all"
    return described


def _snippet(text: str, folded: str, words: Sequence[str]) -> str:
    """The surroundings of the first word that was looked for, or the beginning."""
    if len(text) <= _SNIPPET:
        return text
    at = min((place for word in words if (place := folded.find(word)) >= 0), default=0)
    start = max(0, min(at - _SNIPPET // 3, len(text) - _SNIPPET))
    return f"{'…' if start else ''}{text[start : start + _SNIPPET]}{'…' if start + _SNIPPET < len(text) else ''}"


def _page(events: Sequence[Event], event_id: str, offset: int) -> dict[str, Any]:
    event = events[_index(events, event_id)]
    text = event_text(event)
    page = text[offset : offset + _PAGE]
    reply: dict[str, Any] = {"event": event.id, "agent": event.author, "text": page, "characters": len(text)}
    if offset + _PAGE < len(text):
        reply["next_offset"] = offset + _PAGE
    return reply


def _index(events: Sequence[Event], event_id: str) -> int:
    for index, event in enumerate(events):
        if event.id == event_id:
            return index
    raise LookupError(f"This session has no event {event_id[:60]!r}; ids are those that a search gives.")

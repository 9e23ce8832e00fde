"""Indexes what the events of a session say, and gives a model the tool to search it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from adk_context_pack._adk import Event, ToolContext, releases
from adk_context_pack._adk.known_tools import OPENERS, READ_BACK, ReadBackTool
from adk_context_pack.conversation.account import Entry, EntryKind, entries, event_text
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.errors import Configured, QueryError, answering, counted, integer, positive
from adk_context_pack.search.dates import day_name, relative_dates
from adk_context_pack.search.ranked_index import Excerpt, Keep, RankedIndex, excerpts
from adk_context_pack.stores.byte_cache import CACHE, owner_of
from adk_context_pack.stores.codec import OFF_LOOP_BYTES, off_loop, rough_size
from adk_context_pack.stores.handles import is_handle

_MAX_LISTED, _LISTED = 8, 300
_PAGE, _MAX_QUERY = 4000, 1_000
_MAX_HITS, ID_LENGTH = 50, 8


class Wanted(NamedTuple):
    """The filters of a search. An empty one leaves nothing out.

    Turns count from 1 on, and negative ones from the newest. Times are in seconds, and `until` is the first too late.
    """

    agent: str = ""
    tool: str = ""
    turn: int = 0
    before_event: str = ""
    since: float = -math.inf
    until: float = math.inf


def is_search(entry: Entry) -> bool:
    """Tells whether an entry is a search in the past or its reply, which would be found again and again."""
    if entry.tool != READ_BACK:
        return entry.tool == OPENERS.history
    if (call := entry.part.function_call) is not None:
        args = call.args or {}
        return not (args.get("sql") or is_handle(str(args.get("handle")).strip().lower()))
    response = entry.part.function_response
    return response is not None and not {"found", "event"}.isdisjoint(response.response or ())


class SessionPast(NamedTuple):
    """The events of a session, oldest first, and the index over them.

    `is_seen` tells whether an event may be found: no rewind has annulled it, and it is of no other isolated task (2.x).
    """

    events: Sequence[Event]
    is_seen: Callable[[Event], bool]
    history: HistoryIndex

    @classmethod
    def of(cls, context: ToolContext, loaded: releases.SessionEvents) -> SessionPast:
        """Returns the past of the session behind `context`, with the index grown by its new events."""
        key = *owner_of(context.session), "history", loaded.whole
        # A search takes an index out and puts it back, so that no two change it at once.
        index = CACHE.take(key)
        if index is None or not index.begins(loaded.events):
            index = HistoryIndex()
        index.grow(loaded.events)
        CACHE.put(key, index, index.ranked.bytes + 200 * len(index.entries))
        scopes = {None, releases.isolation_scope_of(context)}
        live = set(map(id, releases.live_events(loaded.events))) if index.rewinds else None

        def is_seen(event: Event) -> bool:
            return releases.scope_of_event(event) in scopes and (live is None or id(event) in live)

        return cls(loaded.events, is_seen, index)

    def number_of(self, event_id: str) -> int:
        """Returns the number of an event that may be seen.

        Raises:
            QueryError: no event is so named, in words for a model.
        """
        for number, event in enumerate(self.events):
            names = () if event.actions.compaction else (event.id, event.id[:ID_LENGTH])
            if event_id in names and self.is_seen(event):
                return number
        raise QueryError(f"This session has no event {event_id[:60]!r}; ids are those that a search gives.")

    def page(self, event_id: str, offset: int) -> dict[str, Any]:
        """Returns a page of what an event says, from a character on."""
        event = self.events[self.number_of(event_id)]
        text, stop = event_text(event), offset + _PAGE
        more = {"next_offset": stop} if stop < len(text) else {}
        return {"event": event.id, "agent": event.author, "text": text[offset:stop], "characters": len(text)} | more

    def keep(self, wanted: Wanted) -> Callable[[int], bool]:
        """Returns a function that tells whether the entry of a number passes the filters.

        Raises:
            QueryError: no event is named `before_event`.
        """
        before = self.number_of(wanted.before_event) if wanted.before_event else len(self.events)
        turn = wanted.turn if wanted.turn >= 0 else self.history.turns + 1 + wanted.turn

        def keep(number: int) -> bool:
            entry = self.history.entries[number]
            event = self.events[entry.event]
            return (
                entry.event < before
                and self.is_seen(event)
                and (not wanted.agent or event.author == wanted.agent)
                and (not wanted.tool or entry.tool == wanted.tool)
                and (not wanted.turn or entry.turn == turn)
                and not (event.timestamp < wanted.since or event.timestamp >= wanted.until)
            )

        # A long text has many passages.
        return cache(keep)


class SearchHistory(Configured, ReadBackTool):
    """`search_history` with other limits. The ready-made `search_history` has the defaults.

    The reply holds the passages that fit the query best, with the passages around the first of them, by day and oldest
    first. Replies add to the prompt and never change what is in it, so the provider's cached prefix stays.
    """

    def __init__(self, *, max_tokens: int = 1500) -> None:
        """Searches what was said, called and returned in the session.

        Args:
            max_tokens: tokens of a reply, as estimated.

        Raises:
            SettingError: `max_tokens` is not a positive integer.
        """
        self._max_tokens = positive("SearchHistory", "max_tokens", max_tokens)
        super().__init__(self.search_history)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Runs the search that a model asked for."""
        # The argument's former name, which recorded sessions still show to a model.
        if "words" in args and "query" not in args:
            args = {"query": args["words"], **args}
        return await super().run_async(args=args, tool_context=tool_context)

    # The model reads this docstring, on every call.
    @answering("The history could not be searched.")
    async def search_history(  # noqa: PLR0913, PLR0917 - ADK fills in tool_context
        self,
        tool_context: ToolContext,
        query: str = "",
        agent: str = "",
        tool: str = "",
        before_event: str = "",
        read_event: str = "",
        offset: int = 0,
        turn: int = 0,
        since: str = "",
        until: str = "",
    ) -> dict[str, Any]:
        """Finds what was said, called and returned earlier in this conversation, and when.

        query: words, "in quotes" for exact ones, or none to list all, newest first. Only of an agent (or "user"), tool
        or turn (1 is the first, -1 the newest), since and until a day (2026-11-23), or older than the id before_event.
        read_event: the id of an event to read whole. offset: the next_offset of a reply.
        """
        wanted = Wanted(agent, tool, integer("turn", turn or 0), before_event, *_span(since, until))
        start = max(integer("offset", offset or 0), 0)
        loaded, asked = await releases.session_events(tool_context), str(query or "").strip()
        size = max(OFF_LOOP_BYTES, rough_size(loaded.events))
        if read_event:
            return await off_loop(size, lambda: SessionPast.of(tool_context, loaded).page(read_event, start))
        return await off_loop(size, self.found, tool_context, loaded, wanted, query=asked, offset=start)

    def found(
        self, context: ToolContext, known: releases.SessionEvents, wanted: Wanted, *, query: str, offset: int = 0
    ) -> dict[str, Any]:
        """Returns the reply to a search in the session behind `context`, of which these events are loaded."""
        if len(query) > _MAX_QUERY:
            return {"error": f"The query has {len(query)} characters. Ask in at most {_MAX_QUERY}."}
        past = SessionPast.of(context, known)
        keep = past.keep(wanted)
        found = _ranked(past, query, keep, offset, self._max_tokens) if query else _listed(past, keep)
        note = f"Only the newest {len(past.events)} events of this session are loaded; older ones were not seen."
        if found:
            return found if known.whole else found | {"note": note}
        nothing = f"Nothing in the {counted(len(past.events), 'event')} of this session matches. Other words may."
        return {"found": {}, "note": nothing if known.whole else f"Nothing matches. {note}"}


def _ranked(past: SessionPast, query: str, keep: Keep, offset: int, most: int) -> dict[str, Any]:
    ranked = past.history.ranked
    hits = [*ranked.search(query, keep=keep, limit=offset + _MAX_HITS)][offset:]
    # An entry of a reply takes about 26 tokens beside its text.
    shown, left = excerpts(ranked, hits, max_tokens=most, cost=estimate_tokens, overhead=26, keep=keep)
    left = _MAX_HITS if left is None and len(hits) == _MAX_HITS else left
    more = {} if left is None else {"next_offset": offset + left}
    return {"found": _by_day(past, shown)} | more if shown else {}


def _listed(past: SessionPast, keep: Keep) -> dict[str, Any]:
    entries, texts, more = past.history.entries, past.history.ranked.texts, {}
    found: list[int] = []
    for number in filter(keep, reversed(range(len(entries)))):
        # Whole events, since reading on begins before an event.
        if len(found) >= _MAX_LISTED and entries[number].event != entries[found[-1]].event:
            oldest = past.events[entries[found[-1]].event].id
            more = {"more": f"There is more that is older: go on before the event {oldest}."}
            break
        found.append(number)
    shown = _by_day(past, (Excerpt(number, 0, min(_LISTED, len(texts[number]))) for number in found))
    return {"found": shown} | more if found else {}


def _by_day(past: SessionPast, parts: Iterable[Excerpt]) -> dict[str, list[str]]:
    """Returns a line for each part by its day, with the event's id and time, the turn, and who said or did it."""
    found: dict[str, list[str]] = {}
    for part in parts:
        entry, text = past.history.entries[part.text], past.history.ranked.texts[part.text]
        event, shown = past.events[entry.event], text[part.start : part.end].strip()
        when = _clock(event.timestamp)
        # A whole id takes as much of a reply as a sentence does, and hardly two of a session begin alike.
        known = event.id[:ID_LENGTH] if past.history.ids[event.id[:ID_LENGTH]] == 1 else event.id
        who = event.author if entry.kind == "said" else f"{event.author} {entry.kind} {entry.tool}"
        line = f"{known}, {f'{when:%H:%M}, ' if when else ''}turn {entry.turn}, {who}: "
        line += f"{'…' if part.start else ''}{shown}{'…' if part.end < len(text) else ''}"
        if when and entry.kind == "said":
            line += "".join(f" [{words}: {day}]" for words, day in relative_dates(shown, when).items())
        if part.end - part.start < len(text):
            line += f" [{len(text)} characters in all; read the event]"
        found.setdefault(day_name(when) if when else "day unknown", []).append(line)
    return found


def _clock(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        # No real clock gives such a time.
        return None


def _span(since: str, until: str) -> tuple[float, float]:
    """Returns the seconds since 1970 from which and before which to search, of days in UTC.

    Raises:
        QueryError: one of the two is not a day in ISO 8601, in words for a model.
    """
    try:
        begun = {day: datetime.fromisoformat(f"{day[:10]}T00:00:00Z").timestamp() for day in (since, until) if day}
        return begun.get(since, -math.inf), begun.get(until, math.inf) + 24 * 3600
    except (ValueError, OverflowError, TypeError):
        raise QueryError(f"A day is written 2026-11-23, not {str(since or until)[:40]!r}.") from None


search_history = SearchHistory().search_history


class IndexedEntry(NamedTuple):
    """One part of an event, by the number under which the index holds its text.

    It has the number of the event in the session, that of the user's turn from 1 on, and the name of a tool.
    """

    event: int
    kind: EntryKind
    tool: str
    turn: int


class HistoryIndex:
    """A ranked index over what was said, called and returned in one session, except for searches in it.

    The number of a text is that of its entry. `ids` counts the events whose id begins so.
    """

    def __init__(self) -> None:
        self.ranked = RankedIndex()
        self.entries: list[IndexedEntry] = []
        self.ids = Counter[str]()
        self.turns = self.rewinds = self._read = 0
        self._ends: list[tuple[str, float]] = []

    def begins(self, events: Sequence[Event]) -> bool:
        """Returns whether `events` are the events read so far, or those and newer ones."""
        return self._ends == _ends(events[: self._read])

    def grow(self, events: Sequence[Event]) -> None:
        """Reads those of a session's events that are new since the last time. `begins` holds for them."""
        for number, event in enumerate(events[self._read :], self._read):
            self.ids[event.id[:ID_LENGTH]] += 1
            self.rewinds += bool(releases.rewound_to(event))
            if event.actions.compaction is not None:
                # A summary repeats what the events say that it was made from.
                continue
            said = list(entries(event))
            day = f"{when.day} {when:%B %Y}" if (when := _clock(event.timestamp)) else ""
            # A question has the word "user" for many things.
            about = day if event.author == "user" else f"{event.author} {day}"
            self.turns += event.author == "user" and any(entry.kind == "said" for entry in said)
            for each in said:
                if not is_search(each) and (text := each.text):
                    self.ranked.add(text, title=f"{each.tool} {about}")
                    self.entries.append(IndexedEntry(number, each.kind, each.tool, max(1, self.turns)))
        self._read, self._ends = len(events), _ends(events)


def _ends(events: Sequence[Event]) -> list[tuple[str, float]]:
    # A session may be deleted and made again under the same id, with ids of events that are counted from one.
    return [(event.id, event.timestamp) for event in (*events[:1], *events[-1:])]

"""The past of a session as a search tool sees it: its events, and an index over what they say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from google.adk.events.event import Event
from google.adk.tools.tool_context import ToolContext

from adk_context_pack._adk.live_events import live_events, session_events
from adk_context_pack._adk.releases import isolation_scope_of, scope_of_event
from adk_context_pack.conversation.history_index import HistoryIndex
from adk_context_pack.stores.byte_cache import ByteCache

# One for the process. A search takes an index out and puts it back, so that no two change it at once.
_INDEXES: ByteCache[HistoryIndex] = ByteCache(max_bytes=64 * 2**20)


class Wanted(NamedTuple):
    """The filters of a search. An empty one leaves nothing out.

    Attributes:
        agent: the author of the event.
        tool: the tool that was called or returned.
        turn: the number of the user's turn, from 1 on. A negative one counts from the newest.
        before_event: the id of the event before which to search.
    """

    agent: str = ""
    tool: str = ""
    turn: int = 0
    before_event: str = ""


class SessionPast(NamedTuple):
    """The events of a session, and which of them are the agent's to know.

    Attributes:
        events: the events, oldest first.
        whole: whether these are all events of the session.
        scope: the isolated task (2.x) that the agent works on, or None.
        live: the numbers of the events that no rewind has annulled.
        history: the index over all of them.
    """

    events: Sequence[Event]
    whole: bool
    scope: str | None
    live: Collection[int]
    history: HistoryIndex

    @classmethod
    async def of(cls, context: ToolContext, *, leaves_out: Callable[[str], bool]) -> SessionPast:
        """Returns the past of the session behind `context`.

        Args:
            context: ADK's tool context.
            leaves_out: tells by its name whether a tool's calls and results are not indexed.
        """
        loaded = await session_events(context)
        session = context.session
        key = session.app_name, session.user_id, session.id, loaded.whole
        index = _INDEXES.take(key)
        if index is None or not index.begins(loaded.events):
            index = HistoryIndex(leaves_out)
        index.grow(loaded.events)
        _INDEXES.put(key, index, index.bytes)
        scope = isolation_scope_of(context)
        return cls(loaded.events, loaded.whole, scope, _live(loaded.events, index), index)

    def number_of(self, event_id: str) -> int:
        """Returns the number of an event that may be seen.

        Raises:
            LookupError: there is no such event, in words for a model.
        """
        for number, event in enumerate(self.events):
            if event.id == event_id and number in self.live and event.actions.compaction is None:
                if scope_of_event(event) in {None, self.scope}:
                    return number
                break
        raise LookupError(f"This session has no event {event_id[:60]!r}; ids are those that a search gives.")

    def keep(self, wanted: Wanted) -> Callable[[int], bool]:
        """Returns a function that tells whether the entry of a number passes the filters.

        Raises:
            LookupError: there is no event `before_event`.
        """
        before = self.number_of(wanted.before_event) if wanted.before_event else len(self.events)
        turn = wanted.turn if wanted.turn >= 0 else self.history.turns + 1 + wanted.turn
        known, live, scopes = self.history.entries, self.live, {None, self.scope}

        def keep(number: int) -> bool:
            entry = known[number]
            return (
                entry.event < before
                and entry.event in live
                and entry.scope in scopes
                and (not wanted.agent or entry.agent == wanted.agent)
                and (not wanted.tool or entry.tool == wanted.tool)
                and (not wanted.turn or entry.turn == turn)
            )

        return keep


def _live(events: Sequence[Event], index: HistoryIndex) -> Collection[int]:
    if not index.rewound:
        return range(len(events))
    live = {id(event) for event in live_events(events)}
    return {number for number, event in enumerate(events) if id(event) in live}

"""Indexes what the events of a session say, as the session grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from google.adk.events.event import Event

from adk_context_pack._adk.live_events import rewound_to
from adk_context_pack._adk.releases import scope_of_event
from adk_context_pack.conversation.account import EntryKind, entries
from adk_context_pack.search.ranked_index import RankedIndex


class IndexedEntry(NamedTuple):
    """One part of an event, by the number under which the index holds its text.

    Attributes:
        event: the number of the event in the session.
        event_id: the event's id.
        agent: who is the event's author.
        kind: what it is.
        tool: the tool's name, for what was called or returned.
        turn: the number of the user's turn, from 1 on.
        scope: the isolated task (2.x) that the event belongs to, or None.
    """

    event: int
    event_id: str
    agent: str
    kind: EntryKind
    tool: str
    turn: int
    scope: str | None


class HistoryIndex:
    """A ranked index over what was said, called and returned in one session.

    Args:
        leaves_out: tells by its name whether the calls and results of a tool are not indexed.

    Attributes:
        ranked: the index. The number of a text is the number of its entry.
        entries: the indexed entries, oldest first.
        turns: how many turns of the user there were.
        rewound: whether a rewind has annulled some of the events.
    """

    def __init__(self, leaves_out: Callable[[str], bool]) -> None:
        self._leaves_out = leaves_out
        self.ranked = RankedIndex()
        self.entries: list[IndexedEntry] = []
        self.turns = 0
        self.rewound = False
        self._read = 0
        self._ends: tuple[object, object] = (None, None)

    @property
    def bytes(self) -> int:
        """About what it holds in memory."""
        return self.ranked.bytes + len(self.entries) * 200

    def begins(self, events: Sequence[Event]) -> bool:
        """Returns whether `events` are the events read so far, or those and newer ones."""
        if not self._read:
            return True
        return len(events) >= self._read and self._ends == (_key(events[0]), _key(events[self._read - 1]))

    def grow(self, events: Sequence[Event]) -> None:
        """Reads the events that are new since the last time.

        Args:
            events: all events of the session, oldest first. `begins` holds for them.
        """
        for number in range(self._read, len(events)):
            self._take(number, events[number])
        self._read = len(events)
        self._ends = (_key(events[0]), _key(events[-1])) if events else (None, None)

    def _take(self, number: int, event: Event) -> None:
        if rewound_to(event):
            self.rewound = True
        if event.actions.compaction is not None:
            # A summary repeats what the events say that it was made from.
            return
        said = list(entries(event))
        if event.author == "user" and any(entry.kind == "said" for entry in said):
            self.turns += 1
        scope = scope_of_event(event)
        for kind, tool, text in ((entry.kind, entry.tool, entry.text) for entry in said):
            if not (tool and self._leaves_out(tool)):
                self.ranked.add(text, title=tool)
                turn = max(1, self.turns)
                self.entries.append(IndexedEntry(number, event.id, event.author or "", kind, tool, turn, scope))


def _key(event: Event) -> tuple[str, float]:
    # A session may be deleted and made again under the same id, with ids of events that are counted from one.
    return event.id, event.timestamp

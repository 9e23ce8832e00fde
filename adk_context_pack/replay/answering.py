"""Measures on recorded sessions whether the next calls could still be made from the requests that the pack leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.adk.events.event import Event

from adk_context_pack.conversation.ledger import scalars
from adk_context_pack.plugin import PackSettings
from adk_context_pack.replay.replayer import SettingsFor, capped, reducer_of
from adk_context_pack.replay.stored_event import RecordedSession
from adk_context_pack.reports.call_report import table
from adk_context_pack.stores.handles import HANDLE_LENGTH
from adk_context_pack.stores.payload_store import PayloadStore
from adk_context_pack.testing.answers import Answerability, Packed, answerability
from adk_context_pack.testing.conversation import Conversation

WITHOUT, WITH = "without the pack", "with the pack"


@dataclass(frozen=True, kw_only=True)
class _ReadableStore(PayloadStore):
    """Keeps the text of what is stored, so that a read-back can be looked into."""

    texts: dict[str, str] = field(default_factory=dict, compare=False, hash=False)

    async def put(self, context: Any, value: Any, **_: Any) -> str:  # noqa: ARG002 - the signature of the store
        handle = f"{len(self.texts) + 1:0{HANDLE_LENGTH}x}"
        self.texts[handle] = "\n".join(map(str, scalars(value)))
        return handle


def packed(settings: PackSettings | None, cached_share: float = 0.1) -> Packed:
    """Returns what the pack does to a recorded session with these settings, for `answerability`."""
    if settings is None:
        return Packed(passes=())
    store = _ReadableStore()
    reducer = reducer_of(settings.stored_in(store))
    known: dict[int, tuple[Event, Event]] = {}

    def reduced(event: Event) -> Event:
        # The event is kept beside its result, so that its id is not given to another one.
        if id(event) not in known:
            known[id(event)] = event, capped(event, reducer)
        return known[id(event)][1]

    passes = settings.passes_within(settings.budget_for(None), cached_price=cached_share)
    return Packed(passes=passes, reduced=reduced, stored=store.texts)


def answers_of(
    session: RecordedSession, packs: Mapping[str, SettingsFor], cached_share: float = 0.1
) -> Iterator[tuple[str, list[Answerability]]]:
    """Yields, for each agent that calls tools in a session, what each of some settings leaves of what its calls need.

    Args:
        session: the session, which is only read.
        packs: the settings, by a name.
        cached_share: the price of a cached token as a share of that of another one.
    """
    agents = {event.author for event in session.events if event.get_function_calls()} - {"user"}
    for agent in sorted(agents):
        given: dict[str, Any] = {"events": session.events, "state": session.first_state()}
        conversation = Conversation(agent=agent, instruction="", keep_ids=True, **given)
        strategies = {name: packed(of(agent), cached_share) for name, of in packs.items()}
        yield agent, answerability([conversation], strategies)


class AnswerabilitySums:
    """The answerability of recorded sessions, added up.

    Attributes:
        results: the whole requests and those with the pack.
        lost: one line for each value that is neither visible nor reachable with the pack, the first twenty.
    """

    def __init__(self, settings_for: SettingsFor) -> None:
        self.results = [Answerability(strategy=WITHOUT), Answerability(strategy=WITH)]
        self.lost: list[str] = []
        self._settings_for = settings_for

    def add(self, session: RecordedSession) -> None:
        """Replays one session. It is only read."""
        for agent, measured in answers_of(session, {WITHOUT: lambda _: None, WITH: self._settings_for}):
            for total, each in zip(self.results, measured, strict=True):
                total.add(each)
            where = f"session {session.id}: {agent} called"
            self.lost += [f"{where} {lost.tool} with {lost.value[:60]!r}" for lost in measured[1].lost]
            del self.lost[20:]

    def lines(self) -> Iterator[str]:
        """Yields the table and, below it, what was lost."""
        if not self.results[0].values:
            yield "No recorded tool call uses a value that its request shows: there is no answerability to measure."
            return
        yield "What the next tool calls needed, and where it is:"
        rows = [("", "calls", "values", "visible", "reachable", "in the last fifth", "characters sent")]
        for each in self.results:
            parts = each.visible_share, each.reachable_share, each.last_fifth_share, each.characters_share
            one, two, three, four = map("{:.1%}".format, parts)
            rows.append((each.strategy, f"{each.calls:,}", f"{each.values:,}", one, two, three, four))
        yield from table(rows)
        gone = self.results[1].values - self.results[1].reachable
        if gone:
            yield f"Neither visible nor reachable within two read-backs: {gone}"
            yield from (f"  {line}" for line in self.lost)

    def to_dict(self) -> dict[str, Any]:
        """Returns the results as plain JSON values."""
        names = ("strategy", "calls", "values", "visible", "reachable", "last_fifth", "characters")
        found = [{name: getattr(each, name) for name in names} for each in self.results]
        return {"strategies": found, "lost": self.lost}

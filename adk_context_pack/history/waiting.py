"""Calls that wait: for a long-running result, for a confirmation, for credentials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from google.adk.events.event import Event

from adk_context_pack.history.pairing import Pairing, Place
from adk_context_pack.model_call import ModelCall
from adk_context_pack.session_fold import fold_events

_APPROVALS = frozenset({"adk_request_credential", "adk_request_confirmation", "adk_request_input"})
"""ADK's own calls, by which it asks the user; releases differ in which of them reach a request."""


def waiting_calls(pairing: Pairing, call: ModelCall) -> set[Place]:
    """The places of calls that nothing may be taken from: unanswered ones, and those that wait for somebody.

    Where ADK has taken the ids away, the newest calls of the name count as the waiting ones.
    """
    found = set(pairing.unanswered)
    found.update(place for place, made in pairing.calls.items() if made.name in _APPROVALS)
    names = fold_events(call, "waiting", _Waiting, _Waiting.take).names
    if not names:
        return found
    unnamed = Counter(names.values())
    for place in reversed(pairing.calls):
        made = pairing.calls[place]
        if made.id in names:
            found.add(place)
        elif made.id is None and unnamed[made.name] > 0:
            unnamed[made.name] -= 1
            found.add(place)
    return found


class _Waiting:
    """The names of waiting calls, by id."""

    def __init__(self) -> None:
        self._long_running: dict[str, str | None] = {}
        self._asked: dict[str, str | None] = {}

    @property
    def names(self) -> dict[str, str | None]:
        return self._long_running | self._asked

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            actions = event.actions
            if actions.requested_tool_confirmations or actions.requested_auth_configs:
                asks = {*actions.requested_tool_confirmations, *actions.requested_auth_configs}
            else:
                asks = set()
            if self._long_running or self._asked:
                self._end(event, asks)
            if asks or event.long_running_tool_ids:
                self._begin(event, asks)

    def _end(self, event: Event, asks: Collection[str]) -> None:
        for result in event.get_function_responses():
            # A long-running tool's first result is its receipt: what ends the waiting is posted by the user. A tool
            # that asked is run again, and gives its result as any other.
            if event.author == "user":
                self._long_running.pop(result.id or "", None)
            if result.id not in asks:
                self._asked.pop(result.id or "", None)

    def _begin(self, event: Event, asks: Collection[str]) -> None:
        named = {used.id: used.name for used in event.get_function_calls()}
        named |= {used.id: used.name for used in event.get_function_responses()}
        self._long_running.update({waits: named.get(waits) for waits in event.long_running_tool_ids or ()})
        self._asked.update({waits: named.get(waits) for waits in asks})

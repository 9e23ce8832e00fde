"""Calls that wait: for a long-running result, for a confirmation, for credentials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from google.adk.events.event import Event

from adk_context_pack.history.groups import Pairing, Place
from adk_context_pack.model_call import ModelCall

_APPROVALS = frozenset({"adk_request_credential", "adk_request_confirmation", "adk_request_input"})
"""ADK's own calls, by which it asks the user; releases differ in which of them reach a request."""


def waiting_calls(pairing: Pairing, call: ModelCall) -> set[Place]:
    """The places of calls that nothing may be taken from: unanswered ones, and those that wait for somebody.

    Where ADK has taken the ids away, the newest calls of the name count as the waiting ones.
    """
    found = set(pairing.unanswered)
    found.update(place for place, made in pairing.calls.items() if made.name in _APPROVALS)
    names = call.memo.get("waiting")
    if names is None:
        call.memo["waiting"] = names = _waiting(call.events)
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


def _waiting(events: Sequence[Event]) -> dict[str, str | None]:
    """The names of waiting calls, by id."""
    long_running: dict[str, str | None] = {}
    asked: dict[str, str | None] = {}
    for event in events:
        actions = event.actions
        asks = {*actions.requested_tool_confirmations, *actions.requested_auth_configs}
        if long_running or asked:
            for result in event.get_function_responses():
                # A long-running tool's first result is its receipt: what ends the waiting is posted by the user. A
                # tool that asked is run again, and gives its result as any other.
                if event.author == "user":
                    long_running.pop(result.id or "", None)
                if result.id not in asks:
                    asked.pop(result.id or "", None)
        if asks or event.long_running_tool_ids:
            named = {used.id: used.name for used in event.get_function_calls()}
            named |= {used.id: used.name for used in event.get_function_responses()}
            long_running.update({waits: named.get(waits) for waits in event.long_running_tool_ids or ()})
            asked.update({waits: named.get(waits) for waits in asks})
    return long_running | asked

"""The events that a rewind has left standing."""

from __future__ import annotations

from collections.abc import Sequence

from google.adk.events.event import Event


def live_events(events: Sequence[Event]) -> Sequence[Event]:
    """Returns `events` without those that a rewind has annulled, oldest first, as ADK's content builder sees them.

    Without a rewind, it returns `events` itself.
    """
    if not any(map(rewound_to, events)):
        return events
    first: dict[str, int] = {}
    for index, event in enumerate(events):
        first.setdefault(event.invocation_id, index)
    kept = []
    index = len(events) - 1
    while index >= 0:
        rewound = rewound_to(events[index])
        if rewound:
            index = min(first.get(rewound, index), index)
        else:
            kept.append(events[index])
        index -= 1
    return kept[::-1]


def rewound_to(event: Event) -> str | None:
    """Returns the id of the invocation before which the session goes on, if `event` is a rewind."""
    # The attribute came with the releases that can rewind.
    return getattr(event.actions, "rewind_before_invocation_id", None)

"""Finds the events of a session that count: those that a rewind has left, also where ADK loaded a part of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from google.adk.events.event import Event

logger = logging.getLogger("adk_context_pack")


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


class SessionEvents(NamedTuple):
    """The events of a session, as far as they could be read. `whole` is False if ADK loaded a part of them."""

    events: Sequence[Event]
    whole: bool


async def session_events(context: Any) -> SessionEvents:
    """Returns the events of the session behind `context`, those included that ADK was told not to load.

    With `RunConfig.get_session_config` ADK loads no more than the newest events. They are read from the session service
    then, which takes one request to it.
    """
    session = context.session
    invocation: Any = getattr(context, "_invocation_context", None)
    # ADK 1.22 has no such setting.
    config = getattr(getattr(invocation, "run_config", None), "get_session_config", None)
    if not (config is not None and (config.num_recent_events is not None or config.after_timestamp is not None)):
        return SessionEvents(session.events, whole=True)
    try:
        stored = await invocation.session_service.get_session(
            app_name=session.app_name, user_id=session.user_id, session_id=session.id
        )
    except Exception:
        logger.exception("the session service could not be asked for the older events of a session")
        stored = None
    if stored is None:
        return SessionEvents(session.events, whole=False)
    known = {event.id for event in stored.events}
    return SessionEvents([*stored.events, *(event for event in session.events if event.id not in known)], whole=True)

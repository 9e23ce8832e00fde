"""Reads the events of a session that ADK loaded in part only."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from google.adk.events.event import Event

logger = logging.getLogger("adk_context_pack")


class SessionEvents(NamedTuple):
    """The events of a session, as far as they could be read.

    Attributes:
        events: the events, oldest first.
        whole: whether these are all events of the session.
    """

    events: Sequence[Event]
    whole: bool


async def session_events(context: Any) -> SessionEvents:
    """Returns the events of the session behind `context`, those included that ADK was told not to load.

    With `RunConfig.get_session_config` ADK loads no more than the newest events. They are read from the session service
    then, which takes one request to it.

    Args:
        context: ADK's tool or callback context.
    """
    session = context.session
    invocation: Any = getattr(context, "_invocation_context", None)
    if not _loaded_in_part(invocation):
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


def _loaded_in_part(invocation: Any) -> bool:
    # ADK 1.22 has no such setting.
    config = getattr(getattr(invocation, "run_config", None), "get_session_config", None)
    return config is not None and (config.num_recent_events is not None or config.after_timestamp is not None)

"""One recorded session, wherever it was read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.adk.events.event import Event


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedSession:
    """A session as it was stored.

    Attributes:
        id: the session's id.
        app_name: the app's name, where it is known.
        user_id: the user's id, where it is known.
        state: the state as it was stored last, `app:` and `user:` keys included.
        events: the events, oldest first.
        source: the file or database it comes from.
    """

    id: str
    app_name: str = ""
    user_id: str = ""
    state: Mapping[str, Any] = field(default_factory=dict)
    events: list[Event]
    source: str = ""

    def first_state(self) -> dict[str, Any]:
        """The state before the first event, as far as it can be known: what no event has changed since."""
        changed = {key for event in self.events for key in event.actions.state_delta}
        return {key: value for key, value in self.state.items() if key not in changed}

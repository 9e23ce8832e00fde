"""The recorded sessions of google/adk-samples, as ADK events."""

from __future__ import annotations

import json
from collections.abc import Iterator

from google.adk.events.event import Event

from tests.support.shared_data import shared_file

FOLDER = "adk_sessions"
AGENT = "personalized_shopping_agent"


def sessions() -> Iterator[list[Event]]:
    """The events of each session, in which `AGENT` spoke; skips the test without the data."""
    for path in sorted(shared_file(FOLDER).glob("*.session.json")):
        yield [Event.model_validate(event) for event in json.loads(path.read_text(encoding="utf-8"))["events"]]

"""A session's past as entries of text: what was said, called and returned, by whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from google.adk.events.event import Event
from google.genai import types

from adk_context_pack.token_estimate import payload_text

EntryKind = Literal["said", "called", "returned"]

_CREDENTIALS = "adk_request_credential"
"""ADK's call that asks for credentials; its answer is the user's secret, and no conversation."""


class Entry(NamedTuple):
    """One part of an event.

    Attributes:
        event: the event.
        kind: what it is.
        tool: the tool's name, for what was called or returned.
        part: the part.
    """

    event: Event
    kind: EntryKind
    tool: str
    part: types.Part

    @property
    def text(self) -> str:
        """The words, or arguments or result as compact JSON."""
        if (call := self.part.function_call) is not None:
            return payload_text(call.args or {})
        if (result := self.part.function_response) is not None:
            return payload_text(result.response or {})
        return self.part.text or ""


def entries(event: Event) -> Iterator[Entry]:
    """What one event says, thoughts, media and credentials left out."""
    for part in (event.content.parts if event.content else None) or ():
        if (used := part.function_call or part.function_response) is not None:
            if used.name != _CREDENTIALS:
                yield Entry(event, "called" if part.function_call else "returned", used.name or "", part)
        elif part.text and not part.thought:
            yield Entry(event, "said", "", part)


def event_text(event: Event) -> str:
    """All that one event says, one entry after the other."""
    return "\n".join(f"{_label(entry)}{entry.text}" for entry in entries(event))


def _label(entry: Entry) -> str:
    return "" if entry.kind == "said" else f"{entry.kind} {entry.tool}: "

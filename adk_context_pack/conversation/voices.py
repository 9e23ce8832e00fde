"""Tells who speaks in a content of the user role: the user, another agent by way of ADK, or ADK itself.

Roles do not tell. Relays, function responses, dynamic instructions and the old form of compaction summaries all have
the user's role. The session's events tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from google.adk.events.event import Event
from google.genai import types

from adk_context_pack._adk.instruction import is_labelled
from adk_context_pack._adk.releases import QUOTE_BEGIN
from adk_context_pack.conversation.contents import MEDIA_REMOVED, texts_of
from adk_context_pack.conversation.known_contents import read_events
from adk_context_pack.conversation.model_call import ModelCall

Voice = Literal["user", "relay", "model", "fixed"]
"""`fixed` is what nobody said in this conversation and no pass may drop: summaries, instructions, what is unknown."""

_RELAYS = ("For context", "What other agents did, quoted", QUOTE_BEGIN)
"""The beginnings of relayed blocks: as ADK writes them, as `CastNarrative` retells them, as notes in their place."""


def spoken(content: types.Content) -> int:
    """Returns a hash of what is said in a content, the same before and after old media make way for references."""
    said = []
    # A plain loop, since this runs for each content of a session.
    for part in content.parts or ():
        text = part.text
        said.append(None if text is None or text.startswith(MEDIA_REMOVED) else text)
    return hash(tuple(said))


class Voices(NamedTuple):
    """Describes what a session says about its speakers, for one model call.

    Attributes:
        user: the hashes of the texts of each user message, in order and only ever more, with the seconds that the first
            such message was later than the event before it. None without events to ask.
        summaries: the texts of ADK's compaction summaries.
    """

    user: Mapping[int, float] | None
    summaries: tuple[str, ...]

    @classmethod
    def of(cls, call: ModelCall) -> Voices:
        """Returns the speakers of the session behind `call`."""
        known: tuple[Voices, int] | None = call.memo.get("speakers")
        if known is None or known[1] != len(call.events):
            said = read_events(call, "voices", _Said, _Said.take)
            user: Mapping[int, float] = said.user
            if call.user_content is not None and (key := spoken(call.user_content)) not in user:
                user = {**user, key: 0.0}
            voices = cls(user if call.events else None, tuple(said.summaries))
            call.memo["speakers"] = known = voices, len(call.events)
        return known[0]

    def is_relay(self, content: types.Content) -> bool:
        """Tells whether a content that holds no function response relays what another agent did."""
        # Few begin like a relay, and only those have to be compared with what users said.
        parts = content.parts
        text = parts[0].text if parts else None
        return text is not None and text.startswith(_RELAYS) and self.voice(content) == "relay"

    def voice(self, content: types.Content, said: int | None = None) -> Voice:
        """Returns who speaks in a content that holds no function response. `said` is the hash of what is said."""
        if self.summaries:
            # Up to 2.6.3 the summary follows "[model] said: ". Later releases give it a content of its own.
            texts = texts_of(content)
            if texts and (texts[-1] or "").endswith(self.summaries):
                return "fixed"
        if content.role == "model":
            return "model"
        if content.role != "user":
            return "fixed"
        if self.user is not None and (spoken(content) if said is None else said) in self.user:
            return "user"
        first = (content.parts[0].text if content.parts else None) or ""
        if first.startswith(_RELAYS):
            return "relay"
        return "fixed" if self.user is not None or is_labelled(first) else "user"


class _Said:
    """Collects what users said and what ADK summed up."""

    __slots__ = ("last", "summaries", "user")

    def __init__(self) -> None:
        self.user: dict[int, float] = {}
        self.last = 0.0
        self.summaries: list[str] = []

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            # Fields are read from the dict of the model, since this runs for each event of a session.
            fields = event.__dict__
            if fields["author"] == "user" and (content := fields["content"]) is not None:
                self.user.setdefault(spoken(content), fields["timestamp"] - (self.last or fields["timestamp"]))
            self.last = fields["timestamp"]
            if (compaction := fields["actions"].compaction) is not None and (summary := compaction.compacted_content):
                self.summaries += [part.text for part in summary.parts or () if part.text]

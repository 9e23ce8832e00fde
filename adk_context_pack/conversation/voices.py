"""Who speaks in a content of the user role: the user, another agent by way of ADK, or ADK itself.

Roles do not tell: relays, function responses, dynamic instructions and the old form of compaction summaries all come
under the user's. The session's events do.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from google.adk.events.event import Event
from google.genai import types

from adk_context_pack._adk.releases import QUOTE_BEGIN
from adk_context_pack.conversation.contents import Texts, texts_of
from adk_context_pack.conversation.event_fold import fold_events
from adk_context_pack.conversation.model_call import ModelCall

Voice = Literal["user", "relay", "model", "fixed"]
"""`fixed` is what nobody said in this conversation and no pass may drop: summaries, instructions, what is unknown."""

_RELAYS = ("For context", "What other agents did, quoted", QUOTE_BEGIN)
"""How a relayed block begins: as ADK writes it, as `CastNarrative` retells it, as `StripForContext` leaves a note."""

_INSTRUCTION = "<<<BEGIN_SYSTEM_INSTRUCTION>>>"
"""How ADK marks its dynamic instruction from 2.9.0 on."""


@dataclass(frozen=True, slots=True)
class Voices:
    """What a session says about its speakers.

    Attributes:
        user: what users said, as a hash of the texts of each message; None where there are no events to ask.
        summaries: the texts of ADK's compaction summaries.
    """

    user: AbstractSet[int] | None
    summaries: tuple[str, ...]

    @classmethod
    def of(cls, call: ModelCall) -> Voices:
        """The speakers of the session behind `call`."""
        read = fold_events(call, "voices", _Read, _Read.take)
        said: AbstractSet[int] = read.said
        if call.user_content is not None and (mark := hash(texts_of(call.user_content))) not in said:
            said = said | {mark}
        return cls(said if call.events else None, tuple(read.summaries))

    def voice(self, content: types.Content) -> Voice:
        """Who speaks in a content that holds no function response."""
        texts = texts_of(content)
        if self.summaries and self._is_summary(texts):
            return "fixed"
        if content.role == "model":
            return "model"
        if content.role != "user":
            return "fixed"
        if self.user is not None and hash(texts) in self.user:
            return "user"
        first = (texts[0] if texts else None) or ""
        if first.startswith(_RELAYS):
            return "relay"
        unknown = self.user is not None or first.startswith(_INSTRUCTION)
        return "fixed" if unknown else "user"

    def _is_summary(self, texts: Texts) -> bool:
        # Up to 2.6.3 the summary stands behind "[model] said: "; later it is a content of its own.
        last = (texts[-1] if texts else None) or ""
        return any(last.endswith(summary) for summary in self.summaries)


class _Read:
    def __init__(self) -> None:
        self.said: set[int] = set()
        self.summaries: list[str] = []

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.author == "user" and event.content is not None:
                self.said.add(hash(texts_of(event.content)))
            if event.actions.compaction is not None:
                self.summaries += _summary_texts(event)


def _summary_texts(event: Event) -> list[str]:
    compaction = event.actions.compaction
    content = compaction.compacted_content if compaction else None
    return [part.text for part in (content.parts if content else None) or () if part.text]

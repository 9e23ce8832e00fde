"""Counting the requests of one session without counting the same payload at each of its calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.adk.events.event import Event

from adk_context_pack.tokens import Counter, TokenMeter


class SessionMeter(TokenMeter):
    """Counts one model call; payloads of the session's events were counted before, once for all its calls.

    ADK's requests share the arguments and results with the session's events (from 2.4.0 on; before, they are counted
    at each call).

    Args:
        known: tokens of the session's payloads, by identity; the session keeps them alive.
        texts: tokens of the texts that were met before; those of one session.
        counter: from text to tokens; without one, tokens are estimated.
    """

    def __init__(self, known: dict[int, int], texts: dict[str, int], *, counter: Counter | None = None) -> None:
        super().__init__(counter=counter)
        self._known = known
        self._texts = texts

    def text(self, text: str) -> int:
        """Tokens of a text."""
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = super().text(text)
        return known

    def payload(self, value: Any) -> int:
        """Tokens of call arguments or a tool's response."""
        known = self._known.get(id(value))
        return super().payload(value) if known is None else known


def payloads_of(event: Event) -> Iterator[Any]:
    """The arguments and results of an event, empty ones left out."""
    for part in (event.content.parts if event.content else None) or ():
        if part.function_call and part.function_call.args:
            yield part.function_call.args
        if part.function_response and part.function_response.response:
            yield part.function_response.response

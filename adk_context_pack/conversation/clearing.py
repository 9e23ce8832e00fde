"""Puts notes in place of bodies, in new contents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from google.genai import types

from adk_context_pack._json import json_text
from adk_context_pack.conversation.contents import changed
from adk_context_pack.conversation.known_contents import KnownContents
from adk_context_pack.conversation.outcome import outcome_of
from adk_context_pack.conversation.pairing import Place, part_at
from adk_context_pack.conversation.tokens import TokenMeter

KEY = "left_out"
"""The first key of every note; a result that has it is a note already."""
_MAX_CHARS = 300
_MAX_HEAD = 100
_MAX_NOTE = 2_000


def is_note(payload: Any) -> bool:
    """Whether a payload is a note of this kind, and not something larger that begins like one."""
    if not isinstance(payload, dict) or next(iter(payload), None) != KEY:
        return False
    return sum(len(str(value)) for value in payload.values() if isinstance(value, str)) <= _MAX_NOTE and all(
        isinstance(value, str) or len(str(value)) <= _MAX_HEAD for value in payload.values()
    )


def result_note(name: str | None, response: Any, tokens: int, *, findable: bool) -> dict[str, str]:
    """The note for one tool result: tool, size, what it was, and its handle if it has one.

    Args:
        name: the tool.
        response: the tool's response.
        tokens: its size.
        findable: whether the agent has `search_history`.
    """
    note = {
        KEY: f"an older result of {name}, about {tokens} tokens; it was seen in full before"
        + (", search_history finds it" if findable else ""),
        "was": outcome_of(response, max_chars=_MAX_CHARS, max_error_chars=_MAX_CHARS),
    }
    if head := _head(response):
        note["began"] = head
    if handle := _handle(response):
        note["handle"] = handle
    return note


def note_length(note: Mapping[str, str]) -> int:
    """About the characters of a note as JSON, escapes allowed for, found without writing it."""
    return sum(len(key) + len(text) + len(text) // 4 + 8 for key, text in note.items())


def arguments_note(args: Mapping[str, Any], tokens: int) -> dict[str, Any]:
    """The note for a call's arguments: how large they were, and the short ones among them."""
    short = {key: value for key, value in args.items() if len(str(value)) <= _MAX_HEAD}
    return {KEY: f"arguments of about {tokens} tokens: {', '.join(map(str, args))}"[:_MAX_CHARS], **short}


def _head(response: Any) -> str:
    """How a text began: the one part of a body whose shape says nothing."""
    for value in response.values() if isinstance(response, dict) else (response,):
        if isinstance(value, str) and len(value) > _MAX_HEAD:
            return value[:_MAX_HEAD]
    return ""


def _handle(response: Any) -> str:
    if not isinstance(response, dict):
        return ""
    for value in (response, *response.values()):
        handle = value.get("handle") if isinstance(value, dict) else None
        if isinstance(handle, str) and len(handle) <= _MAX_HEAD:
            return handle
    return ""


_LARGEST_NOTE = 800
_CHARACTERS_A_TOKEN = 0.7
"""The densest text there is for the estimate: four bytes a character, three bytes a token."""


class _Note(NamedTuple):
    words: dict[str, str]
    tokens: int


class ClearingEditor:
    """Builds new contents where something changes; what it was given stays as it is."""

    def __init__(self, known: KnownContents, meter: TokenMeter, *, findable: bool) -> None:
        self.count = self.saved = 0
        self.meter = meter
        self.findable = findable
        self._contents = known.contents
        # Old results are cleared again at each call, and most of the time would go into writing the same notes.
        self._notes: dict[Place, _Note] = known.drawer(("notes", findable, meter.name))
        self._parts: dict[int, list[types.Part]] = {}

    def result(self, place: Place) -> types.FunctionResponse:
        """The result at a place."""
        return self._part(place).function_response or types.FunctionResponse()

    def is_worth_it(self, place: Place, size: int) -> bool:
        """Whether a result may be cleared at all: it carries no signature, and its note is smaller than its body."""
        part = self._part(place)
        result = part.function_response
        if part.thought_signature or result is None:
            return False
        # A note is shorter than this whatever it says, so that most need not be written to be measured.
        if size > _LARGEST_NOTE:
            return True
        note, tokens = self._note(place, size)
        return tokens < size and _is_shorter_than(note, result.response, size)

    def clear_result(self, place: Place, size: int) -> bool:
        """Puts a note in place of a result's body."""
        return self._put(place, size, self._note(place, size))

    def put_result(self, place: Place, size: int, note: dict[str, str]) -> bool:
        """Puts `note` in place of a result's body, if it is smaller."""
        if not _is_shorter_than(note, self.result(place).response, size):
            return False
        return self._put(place, size, _Note(note, self.meter.payload(note)))

    def _put(self, place: Place, size: int, note: _Note) -> bool:
        result = self._part(place).function_response
        if result is None or note.tokens >= size:
            return False
        self.count += 1
        self.saved += size - note.tokens
        self._replace(place, "function_response", changed(result, "response", note.words))
        return True

    def clear_args(self, place: Place, min_tokens: int) -> None:
        """Puts a note in place of a call's arguments, if they are large and not signed."""
        part = self._part(place)
        call = part.function_call
        if call is None or not call.args or part.thought_signature or is_note(call.args):
            return
        size = self.meter.payload(call.args)
        note = arguments_note(call.args, size)
        saved = size - self.meter.payload(note)
        if size >= min_tokens and saved > 0 and is_shorter(note, call.args):
            self.saved += saved
            self._replace(place, "function_call", changed(call, "args", note))

    def contents(self) -> list[types.Content]:
        """The contents as they now are."""
        rebuilt = list(self._contents)
        for index, parts in self._parts.items():
            rebuilt[index] = changed(rebuilt[index], "parts", parts)
        return rebuilt

    def _note(self, place: Place, size: int) -> _Note:
        note = self._notes.get(place)
        if note is None:
            result = self.result(place)
            words = result_note(result.name, result.response, size, findable=self.findable)
            self._notes[place] = note = _Note(words, self.meter.payload(words))
        return note

    def _part(self, place: Place) -> types.Part:
        return part_at(self._contents, place)

    def _replace(self, place: Place, name: str, value: object) -> None:
        parts = self._parts.setdefault(place.content, list(self._contents[place.content].parts or ()))
        parts[place.part] = changed(parts[place.part], name, value)


def _is_shorter_than(note: Mapping[str, str], payload: Any, size: int) -> bool:
    # Writing out a body takes longer than all the rest, and no body has fewer characters than this.
    return note_length(note) <= size * _CHARACTERS_A_TOKEN or is_shorter(note, payload)


def is_shorter(note: Mapping[str, Any], payload: Any) -> bool:
    """Whether a note has no more characters than what it stands for."""
    return len(json_text(note)) <= len(json_text(payload))

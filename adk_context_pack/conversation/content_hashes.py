"""Hashes the contents of a request, so that a copy of a content is recognised."""

from __future__ import annotations

import marshal
from collections.abc import Iterable
from typing import Any

from google.adk.events.event import Event
from google.genai import types

from adk_context_pack._json import json_text

_SPARE = 256
_SIMPLEST = 2
"""The version of marshal that writes equal values alike. Later ones write references."""


class ContentHashes:
    """Hashes contents by role, texts, payloads, names, ids and media, and by nothing that a provider does not see.

    Python's own hash has a new key in each process, so that nobody can write a content that is taken for another one.

    Writing out a payload takes longer than all the rest. A payload is therefore recognised by its identity, since ADK's
    copies of a content share it with the session's event from 2.4.0 on. The hash of an event's payload is made of the
    event's id and time, which a stored event keeps.
    """

    def __init__(self) -> None:
        # The payloads are held so that no other object gets their identity. They and their hashes are apart: a pair
        # for each would be one more object for Python's garbage collector to visit.
        self._payloads: dict[int, Any] = {}
        self._hashes: dict[int, int] = {}
        self._others: list[int] = []
        self._needed = 0

    def take_events(self, events: Iterable[Event]) -> None:
        """Takes in the payloads of events."""
        payloads, hashes = self._payloads, self._hashes
        for event in events:
            # Reading several fields from the dict of a pydantic model takes half the time of reading its attributes,
            # and this runs for each event of a session.
            fields = event.__dict__
            content, event_id = fields["content"], fields["id"]
            if content is None or not event_id:
                continue
            for number, part in enumerate(content.parts or ()):
                said = part.__dict__
                if said["text"] is not None:
                    continue
                if (result := said["function_response"]) is not None:
                    value = result.response
                else:
                    value = made.args if (made := said["function_call"]) is not None else None
                if value:
                    key = id(value)
                    payloads[key] = value
                    hashes[key] = hash((event_id, fields["timestamp"], number))

    def next_call(self) -> None:
        """Forgets payloads that no event holds where most of them belong to calls long past. Ask before each call."""
        if not self._needed:
            self._needed = len(self._others)
        elif len(self._others) > 2 * self._needed + _SPARE:
            for key in self._others:
                self._payloads.pop(key, None)
                self._hashes.pop(key, None)
            self._others.clear()
            self._needed = 0

    def of(self, contents: Iterable[types.Content]) -> list[int]:
        """Returns the hash of each content."""
        hashes = []
        payloads, known = self._payloads, self._hashes
        for content in contents:
            # The common kinds of content are written out, and fields are read from the dicts of the models, since this
            # runs for each content of a session.
            fields = content.__dict__
            parts = fields["parts"]
            if parts is None or len(parts) != 1:
                hashes.append(self.of_one(content))
                continue
            part = parts[0].__dict__
            head: object = part["text"]
            if head is None:
                result = part["function_response"]
                used = part["function_call"] if result is None else result
                if used is None:
                    hashes.append(self.of_one(content))
                    continue
                said = used.__dict__
                value = said["args"] if result is None else said["response"]
                key = id(value)
                head = said["name"], said["id"], known[key] if payloads.get(key, self) is value else self._add(value)
            hashes.append(hash((fields["role"], head)))
        return hashes

    def of_one(self, content: types.Content) -> int:
        """Returns the hash of one content."""
        parts = content.parts
        if not parts:
            return hash(content.role)
        first = parts[0]
        head = self._part(first) if (text := first.text) is None else text
        if len(parts) == 1:
            return hash((content.role, head))
        rest = [self._part(part) if part.text is None else part.text for part in parts[1:]]
        return hash((content.role, head, *rest))

    def _part(self, part: types.Part) -> tuple[object, ...]:
        used = part.function_response or part.function_call
        if used is not None:
            value = _payload(part)
            key = id(value)
            known = self._hashes[key] if self._payloads.get(key, self) is value else self._add(value)
            return used.name, used.id, known
        if (blob := part.inline_data) is not None:
            return blob.mime_type, blob.data
        if (file := part.file_data) is not None:
            return file.mime_type, file.file_uri
        code, outcome = part.executable_code, part.code_execution_result
        return code and code.code, outcome and outcome.output

    def _add(self, value: Any) -> int:
        key = id(value)
        self._payloads[key], self._hashes[key] = value, payload_hash(value)
        self._others.append(key)
        return self._hashes[key]


def _payload(part: types.Part) -> Any:
    if (result := part.function_response) is not None:
        return result.response
    return part.function_call.args if part.function_call is not None else None


def payload_hash(value: Any) -> int:
    """Returns a hash of call arguments or a tool's response (any JSON-like value), equal for equal values.

    It holds for this process alone.
    """
    try:
        return hash(marshal.dumps(value, _SIMPLEST))
    except ValueError:
        # Values that JSON does not have.
        return hash(json_text(value))

"""A hash for each content of a request, by which it is known again in a copy."""

from __future__ import annotations

import marshal
from collections.abc import Iterable
from typing import Any

from google.genai import types

from adk_context_pack._json import json_text

_SPARE = 256
_SIMPLEST = 2
"""The version of marshal that writes the same for equal values; later ones write references."""


class ContentMarks:
    """Hashes of contents: of roles, texts, payloads, names, ids and media; of nothing that a provider does not see.

    Python's own hash is keyed anew in each process, so that nobody can write a content that is taken for another one.
    The payloads of a call are remembered by identity for the next ones: from 2.4.0 on ADK's copies of a content share
    them with the session's events.
    """

    def __init__(self) -> None:
        # By identity, a payload and its hash apart: a pair for each would be one more thing for the collector to go
        # through, and there is one for each payload of each run.
        self._payloads: dict[int, Any] = {}
        self._marks: dict[int, int] = {}
        self._needed = 0

    def next_call(self) -> None:
        """Forgets all payloads where most of them are those of calls long past; asked before each call."""
        if not self._needed:
            self._needed = len(self._payloads)
        elif len(self._payloads) > 2 * self._needed + _SPARE:
            self._payloads.clear()
            self._marks.clear()
            self._needed = 0

    def of(self, contents: Iterable[types.Content]) -> list[int]:
        """The hash of each content."""
        return [self._content(content) for content in contents]

    def _content(self, content: types.Content) -> int:
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
        if (result := part.function_response) is not None:
            return result.name, result.id, self._payload(result.response)
        if (call := part.function_call) is not None:
            return call.name, call.id, self._payload(call.args)
        if (blob := part.inline_data) is not None:
            return blob.mime_type, blob.data
        if (file := part.file_data) is not None:
            return file.mime_type, file.file_uri
        code, outcome = part.executable_code, part.code_execution_result
        return code and code.code, outcome and outcome.output

    def _payload(self, value: Any) -> int:
        key = id(value)
        if self._payloads.get(key, self) is value:
            return self._marks[key]
        mark = payload_mark(value)
        self._payloads[key], self._marks[key] = value, mark
        return mark


def payload_mark(value: Any) -> int:
    """A hash of call arguments or a tool's response (any JSON-like value); the same for equal ones in this process."""
    try:
        return hash(marshal.dumps(value, _SIMPLEST))
    except ValueError:
        # Values that are not JSON's own.
        return hash(json_text(value))

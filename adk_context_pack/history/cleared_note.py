"""What stands in a request where the body of a tool result, or a call's arguments, were taken out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adk_context_pack._outcome import outcome_of

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

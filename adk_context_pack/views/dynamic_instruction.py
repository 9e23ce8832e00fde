"""Finds the instruction that ADK puts among the contents behind a `static_instruction`, and fills it in.

To the eye it is a user's message, and a user can write it byte for byte. ADK inserts it before the last run of user
contents (at the very front where the static instruction has files), so the first match there is ADK's.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.views.fill import Declared, declare, fill_dynamic, fill_dynamic_loosely, is_labelled
from adk_context_pack.views.view import View


def with_dynamic(request: LlmRequest, agent: Any, view: View, call: ModelCall) -> list[types.Content]:
    """The request's contents with the view in the agent's dynamic instruction; the same list where nothing changes."""
    entry = declare(agent.instruction, view) if getattr(agent, "static_instruction", None) else None
    if entry is None or not entry.may_have_slots:
        return request.contents
    found = _exact(request, entry, view, call) or _loose(request, entry, view, call)
    if found is None or found[1] == _lone_text(request.contents[found[0]]):
        return request.contents
    return _replaced(request.contents, *found)


def _exact(request: LlmRequest, entry: Declared, view: View, call: ModelCall) -> tuple[int, str] | None:
    if entry.pieces is None:
        return None
    for any_view in (False, True):
        for index in chain(_standing(request), _elsewhere(request, call)):
            filled = fill_dynamic(_lone_text(request.contents[index]), entry, view, call, any_view=any_view)
            if filled is not None:
                return index, filled
    return None


def _loose(request: LlmRequest, entry: Declared, view: View, call: ModelCall) -> tuple[int, str] | None:
    for index in _standing(request):
        text = _lone_text(request.contents[index])
        # The first one is ADK's even where a user has written the same; a lone one may be the user's.
        if text and is_labelled(text) and (not _is_users(text, call) or _is_repeated(text, request)):
            return index, fill_dynamic_loosely(text, entry, view, call)
    return None


def _standing(request: LlmRequest) -> Iterator[int]:
    """Where ADK can have put the instruction, the likeliest place first."""
    contents = request.contents
    front = min(getattr(request, "_static_instruction_prefix_end_index", None) or 0, len(contents))
    start = len(contents)
    while start > front and _is_plain_user(contents[start - 1]):
        start -= 1
    yield from range(front)
    yield from range(start, len(contents))


def _elsewhere(request: LlmRequest, call: ModelCall) -> Iterator[int]:
    """Every other place, newest first: a callback may have moved contents; what a user wrote is none of them."""
    for index in range(len(request.contents) - 1, -1, -1):
        content = request.contents[index]
        if _is_plain_user(content) and not _is_users(_lone_text(content), call):
            yield index


def _is_plain_user(content: types.Content) -> bool:
    return content.role == "user" and not any(part.function_response for part in content.parts or ())


def _lone_text(content: types.Content) -> str:
    parts = content.parts or []
    return (parts[0].text or "") if len(parts) == 1 else ""


def _is_users(text: str, call: ModelCall) -> bool:
    if call.user_content and text == _lone_text(call.user_content):
        return True
    return any(event.author == "user" and event.content and text == _lone_text(event.content) for event in call.events)


def _is_repeated(text: str, request: LlmRequest) -> bool:
    return sum(text == _lone_text(content) for content in request.contents) > 1


def _replaced(contents: list[types.Content], index: int, text: str) -> list[types.Content]:
    content = contents[index]
    part = (content.parts or [types.Part()])[0].model_copy(update={"text": text})
    return [*contents[:index], content.model_copy(update={"parts": [part]}), *contents[index + 1 :]]

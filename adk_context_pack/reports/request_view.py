"""A request as text, detached from the session, for people who asked to see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._json import json_text

_MAX_CHARACTERS = 200_000
"""The longest text of one part, since a browser could not show more of it."""


@dataclass(frozen=True, slots=True)
class ViewPart:
    """One part of a request as text.

    Attributes:
        label: who it is from and what it is ("user · text", "tool result · run_query").
        text: its text, arguments and results as JSON, media by type and size only.
    """

    label: str
    text: str


RequestView = tuple[ViewPart, ...]


def view_of(request: LlmRequest, known: RequestView = ()) -> RequestView:
    """Returns a request as text, part by part: system instruction, tool declarations, contents.

    Args:
        request: the request. Only its text is kept.
        known: a view whose equal texts are shared, so that they cost no memory twice.
    """
    same = {part: part for part in known}
    return tuple(same.get(part, part) for part in _parts(request))


def _parts(request: LlmRequest) -> Iterator[ViewPart]:
    config = request.config
    if config and config.system_instruction:
        yield ViewPart("system instruction", _cut(_instruction(config.system_instruction)))
    for tool in (config.tools if config else None) or ():
        for function in getattr(tool, "function_declarations", None) or (tool,):
            dump = getattr(function, "model_dump", None)
            text = _pretty(dump(mode="json", exclude_none=True)) if dump else str(function)
            yield ViewPart("tool declaration", _cut(text))
    for content in request.contents or ():
        for part in content.parts or ():
            yield _part(content.role or "no role", part)


def _part(role: str, part: types.Part) -> ViewPart:
    if part.text is not None:
        return ViewPart(f"{role} · {'thought' if part.thought else 'text'}", _cut(part.text))
    if (call := part.function_call) is not None:
        return ViewPart(f"tool call · {call.name}", _cut(_pretty(call.args)))
    if (result := part.function_response) is not None:
        return ViewPart(f"tool result · {result.name}", _cut(_pretty(result.response)))
    if (blob := part.inline_data) is not None:
        return ViewPart(f"{role} · media", f"{blob.mime_type}, {len(blob.data or b''):,} bytes")
    if (file := part.file_data) is not None:
        return ViewPart(f"{role} · file", str(file.file_uri))
    code = part.executable_code or part.code_execution_result
    return ViewPart(f"{role} · code", _cut(str(getattr(code, "code", None) or getattr(code, "output", None) or "")))


def _instruction(instruction: Any) -> str:
    if isinstance(instruction, str):
        return instruction
    parts = getattr(instruction, "parts", None) or (
        instruction if isinstance(instruction, Sequence) else (instruction,)
    )
    return "\n\n".join(part if isinstance(part, str) else str(getattr(part, "text", None) or part) for part in parts)


def _pretty(value: Any) -> str:
    return json_text(value, layout="indented")


def _cut(text: str) -> str:
    if len(text) <= _MAX_CHARACTERS:
        return text
    return f"{text[:_MAX_CHARACTERS]}\n… {len(text) - _MAX_CHARACTERS:,} more characters"

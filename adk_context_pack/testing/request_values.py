"""What a request says, and which values of a call's arguments are worth looking for in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

_SHORTEST = 3


def leaves(value: Any) -> Iterator[str]:
    """Yields the texts of three and more characters and the numbers of three and more digits in a JSON-like value."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, str) and len(value) >= _SHORTEST:
        yield value
    elif _is_number(value) and sum(letter.isdigit() for letter in str(value)) >= _SHORTEST:
        yield str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def request_text(request: LlmRequest) -> str:
    """Returns all that a request says: instruction, texts, and the values of arguments and results, one a line."""
    instruction = request.config.system_instruction if request.config else None
    lines = [instruction] if isinstance(instruction, str) else []
    for content in request.contents or ():
        for part in content.parts or ():
            lines += _lines(part)
    return "\n".join(lines)


def _lines(part: types.Part) -> list[str]:
    if part.text is not None:
        return [part.text]
    if part.function_call is not None:
        return [part.function_call.name or "", *_all(part.function_call.args)]
    if part.function_response is not None:
        return [part.function_response.name or "", *_all(part.function_response.response)]
    return []


def _all(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _all(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _all(item)
    elif value is not None:
        yield str(value)

"""Lists the values of a request, and those of a call's arguments that are worth looking for in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.releases import PREAMBLES
from adk_context_pack._json import is_number
from adk_context_pack.conversation.ledger import scalars

_SHORTEST = 3


def leaves(value: Any) -> Iterator[str]:
    """Yields the texts of three and more characters and the numbers of three and more digits in a JSON-like value."""
    for item in scalars(value):
        if isinstance(item, str) and len(item) >= _SHORTEST:
            yield item
        elif is_number(item) and sum(letter.isdigit() for letter in str(item)) >= _SHORTEST:
            yield str(item)


def request_text(request: LlmRequest) -> str:
    """Returns all that a request says: instruction, texts, and the values of arguments and results, one a line."""
    return "\n".join(_lines(request))


def told_text(request: LlmRequest) -> str:
    """Returns the same without the fixed words that ADK puts before what it relays."""
    return "\n".join(line for line in _lines(request) if line not in PREAMBLES)


def says(text: str, value: str) -> bool:
    """Tells whether a text holds a value as words of their own, not as a part of a longer word."""
    return value in text and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def part_lines(part: types.Part) -> list[str]:
    """Returns what a part says: its text, or a tool's name with the keys and values of its arguments or result."""
    if part.text is not None:
        return [part.text]
    if part.function_call is not None:
        return [part.function_call.name or "", *_all(part.function_call.args)]
    if part.function_response is not None:
        return [part.function_response.name or "", *_all(part.function_response.response)]
    return []


def part_values(part: types.Part) -> list[str]:
    """Returns what a part says, as its text or as the `leaves` of its arguments or result."""
    if part.text is not None:
        return [part.text]
    used = part.function_call.args if part.function_call else None
    return list(leaves(part.function_response.response if part.function_response else used))


def _lines(request: LlmRequest) -> Iterator[str]:
    instruction = request.config.system_instruction if request.config else None
    if isinstance(instruction, str):
        yield instruction
    for content in request.contents or ():
        for part in content.parts or ():
            yield from part_lines(part)


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

"""A request as a chain of hashes: what the provider sees, in its order, and none of the text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack.tokens import TokenMeter

BLOCK = 1024
"""Characters of a text behind one hash, so that a text which grew at its end, or lost its end, counts for the rest."""

_MAX_NODES = 32
_KEYS = 16
_ENDS = 3
_SCALARS = frozenset({str, int, float, bool, type(None)})


class Link(NamedTuple):
    """One hash of the chain.

    Attributes:
        hash: of this part, or of this block of a long text.
        tokens: of the part; those of a long text all stand at its last block.
        block: how many blocks of the same text stand before this one.
        text: the text, for blocks of a long one; it lives as long as the request.
    """

    hash: int
    tokens: int
    block: int = 0
    text: str = ""


def fingerprint(request: LlmRequest, meter: TokenMeter) -> Iterator[Link]:
    """The chain of a request: tool declarations, system instruction, then each part of each content.

    Tools come first, as OpenAI and Anthropic cache them (platform.claude.com/docs, prompt caching: tools, system,
    messages). Another model is another chain.
    """
    config = request.config
    declared = tuple(_tool(tool) for tool in (config.tools if config else None) or ())
    yield Link(hash((request.model, meter.tools(request), declared)), meter.tools(request))
    instruction = config.system_instruction if config else None
    text = instruction if isinstance(instruction, str) else "" if instruction is None else repr(instruction)
    yield from _text_links(text, "system", meter.system(request))
    for content in request.contents or ():
        yield from _content_links(content, meter)


def _content_links(content: types.Content, meter: TokenMeter) -> Iterator[Link]:
    parts = content.parts or ()
    left = meter.content(content)
    for number, part in enumerate(parts, 1):
        last = number == len(parts)
        tokens = left if last else min(meter.part(part), left)
        left -= tokens
        if part.text is not None:
            yield from _text_links(part.text, (content.role, part.thought), tokens)
        else:
            yield Link(hash((content.role, tokens, _native(part))), tokens)


def _text_links(text: str, label: object, tokens: int) -> Iterator[Link]:
    if len(text) <= BLOCK:
        yield Link(hash((label, text)), tokens)
        return
    starts = range(0, len(text), BLOCK)
    for number, start in enumerate(starts):
        block = text[start : start + BLOCK]
        yield Link(hash((label, block)), tokens if number == len(starts) - 1 else 0, number, text)


def _native(part: types.Part) -> object:
    if (result := part.function_response) is not None:
        return "result", result.id, result.name, _sample(result.response)
    if (call := part.function_call) is not None:
        return "call", call.id, call.name, _sample(call.args)
    if (blob := part.inline_data) is not None:
        data = blob.data or b""
        return "media", blob.mime_type, len(data), data[:64], data[-64:]
    if (file := part.file_data) is not None:
        return "file", file.file_uri
    return "other", repr(part.executable_code or part.code_execution_result)


def _tool(tool: Any) -> object:
    functions = getattr(tool, "function_declarations", None) or ()
    return tuple((each.name, each.description) for each in functions)


def _sample(value: Any) -> int:
    """A hash of a payload's outline: its keys, its lengths, its ends and its middle.

    Hashing every leaf costs more than all passes together (measured: 1.0 ms for 330 KB). The token count, which reads
    every byte, is hashed beside it, so only a change deep within that keeps the length would go unseen.
    """
    seen: list[object] = []
    found = [value]
    for item in found:  # breadth first: the list grows while it is read
        kind = type(item)
        if kind in _SCALARS:
            seen.append(item)
        elif kind is dict:
            seen.append(tuple(item)[:_KEYS])
            found.extend(islice(item.values(), _KEYS))
        elif kind is list:
            seen.append(len(item))
            found.extend(item if len(item) <= _ENDS else (item[0], item[len(item) // 2], item[-1]))
        else:
            seen.append(kind.__name__)
        if len(seen) >= _MAX_NODES:
            break
    return hash(tuple(seen))

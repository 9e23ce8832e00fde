"""A request as a chain of hashes: what the provider sees, in its order, and none of the text."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack.content_marks import payload_mark
from adk_context_pack.tokens import TokenMeter

BLOCK = 1024
"""Characters of a text behind one hash, so that a text which grew at its end, or lost its end, counts for the rest."""


class Link(NamedTuple):
    """One entry of the chain.

    Attributes:
        hash: of what stands there.
        tokens: those of the part behind it, of a long text those of the block.
    """

    hash: int
    tokens: int


def fingerprint(request: LlmRequest, meter: TokenMeter) -> list[Link]:
    """The chain of a request: tool declarations, system instruction, then each part of each content.

    Tools come first, as OpenAI and Anthropic cache them (platform.claude.com/docs, prompt caching: tools, system,
    messages). Another model is another chain. A part has one link, and a long text one for each of its blocks.

    Args:
        request: the request.
        meter: what counts.
    """
    config = request.config
    declared = tuple(_tool(tool) for tool in (config.tools if config else None) or ())
    count = meter.tools(request)
    links = [Link(hash((request.model, count, declared)), count)]
    instruction = config.system_instruction if config else None
    if instruction is not None:
        text = instruction if isinstance(instruction, str) else repr(instruction)
        links += _text_links(text, "system", meter.system(request))
    contents = meter.each(request.contents or (), "links", lambda content: _content_links(content, meter))
    links.extend(chain.from_iterable(contents))
    return links


def _content_links(content: types.Content, meter: TokenMeter) -> list[Link]:
    parts = content.parts or ()
    role = content.role
    left = meter.content(content)
    last = len(parts) - 1
    links: list[Link] = []
    for number, part in enumerate(parts):
        tokens = left if number == last else min(meter.part(part), left)
        left -= tokens
        if part.text is not None:
            links += _text_links(part.text, (role, part.thought), tokens)
        else:
            links.append(Link(hash((role, tokens, _native(part))), tokens))
    return links


def _text_links(text: str, label: object, tokens: int) -> list[Link]:
    if len(text) <= BLOCK:
        return [Link(hash((label, text)), tokens)]
    # Each block has the tokens that its length is worth; what rounding leaves goes to the last one.
    sums = [tokens * min(start, len(text)) // len(text) for start in range(0, len(text) + BLOCK, BLOCK)]
    return [
        Link(hash((label, text[number * BLOCK : (number + 1) * BLOCK])), sums[number + 1] - sums[number])
        for number in range(len(sums) - 1)
    ]


def _native(part: types.Part) -> object:
    if (result := part.function_response) is not None:
        return "result", result.id, result.name, payload_mark(result.response)
    if (call := part.function_call) is not None:
        return "call", call.id, call.name, payload_mark(call.args)
    if (blob := part.inline_data) is not None:
        data = blob.data or b""
        return "media", blob.mime_type, len(data), data[:64], data[-64:]
    if (file := part.file_data) is not None:
        return "file", file.file_uri
    return "other", repr(part.executable_code or part.code_execution_result)


def _tool(tool: Any) -> object:
    functions = getattr(tool, "function_declarations", None) or ()
    return tuple((each.name, each.description) for each in functions)

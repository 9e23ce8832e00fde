"""A request as a chain of hashes: what the provider sees, in its order, and none of the text."""

from __future__ import annotations

from array import array
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack.conversation.content_marks import payload_mark
from adk_context_pack.conversation.tokens import TokenMeter

BLOCK = 1024
"""Characters of a text behind one hash, so that a text which grew at its end, or lost its end, counts for the rest."""


class Chain:
    """The links of a chain, one after another: plain numbers, since a session's chain is kept from call to call.

    Attributes:
        hashes: of what stands there.
        tokens: those of the part behind the link, of a long text those of the block.
    """

    __slots__ = ("hashes", "tokens")

    def __init__(self) -> None:
        self.hashes = array("q")
        self.tokens = array("q")

    def add(self, mark: object, tokens: int) -> None:
        """Adds one link."""
        self.hashes.append(hash(mark))
        # A counter of the user's own may give what is no int.
        self.tokens.append(int(tokens))

    def add_text(self, text: str, label: object, tokens: int) -> None:
        """Adds the links of a text."""
        if len(text) <= BLOCK:
            self.add((label, text), tokens)
            return
        # Each block has the tokens that its length is worth; what rounding leaves goes to the last one.
        sums = [tokens * min(start, len(text)) // len(text) for start in range(0, len(text) + BLOCK, BLOCK)]
        for number in range(len(sums) - 1):
            self.add((label, text[number * BLOCK : (number + 1) * BLOCK]), sums[number + 1] - sums[number])

    def extend(self, other: Chain) -> None:
        """Adds the links of `other`."""
        self.hashes.extend(other.hashes)
        self.tokens.extend(other.tokens)


def fingerprint(request: LlmRequest, meter: TokenMeter) -> Chain:
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
    chain = Chain()
    chain.add((request.model, count, declared), count)
    instruction = config.system_instruction if config else None
    if instruction is not None:
        text = instruction if isinstance(instruction, str) else repr(instruction)
        chain.add_text(text, "system", meter.system(request))
    contents = meter.folded(
        request.contents or (), "chain", Chain, lambda found, content: _add_content(found, content, meter)
    )
    chain.extend(contents)
    return chain


def _add_content(chain: Chain, content: types.Content, meter: TokenMeter) -> None:
    parts = content.parts or ()
    role = content.role
    left = meter.content(content)
    last = len(parts) - 1
    for number, part in enumerate(parts):
        tokens = left if number == last else min(meter.part(part), left)
        left -= tokens
        if part.text is not None:
            chain.add_text(part.text, (role, part.thought), tokens)
        else:
            chain.add((role, tokens, _native(part)), tokens)


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

"""How many tokens a request has: estimated fast, or counted by a tokenizer of the user's own."""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._weights import Weights
from adk_context_pack.errors import SettingError
from adk_context_pack.model_call import ModelCall

Counter = Callable[[str], int]
"""A tokenizer of one's own: from text to its number of tokens."""

# Fitted on o200k, on the high side: prose has 4 to 5 characters a token, dense JSON 2.4, CJK one to two. Letters and
# spaces are cheap, digits and punctuation are what makes text dense, and a CJK character has three UTF-8 bytes. The
# zero byte stands among the letters for the length prefixes of marshal. Random letters (base64) are undercounted until
# the provider's first figure.
_LETTERS_A_TOKEN = 4.2
_OTHERS_A_TOKEN = 1.4
_HIGH_BYTES_A_TOKEN = 3.0
_LETTERS = bytes(range(ord("a"), ord("z") + 1)) + bytes(range(ord("A"), ord("Z") + 1)) + b" \0"
_HIGH = bytes(range(128, 256))
_SAMPLED, _PIECES, _PIECE = 12_288, 12, 256
_CONTENT_OVERHEAD = 4
_WEIGHTS = Weights()
_LONG = 1000
_IMAGE_TOKENS = 258
"""What Gemini bills for one image tile; https://ai.google.dev/gemini-api/docs/tokens."""


def estimate_tokens(text: str) -> int:
    """An estimate of the tokens in `text`, on the high side, in time linear in its length with a small constant.

    Args:
        text: any text; lone surrogates are counted, not refused.
    """
    return _bytes_to_tokens(text.encode("utf-8", "surrogatepass"))


def payload_text(value: Any) -> str:
    """`value` as the compact JSON in which a provider receives it, for counters that need the text.

    What JSON cannot hold (odd keys, cycles, nesting beyond Python's limit) is given as its leaves, one after another.
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except (TypeError, ValueError, RecursionError):
        return ",".join(_leaves(value))


def characters(contents: Sequence[types.Content]) -> int:
    """Characters of all texts and payloads; slow, since payloads are written out as JSON."""
    return sum(_characters(part) for content in contents for part in content.parts or ())


def _characters(part: types.Part) -> int:
    used = part.function_response or part.function_call
    if used is None:
        return len(part.text or "")
    payload = used.response if isinstance(used, types.FunctionResponse) else used.args
    return len(used.name or "") + len(payload_text(payload))


def valid_counter(owner: object, counter: object) -> None:
    """Refuses a `counter` setting that cannot be called with a `SettingError`."""
    if counter is not None and not callable(counter):
        raise SettingError.of(owner, "counter", counter, "a function from text to its number of tokens")


def meter_of(call: ModelCall, counter: Counter | None = None) -> TokenMeter:
    """The meter that all passes of one model call share, so that each content is counted once.

    Args:
        call: the model call that is being prepared.
        counter: from text to tokens; without one, `estimate_tokens`. Each counter has a meter of its own.
    """
    meters: dict[Counter | None, TokenMeter] = call.memo.setdefault("meters", {})
    if counter not in meters:
        meters[counter] = TokenMeter(counter=counter)
    return meters[counter]


class TokenMeter:
    """Counts requests for one model call; what was counted once in it is not counted again.

    Args:
        counter: from text to tokens; without one, `estimate_tokens`.

    A meter remembers objects by identity and keeps them alive, so it lives for one model call.
    """

    def __init__(self, *, counter: Counter | None = None) -> None:
        self._counter = counter
        self._seen: dict[int, tuple[object, int]] = {}
        self._whole: tuple[object, int, int] = (None, 0, 0)

    def text(self, text: str) -> int:
        """Tokens of a text."""
        if self._counter:
            return self._counter(text)
        return estimate_tokens(text) if len(text) < _LONG else _WEIGHTS.of(text, _weigh_text)

    def payload(self, value: Any) -> int:
        """Tokens of call arguments or a tool's response (any JSON-like value)."""
        if not value:
            return 1
        # By identity as well: ADK's copies of a content share the payload with the session's event.
        return self._remembered(value, self._payload)

    def part(self, part: types.Part) -> int:
        """Tokens of one part, media included."""
        if part.text is not None:
            return self.text(part.text)
        if (response := part.function_response) is not None:
            return self.text(response.name or "") + self.payload(response.response)
        if (call := part.function_call) is not None:
            return self.text(call.name or "") + self.payload(call.args)
        return self._native(part)

    def content(self, content: types.Content) -> int:
        """Tokens of one content with what its envelope costs."""
        seen = self._seen.get(id(content))
        if seen is None:
            count = _CONTENT_OVERHEAD + sum(map(self.part, content.parts or ()))
            self._seen[id(content)] = seen = (content, count)
        return seen[1]

    def contents(self, contents: Sequence[types.Content] | None) -> int:
        """Tokens of a request's contents."""
        held, length, total = self._whole
        if not contents or (held is contents and length == len(contents)):
            return total if contents else 0
        # A request is weighed by each pass and by the report; mostly its contents are the same list.
        total = sum(map(self.content, contents))
        self._whole = (contents, len(contents), total)
        return total

    def request(self, request: LlmRequest) -> int:
        """Tokens of everything that is sent: system instruction, tool declarations, contents, media."""
        return self.system(request) + self.tools(request) + self.contents(request.contents)

    def system(self, request: LlmRequest) -> int:
        """Tokens of the system instruction."""
        instruction = request.config.system_instruction if request.config else None
        return self._instruction(instruction)

    def tools(self, request: LlmRequest) -> int:
        """Tokens of the tool declarations."""
        declared = (request.config.tools if request.config else None) or ()
        return sum(self._remembered(tool, self._tool) for tool in declared)

    def _remembered(self, value: object, count: Callable[[Any], int]) -> int:
        seen = self._seen.get(id(value))
        if seen is None:
            self._seen[id(value)] = seen = (value, count(value))
        return seen[1]

    def _payload(self, value: Any) -> int:
        if self._counter:
            return self._counter(payload_text(value))
        return _WEIGHTS.of(value, _weigh_payload)

    def _instruction(self, instruction: Any) -> int:
        if instruction is None:
            return 0
        if isinstance(instruction, str):
            return self.text(instruction)
        if isinstance(instruction, types.Content):
            return self.content(instruction)
        if isinstance(instruction, types.Part):
            return self.part(instruction)
        if isinstance(instruction, list):
            return sum(map(self._instruction, instruction))
        return self.text(str(instruction))

    def _tool(self, tool: Any) -> int:
        if isinstance(tool, types.Tool):
            return self.text(tool.model_dump_json(exclude_none=True))
        return self.text(str(tool))

    def _native(self, part: types.Part) -> int:
        if part.inline_data is not None or part.file_data is not None:
            return _IMAGE_TOKENS
        if (code := part.executable_code) is not None:
            return self.text(code.code or "")
        if (outcome := part.code_execution_result) is not None:
            return self.text(outcome.output or "")
        return 0


def _weigh_text(text: str) -> tuple[int, int]:
    return len(text), estimate_tokens(text)


def _weigh_payload(value: Any) -> tuple[int, int]:
    data = _payload_bytes(value)
    return len(data), _bytes_to_tokens(data)


def _payload_bytes(value: Any) -> bytes:
    # marshal walks a nested dict two to forty times faster than json, and its size is within a few percent of the
    # JSON's: strings stand as they are, and its length prefixes stand where JSON has quotes and commas. Version 1
    # writes floats as text, and nothing by reference.
    try:
        return marshal.dumps(value, 1)
    except ValueError:
        return payload_text(value).encode("utf-8", "surrogatepass")


def _leaves(value: Any) -> Iterator[str]:
    stack, seen = [value], set()
    while stack:
        item = stack.pop()
        if not isinstance(item, (dict, list, tuple)):
            yield str(item)
        elif id(item) not in seen:
            seen.add(id(item))
            stack.extend(item)
            if isinstance(item, dict):
                stack.extend(item.values())


def _bytes_to_tokens(data: bytes) -> int:
    if len(data) <= _SAMPLED:
        return round(_weigh(data))
    # What kinds of characters a long text has is known well enough from a part of it, taken evenly in pieces that
    # are longer than a row; its length is exact.
    step = len(data) / _PIECES
    sample = b"".join([data[int(n * step) : int(n * step) + _PIECE] for n in range(_PIECES)])
    return round(_weigh(sample) * len(data) / len(sample))


def _weigh(data: bytes) -> float:
    others = data.translate(None, _LETTERS)
    letters = (len(data) - len(others)) / _LETTERS_A_TOKEN
    if others.isascii():
        return letters + len(others) / _OTHERS_A_TOKEN
    low = len(others.translate(None, _HIGH))
    return letters + low / _OTHERS_A_TOKEN + (len(others) - low) / _HIGH_BYTES_A_TOKEN

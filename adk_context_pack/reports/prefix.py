"""Turns a request into a chain of hashes, in the order in which the provider reads it, to compare prefixes."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack.conversation.known_contents import payload_hash
from adk_context_pack.conversation.tokens import TokenMeter
from adk_context_pack.reports.call_report import PrefixReport

BLOCK = 1024
"""Characters of a text behind one hash, so that the unchanged beginning of a text counts where its end changed."""


class Chain:
    """Holds the links of a chain as plain numbers, since a session's chain is kept from call to call.

    Attributes:
        hashes: a hash for each link.
        tokens: the tokens of the part behind each link, or those of the block in a long text.
    """

    __slots__ = ("hashes", "tokens")

    def __init__(self) -> None:
        self.hashes = array("q")
        self.tokens = array("q")

    @property
    def bytes(self) -> int:
        """The memory that it takes."""
        return 200 + 16 * len(self.hashes)

    def add(self, key: object, tokens: int) -> None:
        """Adds one link."""
        self.hashes.append(hash(key))
        # A counter of the app's own may return a float.
        self.tokens.append(int(tokens))

    def add_text(self, text: str, label: object, tokens: int) -> None:
        """Adds the links of a text."""
        if len(text) <= BLOCK:
            self.add((label, text), tokens)
            return
        # Each block has the tokens that its length is worth. The last one takes what rounding leaves.
        sums = [tokens * min(start, len(text)) // len(text) for start in range(0, len(text) + BLOCK, BLOCK)]
        for number in range(len(sums) - 1):
            self.add((label, text[number * BLOCK : (number + 1) * BLOCK]), sums[number + 1] - sums[number])

    def extend(self, other: Chain) -> None:
        """Adds the links of `other`."""
        self.hashes.extend(other.hashes)
        self.tokens.extend(other.tokens)


def fingerprint(request: LlmRequest, meter: TokenMeter) -> Chain:
    """Returns the chain of a request: tool declarations, system instruction, then each part of each content.

    Tools are first, since OpenAI and Anthropic cache them so (platform.claude.com/docs, prompt caching: tools, system,
    messages). Another model is another chain. A part has one link, and a long text one for each of its blocks.
    """
    config = request.config
    declared = tuple(
        tuple((each.name, each.description) for each in getattr(tool, "function_declarations", None) or ())
        for tool in (config.tools if config else None) or ()
    )
    count = meter.tools(request)
    chain = Chain()
    chain.add((request.model, count, declared), count)
    instruction = config.system_instruction if config else None
    if instruction is not None:
        text = instruction if isinstance(instruction, str) else repr(instruction)
        chain.add_text(text, "system", meter.system(request))
    with meter.growing(request.contents or (), "chain", Chain) as (contents, new):
        if new:
            for content, tokens in zip(new, meter.sizes(request.contents or ())[-len(new) :], strict=True):
                _add_content(contents, content, meter, tokens)
    chain.extend(contents)
    return chain


def _add_content(chain: Chain, content: types.Content, meter: TokenMeter, left: int) -> None:
    parts = content.parts or ()
    role = content.role
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
        return "result", result.id, result.name, payload_hash(result.response)
    if (call := part.function_call) is not None:
        return "call", call.id, call.name, payload_hash(call.args)
    if (blob := part.inline_data) is not None:
        data = blob.data or b""
        return "media", blob.mime_type, len(data), data[:64], data[-64:]
    if (file := part.file_data) is not None:
        return "file", file.file_uri
    return "other", repr(part.executable_code or part.code_execution_result)


_MAX_AGENTS = 1024
_MAX_LINKS = 1 << 18
"""2 MB of hashes in all. A request has one for each part, and for each further 1,024 characters of a text."""


class _Last(NamedTuple):
    hashes: array[int]
    tokens: int


class PrefixMemory:
    """Remembers the hashes of the last request of each agent in each session, and nothing of its text.

    Its memory is bounded: the sessions that called longest ago are forgotten first. A session that calls again after
    that counts as one that calls for the first time. Threads may share it.
    """

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, ...], _Last] = OrderedDict()
        self._links = 0
        self._lock = Lock()

    def compare(self, key: tuple[str, ...], request: LlmRequest, meter: TokenMeter, total: int) -> PrefixReport:
        """Returns what `request` shares with the one before it under `key`, and remembers `request`."""
        chain = fingerprint(request, meter)
        last = self._remember(key, _Last(chain.hashes, total))
        if last is None:
            return PrefixReport()
        return PrefixReport(
            tokens=_kept(chain.tokens, _common(last.hashes, chain.hashes), total), previous_tokens=last.tokens
        )

    def adopt(self, key: tuple[str, ...], other: PrefixMemory) -> None:
        """Remembers under `key` what `other` does."""
        self._remember(key, other._last[key])

    def __len__(self) -> int:
        return len(self._last)

    def _remember(self, key: tuple[str, ...], last: _Last) -> _Last | None:
        with self._lock:
            before = self._last.pop(key, None)
            self._last[key] = last
            self._links += len(last.hashes) - (len(before.hashes) if before else 0)
            while len(self._last) > _MAX_AGENTS or (self._links > _MAX_LINKS and len(self._last) > 1):
                _, oldest = self._last.popitem(last=False)
                self._links -= len(oldest.hashes)
        return before


def _common(one: array[int], other: array[int]) -> int:
    """Returns how many entries at the beginning are equal. Python compares slices in C."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _kept(tokens: Sequence[int], common: int, total: int) -> int:
    whole = sum(tokens)
    kept = sum(tokens[:common])
    return min(kept if whole == total or not whole else kept * total // whole, total)

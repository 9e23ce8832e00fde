"""Remembers what the last request of each agent looked like, without its payload."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from google.adk.models.llm_request import LlmRequest

from adk_context_pack.conversation.tokens import TokenMeter
from adk_context_pack.reports.fingerprint import fingerprint
from adk_context_pack.reports.prefix_report import PrefixReport

_MAX_AGENTS = 1024
_MAX_LINKS = 1 << 18
"""2 MB of hashes in all; a request has one for each part, and for each further 1,024 characters of a text."""


class _Last(NamedTuple):
    hashes: array[int]
    tokens: int


class PrefixMemory:
    """The hashes of the last request of each agent in each session, and nothing of its text.

    Bounded: the sessions that called longest ago are forgotten first. One that comes back after that is treated as one
    that calls for the first time.
    """

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, ...], _Last] = OrderedDict()
        self._links = 0

    def compare(self, key: tuple[str, ...], request: LlmRequest, meter: TokenMeter, total: int) -> PrefixReport:
        """What `request` shares with the one before it under `key`; remembers `request` for the next one.

        Args:
            key: session and agent.
            request: as it is sent.
            meter: what counts; its figures for the same contents are used again.
            total: the tokens of the whole request.
        """
        chain = fingerprint(request, meter)
        last = self._last.pop(key, None)
        self._remember(key, _Last(chain.hashes, total), forgotten=last)
        if last is None:
            return PrefixReport()
        return PrefixReport(
            tokens=_kept(chain.tokens, _common(last.hashes, chain.hashes), total), previous_tokens=last.tokens
        )

    def adopt(self, key: tuple[str, ...], other: PrefixMemory) -> None:
        """Remembers under `key` what `other` does."""
        self._remember(key, other._last[key], forgotten=self._last.pop(key, None))

    def __len__(self) -> int:
        return len(self._last)

    def _remember(self, key: tuple[str, ...], last: _Last, *, forgotten: _Last | None) -> None:
        self._last[key] = last
        self._links += len(last.hashes) - (len(forgotten.hashes) if forgotten else 0)
        while len(self._last) > _MAX_AGENTS or (self._links > _MAX_LINKS and len(self._last) > 1):
            _, oldest = self._last.popitem(last=False)
            self._links -= len(oldest.hashes)


def _common(one: array[int], other: array[int]) -> int:
    """How many entries at the beginning are the same; slices are compared in C."""
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

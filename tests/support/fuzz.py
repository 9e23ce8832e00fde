"""How long a fuzz goes on, and with which seeds: `FUZZ_SECONDS` and `FUZZ_SEED` for all of them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
_SEED = int(os.environ.get("FUZZ_SEED", "0")) * 10**9


def seeds(*, at_least: int = 1, seconds: float = SECONDS, shares: int = 1, share: int = 0) -> Iterator[int]:
    """Yields seed after seed for a share of `seconds`.

    Args:
        at_least: how many seeds there are in any case.
        seconds: the time of all shares together.
        shares: among how many tests the time is divided.
        share: which of them this is. Each has seeds of its own.
    """
    until, first = time.monotonic() + seconds / shares, _SEED + share * 10**8
    seed = first
    while seed < first + at_least or time.monotonic() < until:
        yield seed
        seed += 1

"""How many conversations the laws are tried on, and under which seed."""

from __future__ import annotations

import os
import random
from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

_DEFAULT_EXAMPLES = 2500
_DEFAULT_CASES = 3
_AT_ONCE = 1000
_wanted = os.environ.get("LAWS_SEED", "20250601")

LAWS_EXAMPLES = int(os.environ.get("LAWS_EXAMPLES", _DEFAULT_EXAMPLES))
"""Conversations in all."""
LAWS_CASES = int(os.environ.get("LAWS_CASES", _DEFAULT_CASES))
"""Passes, pairs and orders that each of them is tried on."""
LAWS_SEED = random.SystemRandom().randrange(2**32) if _wanted == "random" else int(_wanted)
"""The seed of all of them."""
# For the processes that pytest-xdist starts: each would draw a seed of its own, and none would be the one printed.
os.environ["LAWS_SEED"] = str(LAWS_SEED)

PHASES = (Phase.explicit, Phase.generate, *([Phase.shrink] if os.environ.get("LAWS_SHRINK", "1") == "1" else []))
"""`LAWS_SHRINK=0` shows the first conversation that breaks a law at once, instead of a minimal one after minutes."""


def laws_settings(examples: int) -> settings:
    """Hypothesis' settings for a law: no deadline, no database, nothing that depends on the machine."""
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=PHASES,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


def shares(groups: Collection[str]) -> list[Any]:
    """`LAWS_EXAMPLES` dealt out as (group, seed, examples), a thousand at most in each share.

    Hypothesis keeps a tree of all that it has drawn, and slows down with it; small shares keep several processes busy
    as well.
    """
    parts = -(-LAWS_EXAMPLES // (_AT_ONCE * len(groups)))
    count = parts * len(groups)
    made = []
    for number, group in enumerate(list(groups) * parts):
        examples = max(1, (LAWS_EXAMPLES + number) // count)
        made.append(pytest.param(group, LAWS_SEED + number, examples, id=f"{group}, share {number}"))
    return made

"""How many conversations the laws are tried on, and under which seed."""

from __future__ import annotations

import os
import random
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

T = TypeVar("T")
_DEFAULT_EXAMPLES = 1200
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


def shares(groups: Collection[str], *, of: int = LAWS_EXAMPLES) -> list[Any]:
    """Conversations dealt out as (group, seed, examples), a thousand at most in each share.

    Hypothesis keeps a tree of all that it has drawn, and slows down with it; small shares keep several processes busy
    as well.
    """
    parts = -(-of // (_AT_ONCE * len(groups)))
    count = parts * len(groups)
    made = []
    for number, group in enumerate(list(groups) * parts):
        examples = max(1, (of + number) // count)
        made.append(pytest.param(group, LAWS_SEED + number, examples, id=f"{group}, share {number}"))
    return made


def some_of(cases: Sequence[T]) -> st.SearchStrategy[list[T]]:
    """`LAWS_CASES` different cases, far from each other in the list."""
    count = min(LAWS_CASES, len(cases))
    return st.integers(0, len(cases) - 1).map(
        lambda start: [cases[(start + number * len(cases) // count) % len(cases)] for number in range(count)]
    )

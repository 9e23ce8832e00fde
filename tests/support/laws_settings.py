"""How many conversations the laws are tried on, and under which seed."""

from __future__ import annotations

import os
import random

from hypothesis import HealthCheck, Phase, settings

_DEFAULT_EXAMPLES = 80
_wanted = os.environ.get("LAWS_SEED", "20250601")

LAWS_EXAMPLES = int(os.environ.get("LAWS_EXAMPLES", _DEFAULT_EXAMPLES))
"""Conversations for each law and pass."""
LAWS_SEED = random.SystemRandom().randrange(2**32) if _wanted == "random" else int(_wanted)
"""The seed of all of them."""

PHASES = (Phase.explicit, Phase.generate, *([Phase.shrink] if os.environ.get("LAWS_SHRINK", "1") == "1" else []))
"""`LAWS_SHRINK=0` shows the first conversation that breaks a law at once, instead of a minimal one after minutes."""


def laws_settings(share: float = 1.0) -> settings:
    """Hypothesis' settings for a law: no deadline, no database, nothing that depends on the machine.

    Args:
        share: the part of `LAWS_EXAMPLES` to try, for laws that look at every moment of a conversation.
    """
    return settings(
        max_examples=max(1, round(LAWS_EXAMPLES * share)),
        deadline=None,
        database=None,
        print_blob=True,
        phases=PHASES,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )

"""The goals of the default limits, as ratios within one run."""

import pytest

from tests.benchmarks.bench_tool_limits import live
from tests.benchmarks.replay import score


@pytest.mark.slow
async def test_the_default_plugin_costs_a_fifteenth_and_shows_what_is_asked():
    """With declarations and cached tokens at a tenth: at most 6.5 % of the cost, no bust, all totals, most facts."""
    whole, ours = await live("without the pack"), await live("ContextPackPlugin()")
    before, now = score("without", whole.requests, ()), score("with", ours.requests, ())
    assert now.cost(0.1) <= 0.065 * before.cost(0.1)
    assert now.busts == 0
    assert ours.visible.count("table") == 6
    assert len(ours.visible) >= 6 + 12
    assert ours.answered == 24

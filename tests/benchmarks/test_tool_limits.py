"""The goals of the default limits, as ratios within one run."""

import pytest

from tests.benchmarks.bench_tool_limits import live
from tests.benchmarks.replay import score


@pytest.mark.newest
@pytest.mark.slow
@pytest.mark.parametrize(("setting", "busts"), [("ContextPackPlugin()", 1), ("tools declared early", 0)])
async def test_the_default_plugin_costs_a_fifteenth_and_shows_what_is_asked(setting, busts):
    """With declarations and cached tokens at a tenth at most 6.5 % of the cost and a bust, all totals, most facts."""
    whole, ours = await live("without the pack"), await live(setting)
    before, now = score("without", whole.requests, ()), score("with", ours.requests, ())
    assert now.cost(0.1) <= 0.065 * before.cost(0.1)
    assert now.busts == busts
    assert ours.visible.count("table") == 6
    assert len(ours.visible) >= 6 + 12
    assert ours.answered == 24

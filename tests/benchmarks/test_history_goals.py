"""The goals of the replay, as ratios within one run."""

import pytest

from tests.benchmarks.bench_history import STRATEGIES, replay, together
from tests.benchmarks.workload import workload


@pytest.fixture(scope="module")
def found():
    work = workload()
    names = ("send everything", "default_passes(max_tokens=100_000)", "FitTokenBudget(max_tokens=40_000)")
    return {name: replay(name, STRATEGIES[name](), work) for name in names}


def test_the_workload_has_the_stated_shape():
    """74 messages, 37 model calls, 24 results of about 5,300 tokens, one fact in each."""
    work = workload()
    assert (len(work.events), len(work.calls), len(work.facts)) == (73, 37, 24)


def test_history_passes_alone_cost_at_most_40_percent_with_every_answer_kept(found):
    """With cached tokens at a tenth, the default passes cost at most 40 % of sending everything; no fact is gone."""
    whole, ours = found["send everything"], found["default_passes(max_tokens=100_000)"]
    assert ours.cost(0.1) <= 0.40 * whole.cost(0.1)
    assert ours.answers == (24, 24)


def test_a_budget_busts_the_cache_seldom(found):
    """Over 37 calls a budget of a third of the session cuts a handful of times."""
    assert found["FitTokenBudget(max_tokens=40_000)"].busts <= 5


def test_with_capping_at_the_tool_at_most_4_percent_without_a_bust(found):
    """Previews where results are made, and the default passes: 4 % of the cost, each fact read back, no cache miss."""
    for both in together(workload()):
        assert both.cost(0.1) <= 0.04 * found["send everything"].cost(0.1)
        assert both.busts == 0
        assert both.answers == (24, 24)

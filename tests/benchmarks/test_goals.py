"""The goals for finding tables, on the benchmark's own forms."""

from __future__ import annotations

from itertools import product

import pytest

from tests.benchmarks import limits_workload
from tests.benchmarks.bench_find_tables import score as forms_read
from tests.benchmarks.bench_history import STRATEGIES, replay, together
from tests.benchmarks.bench_stub_sizes import measure
from tests.benchmarks.bench_tool_limits import live
from tests.benchmarks.limits_workload import shares
from tests.benchmarks.replay import score
from tests.benchmarks.workload import workload


def test_nearly_all_forms_are_read_and_nothing_else_is_taken_for_a_table():
    """At least 95 of 100 forms are read and can be queried, and no other text is a table."""
    read, forms, taken, others = forms_read()
    assert forms >= 100
    assert others >= 40
    assert read >= 0.95 * forms
    assert taken == 0


async def test_stub_sizes_meet_their_goals():
    """The table of 500 rows fits into 600 tokens, small results come through untouched, nothing gets larger."""
    lines = {line.name: line for line in await measure()}
    assert lines["500 rows, one fraud"].whole > 33_000
    assert all(line.capped["stub_tokens=600"] <= 600 for name, line in lines.items() if "prose" not in name)
    assert lines["22 tokens"].untouched
    assert lines["22 tokens"].whole < 25
    assert all(size <= line.whole for line in lines.values() for size in line.capped.values())


async def test_stubs_of_some_five_hundred_tokens_answer_most_questions():
    """Below 600 tokens 12 of 13 questions are answered by what is visible of 500 rows, and 11 of 50 rows."""
    lines = {line.name: line for line in await measure()}
    for name, least in (("500 rows, one fraud", 12), ("50 rows", 11)):
        assert lines[name].capped["5 rows, 600"] <= 600
        assert lines[name].answers["5 rows, 600"] >= least


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


def test_with_capping_at_the_tool_at_most_4_percent(found):
    """Previews where results are made, and the default passes: 4 % of the cost, each fact read back, a few misses."""
    for both in together(workload()):
        assert both.cost(0.1) <= 0.04 * found["send everything"].cost(0.1)
        assert both.busts <= 6
        assert both.answers == (24, 24)


@pytest.mark.newest
@pytest.mark.slow
@pytest.mark.parametrize("setting", ["ContextPackPlugin()", "tools declared early"])
async def test_the_default_plugin_costs_a_twentieth_and_shows_what_is_asked(setting):
    """With declarations and cached tokens at a tenth about 5 % of the cost, a bust a turn, all totals, most facts."""
    whole, ours = await live("without the pack"), await live(setting)
    before, now = score("without", whole.requests, ()), score("with", ours.requests, ())
    assert now.cost(0.1) <= 0.05 * before.cost(0.1)
    assert now.busts <= 12
    assert ours.visible.count("table") == 6
    assert len(ours.visible) >= 6 + 12
    assert ours.answered == 24


@pytest.mark.newest
@pytest.mark.slow
async def test_what_results_of_usual_sizes_cost():
    """Results leave when that pays at the price that the plugin is told, and a small budget is not filled by names."""
    for most, *work in ((90, 300, 3, 0.1), (65, 300, 12, 0.1), (42, 300, 12, 1.0), (35, 900, 12, 0.1)):
        assert (await shares(*work))[-1] <= most
    assert (await shares(300, 12, 0.1, limits_workload.ContextPackPlugin(max_tokens=2_000)))[-1] <= 90


@pytest.mark.newest
@pytest.mark.slow
@pytest.mark.parametrize("kinds", [limits_workload.KINDS, ("prose",) * 4, ("nested",) * 4])
async def test_a_session_costs_hardly_more_than_without_the_pack(kinds, monkeypatch):
    """With whichever call it ends, and whatever cached tokens cost, and a longer one costs less, of texts as well."""
    monkeypatch.setattr(limits_workload, "KINDS", kinds)
    for tokens, price in product((100, 200, 300, 550, 900, 2_000), (0.1, 0.5)):
        assert max(await shares(tokens, 8, price)) <= 104
    assert (await shares(900, 12, 0.1))[-1] <= 80

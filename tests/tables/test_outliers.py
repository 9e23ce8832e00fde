"""Outliers are those of the rule that is told, all of them, at any number of rows."""

import math
import random
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.tables.outliers import LONE_RULE, RARE_RULE, RULE, fences, may_have_outliers, sample_positions
from adk_context_pack.tables.table_facts import table_facts


def by_the_rule(values, cut=4):
    """How many values lie beyond 3 widths of the middle, from a plain sort."""
    ordered = sorted(values)
    low, high = ordered[(len(ordered) - 1) // cut], ordered[len(ordered) - 1 - (len(ordered) - 1) // cut]
    width = 3 * (high - low)
    return sum(value < low - width or value > high + width for value in values)


@pytest.mark.parametrize("rows", [500, 5_000, 20_000])
@pytest.mark.parametrize("sigma", [0.4, 0.8, 1.5])
@pytest.mark.parametrize("kind", [int, float])
def test_every_outlier_is_counted(rows, sigma, kind):
    """Over skewed numbers the count is exactly that of the printed rule, however many rows there are."""
    made = random.Random(f"{rows} {sigma}")
    values = [kind(1000 * made.lognormvariate(1, sigma)) for _ in range(rows)]
    facts = table_facts([{"x": value} for value in values])
    assert facts.outlier_count == by_the_rule(values)
    if facts.outliers:
        assert facts.as_dict()["outliers"]["rule"] == RULE
        assert [cell.value for cell in facts.outliers] == sorted(values, reverse=True)[: len(facts.outliers)]


@pytest.mark.slow
@given(st.lists(st.floats(-1e6, 1e6) | st.integers(-(10**6), 10**6), min_size=8, max_size=80))
def test_fences_agree_with_a_sort(values):
    """The number beyond the fences of any list is that of a plain sort, where the middle half has a width."""
    low, high, _, rule = fences(values)
    if rule == RULE:
        assert sum(value < low or value > high for value in values) == by_the_rule(values)


def test_a_first_look_never_misses():
    """A look at random cells says "none" only for columns that have none, over tables of many shapes."""
    for seed in range(60):
        made = random.Random(seed)
        shape = made.choice([made.gauss, made.uniform, made.lognormvariate])
        values = [shape(0, made.choice([0.2, 0.5, 1])) for _ in range(6_000)]
        sample = [values[row] for row in sample_positions(len(values))]
        assert may_have_outliers(sample, min(values), max(values)) or not by_the_rule(values)


def test_the_count_stays_where_none_is_listed():
    """A table whose outliers shall not be listed still says how many there are."""
    rows = [{"x": place % 10} for place in range(20_000)] + [{"x": 5_000}]
    facts = table_facts(rows, max_outliers=0)
    assert (facts.outliers, facts.outlier_count, facts.columns[0].outlier_rule) == ((), 1, RULE)


@pytest.mark.parametrize("rows", [40, 5_000])
@pytest.mark.parametrize("far", [(9_000, 5_000), (-9_000, -5_000), (-9_000, 5_000)], ids=["high", "low", "both"])
def test_both_sides_are_looked_at(far, rows):
    """Numbers far below the rest are counted and shown as those far above it are, the farthest first."""
    values = [100 + number % 10 for number in range(rows)]
    facts = table_facts([{"x": value} for value in [far[1], *values, far[0]]])
    assert facts.outlier_count == 2
    assert [cell.value for cell in facts.outliers] == list(far)


def test_a_number_too_large_for_a_float_is_far_out():
    """Integers that no float holds lie beyond all others, on their own side."""
    values = [*range(40), 10**400, -(10**400)]
    facts = table_facts([{"x": value} for value in values])
    assert facts.outlier_count == 2
    assert {cell.value for cell in facts.outliers} == {10**400, -(10**400)}


def test_infinite_numbers_move_no_fence():
    """The fences are those of the finite numbers, beside which an infinite one stands apart."""
    wanted = fences(list(range(40)))
    for more in ([math.inf], [-math.inf], [math.inf, -math.inf, math.inf], [Decimal("Infinity")]):
        assert fences([*range(40), *more]) == wanted
    assert fences([*range(7), math.inf]) is None
    assert fences(list(range(8))) is not None
    assert fences([math.inf] * 9) is None


def states(**counts):
    """Rows of one column, so many of each value."""
    return [{"state": value} for value, count in counts.items() for _ in range(count)]


@pytest.mark.parametrize(("rows", "rare", "rule"), [
    (states(done=39, failed=1), ["failed"], LONE_RULE), (states(done=10, failed=1), ["failed"], LONE_RULE),
    (states(done=9, failed=1), [], None), (states(done=30, open=10, failed=1), ["failed"], LONE_RULE),
    (states(done=30, open=9, failed=1), [], None), (states(done=30, lost=1, failed=1), [], None),
    (states(failed=1), [], None), (states(**{f"s{n}": 12 for n in range(11)}, failed=1), ["failed"], LONE_RULE),
    (states(**{f"s{n}": 12 for n in range(12)}, failed=1), [], None),
    (states(done=198, lost=1, failed=1), ["lost", "failed"], RARE_RULE),
    (states(done=398, lost=2), ["lost", "lost"], RARE_RULE), (states(done=399, lost=3), [], None),
])  # fmt: skip
def test_a_rare_value_stands_apart_by_the_rule_that_is_told(rows, rare, rule):
    """One row of its kind among many of few kinds is named with its rule. Small groups have none."""
    facts = table_facts(rows)
    assert [cell.value for cell in facts.outliers] == rare
    assert facts.outlier_count == len(rare)
    assert facts.columns[0].outlier_rule == (rule or "")

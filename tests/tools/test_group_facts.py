"""Sums by category and counts of levels, against counts made another way."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack import table_facts
from adk_context_pack.tools.group_facts import level_counts, sums_by_value, without_noise


def sums(rows, **settings):
    return sums_by_value(rows, table_facts(rows), **settings)


def test_identifiers_rates_and_doubtful_columns_are_not_summed():
    """Ids, rates, formatted numbers and columns with gaps give no sums by category."""
    rows = [
        {"kind": "ab"[n % 2], "order_id": 1000 + n, "ctr": 0.5, "price": "1,250", "gap": n or None, "n": n}
        for n in range(20)
    ]
    assert list(sums(rows, measures=9)) == ["n by kind"]


def test_nested_columns_and_missing_categories():
    """Measures and categories within other columns are found, and rows without a category are a group."""
    rows = [{"at": {"city": ["Oslo", "Bergen", None][n % 3]}, "m": {"n": 1}} for n in range(9)]
    assert sums(rows) == {"m.n by at.city": {"Oslo": 3, "Bergen": 3, "(missing)": 3}}


@pytest.mark.parametrize("rows", [[], [1, 2], [[1, "a"], [2, "b"]], ["x"]])
def test_other_rows_have_no_sums(rows):
    """Only rows that are dicts are grouped."""
    assert sums(rows) == {}


@given(st.lists(st.decimals(0, 10**6, places=2), min_size=1, max_size=200))
def test_noise_is_taken_from_sums_of_money(prices):
    """The sum of prices as floats is shown as the sum of the prices."""
    total = sum(prices)
    assert Decimal(str(without_noise(float(sum(map(float, prices)))))) == total


@pytest.mark.parametrize("value", [7, 0.1234567890123456, 1e300, float("inf"), None, "x", 3.141592653589793])
def test_what_has_many_figures_is_kept(value):
    """A number that really has all its figures is not rounded."""
    assert without_noise(value) == value


def test_levels_of_a_log():
    """Lines are counted by level, each once, the commonest first."""
    log = [f"10:00:{n:02d} {'INFO' if n % 5 else 'Error'} step {n}, no WARN in it" for n in range(60)]
    assert level_counts(log) == {"INFO": 48, "ERROR": 12}
    assert level_counts(["some words", "and more", "INFO x"]) == {}
    assert level_counts([{"level": "INFO"}]) == {}
    assert level_counts([]) == {}

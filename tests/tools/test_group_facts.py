"""Sums by category and counts of levels, against counts made another way."""

from collections import Counter, defaultdict
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.tables.table_facts import table_facts
from adk_context_pack.tools.group_facts import level_counts, sums_by_value, without_noise
from tests.support.tables import transactions


def sums(rows, **settings):
    return sums_by_value(rows, table_facts(rows), **settings)


def test_sums_are_those_of_the_decimals_that_one_sees():
    """Each sum is the one that adding the written decimals gives, without the noise of binary fractions."""
    rows = transactions()
    expected = defaultdict(Decimal)
    for row in rows:
        expected[row["category"]] += Decimal(str(row["amount"]))
    found = sums(rows)["amount by category"]
    assert {value: Decimal(str(total)) for value, total in found.items()} == expected
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_identifiers_rates_and_doubtful_columns_are_not_summed():
    """Ids, rates, formatted numbers and columns with gaps give no sums by category."""
    rows = [
        {"kind": "ab"[n % 2], "order_id": 1000 + n, "ctr": 0.5, "price": "1,250", "gap": n or None, "n": n}
        for n in range(20)
    ]
    assert list(sums(rows, measures=9)) == ["n by kind"]


def test_columns_that_divide_nothing_are_left_out():
    """A column of one value, of many values, or with one odd row is no category."""
    rows = [{"n": n, "one": "x", "many": f"v{n}", "odd": "y" if n else "z", "kind": "ab"[n % 2]} for n in range(50)]
    assert list(sums(rows)) == ["n by kind"]


def test_nested_columns_and_missing_categories():
    """Measures and categories within other columns are found, and rows without a category are a group."""
    rows = [{"at": {"city": ["Oslo", "Bergen", None][n % 3]}, "m": {"n": 1}} for n in range(9)]
    assert sums(rows) == {"m.n by at.city": {"Oslo": 3, "Bergen": 3, "(missing)": 3}}


@pytest.mark.parametrize("rows", [[], [1, 2], [[1, "a"], [2, "b"]], ["x"]])
def test_other_rows_have_no_sums(rows):
    """Only rows that are dicts are grouped."""
    assert sums(rows) == {}


def test_rows_of_two_kinds_have_no_sums():
    """A row in between without the column, or with a list in it, costs the sums and nothing else."""
    facts = table_facts([{"kind": "ab"[n % 2], "n": n} for n in range(10)])
    assert sums_by_value([{"kind": "a", "n": 1}, {"kind": "b"}, {"kind": "a", "n": 1}], facts) == {}
    assert sums_by_value([{"kind": "a", "n": 1}, {"kind": ["b"], "n": 1}, {"kind": "a", "n": 1}], facts) == {}
    assert sums_by_value([{"kind": "a", "n": 1}, {"kind": "b", "n": "1"}, {"kind": "a", "n": 1}], facts) == {}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-(10**12), 10**12)), min_size=4, max_size=60))
def test_integers_are_exact(pairs):
    """Sums of integers by value are what a counter gives, for any rows."""
    expected = Counter()
    for kind, number in pairs:
        expected[kind] += number
    found = sums([{"kind": kind, "n": number} for kind, number in pairs])
    assert found in ({}, {"n by kind": dict(expected)})


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

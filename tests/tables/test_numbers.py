"""Numbers are read, added and written without losing a digit."""

import json
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.tables.numbers import exact_mean, exact_sum, number_of, plain


@pytest.mark.parametrize(("text", "number"), [
    ("12", 12), ("-9007199254740993", -(2**53) - 1), ("+1", 1), ("1.50", Decimal("1.50")), (".5", Decimal("0.5")),
    ("1e3", Decimal(1000)),
])  # fmt: skip
def test_numbers_in_texts(text, number):
    """Plain notation is read exactly, digits as integers and the rest as decimals."""
    assert (number_of(text), type(number_of(text))) == (number, type(number))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_floats_add_up_to_the_nearest(values):
    """The sum of floats is the float nearest to the true sum, also where partial sums overflow."""
    truth = sum(map(Fraction, values), Fraction(0))
    try:
        nearest = float(truth)
    except OverflowError:
        nearest = math.inf if truth > 0 else -math.inf
    assert exact_sum(values) == nearest


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=10)))
def test_decimals_add_up_exactly(values):
    """The sum of decimals keeps every digit, beyond the 28 of Python's default."""
    assert Fraction(exact_sum(values)) == sum(map(Fraction, values), Fraction(0))


def test_infinities():
    """Infinity stays infinite, and opposite ones have no sum; neither has a mean."""
    assert exact_sum([math.inf, 1.0]) == math.inf
    assert math.isnan(exact_sum([math.inf, -math.inf]))
    assert exact_sum([math.inf, 1, Decimal(2)]) == math.inf
    assert exact_mean(math.inf, 2) is None
    assert exact_mean(0, 0) is None


@pytest.mark.parametrize(("value", "written"), [
    (2**70, 2**70), (Decimal("0.1"), 0.1), (Decimal("0.30000000000000000001"), "0.30000000000000000001"),
    (Decimal(2**70), 2**70), (Decimal("1E+999999"), "1E+999999"), (Decimal("NaN"), None), (math.nan, None),
    (math.inf, "inf"), ({1: {2}}, {"1": [2]}), (b"x", "b'x'"),
])  # fmt: skip
def test_plain_is_json(value, written):
    """A cell becomes JSON of the same value, and a text where JSON has no such number."""
    assert plain(value) == written
    json.dumps(plain(value), allow_nan=False)


@pytest.mark.parametrize("digits", [1, 18, 19, 3_999, 4_000])
def test_numbers_of_up_to_four_thousand_digits(digits):
    """So many characters are read as a number, with a sign or a point among them, and one more is a text."""
    assert number_of("7" * digits) == int("7" * digits)
    assert number_of("-" + "7" * (digits - 1)) == (int("-" + "7" * (digits - 1)) if digits > 1 else None)
    assert number_of("7" * 4_001) is None

"""Rows and facts as text."""

import csv
import io
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack import table_facts
from adk_context_pack.tables.numbers import without_noise
from adk_context_pack.tables.table_facts import sums_by_value
from adk_context_pack.tools.result_plan import facts_as_text, level_counts


def read(text):
    """The lines of a CSV text as dicts."""
    return list(csv.DictReader(io.StringIO(text)))


def test_facts_are_one_line_a_column():
    """Numbers stand in a table of their own, the other columns in a sentence each, or by name only."""
    rows = [
        {"n": 2**60 + number, "kind": "a" if number else "b", "day": f"2026-01-0{number + 1}"} for number in range(3)
    ]
    facts = table_facts([*rows, {"n": None, "kind": "a", "day": None}])
    said = facts_as_text(facts)
    (line,) = read(said["numbers"])
    assert line["sum"] == str(3 * 2**60 + 3)
    assert (line["min"], line["max"], line["missing"]) == (str(2**60), str(2**60 + 2), "1")
    assert said["others"].split("\n") == ["kind: a x3, b x1", "day: 3 distinct, 2026-01-01 to 2026-01-03, 1 missing"]
    assert facts_as_text(facts, others=False)["more_columns"] == "kind, day"


def sums(rows, columns=None):
    return sums_by_value(table_facts(rows, columns=columns))


def test_identifiers_rates_and_doubtful_columns_are_not_summed():
    """Ids, rates and columns with gaps give no sums, and of two columns that divide alike only the names do."""
    rows = [
        {"no": f"K{n % 2}", "kind": "ab"[n % 2], "order_id": n, "ctr": 0.5, "fee": "1,2", "gap": n or None, "n": n * n}
        for n in range(20)
    ]
    assert list(sums(rows)) == ["n by kind", "fee by kind"]


def test_nested_columns_and_missing_categories():
    """Measures and categories within other columns are found, and rows without a category are a group."""
    rows = [{"at": {"city": ["Oslo", "Bergen", None][n % 3]}, "m": {"n": 1}} for n in range(9)]
    assert sums(rows) == {"m.n by at.city": {"Oslo": 3, "Bergen": 3, "(missing)": 3}}


def test_rows_apart_and_amounts_in_texts():
    """Rows that sum up others join no group, amounts written in texts are added up, and so are rows that are lists."""
    columns, rows = ("region", "item", "paid"), []
    for region in "NSE":
        rows += [[region, item, f"{n}.50 €"] for n, item in enumerate("abab", 1)] + [[region, "Subtotal", "12.00 €"]]
    assert sums(rows, columns) == {"paid by item": {"b": 21, "a": 15}, "paid by region": {"N": 12, "S": 12, "E": 12}}


@given(st.lists(st.decimals(0, 10**6, places=2), min_size=1, max_size=200))
def test_noise_is_taken_from_sums_of_money(prices):
    """The sum of prices as floats is shown as the sum of the prices."""
    total = sum(prices)
    assert Decimal(str(without_noise(float(sum(map(float, prices)))))) == total


@pytest.mark.parametrize("value", [7, 0.1234567890123456, 1234567890120003.0, 1e300, float("inf"), None, "x"])
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

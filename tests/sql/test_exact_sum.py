"""Aggregates over numbers that SQLite cannot hold."""

import sqlite3
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.sql.exact_sum import compare_numbers, install_exact_numbers


def connection(values):
    made = sqlite3.connect(":memory:")
    install_exact_numbers(made)
    made.execute("CREATE TABLE rows (x TEXT COLLATE exact_number)")
    made.executemany("INSERT INTO rows VALUES (?)", [(value,) for value in values])
    return made


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**40), max_value=10**40, places=6)))
def test_sums_are_exact(values):
    """The sum of decimals kept as text is the exact one, not that of floats."""
    found = connection(map(str, values)).execute("SELECT sum(x) FROM rows").fetchone()[0]
    assert (found is None) if not values else Fraction(str(found)) == sum(map(Fraction, values))


@given(st.lists(st.integers(-(10**30), 10**30), min_size=1))
def test_order_is_that_of_numbers(values):
    """Texts are ordered as the numbers that they are."""
    found = connection(map(str, values)).execute("SELECT x FROM rows ORDER BY x").fetchall()
    assert [int(row[0]) for row in found] == sorted(values)


def test_texts_come_after_numbers():
    """A text that is no number sorts after all numbers, and is equal to itself."""
    assert compare_numbers("a", "99999999999999999999") == 1
    assert compare_numbers("2", "10") == -1
    assert compare_numbers("a", "a") == compare_numbers("1.0", "1.00") == 0


def test_windows_slide():
    """A window that moves takes out what leaves it."""
    made = connection(["10000000000000000000", "1", "2"])
    found = made.execute("SELECT sum(x) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM rows").fetchall()
    assert found == [("10000000000000000000",), ("10000000000000000001",), (3,)]


@pytest.mark.parametrize(("sql", "expected"), [("sum(x)", None), ("total(x)", 0.0), ("avg(x)", None)])
def test_nothing_to_add(sql, expected):
    """Where every cell is NULL the aggregates say what SQLite's own say."""
    assert connection([None]).execute(f"SELECT {sql} FROM rows").fetchone()[0] == expected


def test_null_and_text_count_as_in_sqlite():
    """NULL is left out of an average; a text that is no number counts as zero."""
    assert connection([None, "3", "x", "6"]).execute("SELECT avg(x), sum(x), total(x) FROM rows").fetchone() == (
        3.0,
        9,
        9,
    )


def test_infinity_does_not_end_the_query():
    """An infinite cell gives an infinite sum, and two that cancel give no number."""
    made = connection([])
    made.execute("CREATE TABLE f (x)")
    made.executemany("INSERT INTO f VALUES (?)", [(float("inf"),), (1.0,)])
    assert made.execute("SELECT sum(x) FROM f").fetchone() == ("Infinity",)
    made.execute("INSERT INTO f VALUES (?)", (float("-inf"),))
    assert made.execute("SELECT sum(x) FROM f").fetchone() == ("NaN",)

"""Aggregates over numbers that SQLite cannot hold."""

import sqlite3
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.sql.exact_sum import StatementChecks, install_texts


def connection(values, declared="TEXT COLLATE exact_number"):
    made = sqlite3.connect(":memory:")
    install_texts(made)
    StatementChecks(made, is_exact=True)
    made.execute(f"CREATE TABLE rows (x {declared})")
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


@pytest.mark.parametrize(("collation", "texts"), [
    ("exact_number", ["1.0", "2", "10", "99999999999999999999", "a"]), ("nocase", ["łódź", "ŁÓDŹA"]),
    ("clocks", ["59.5", "9:15", "10:05.5", "1:00:00", "DNF"]), ("versions", ["1.0-rc1", "1.0", "1.9", "1.10"]),
])  # fmt: skip
def test_texts_are_in_the_order_of_what_they_mean(collation, texts):
    """Texts that are numbers, times or versions sort as such, and words that are none come last."""
    made = connection(reversed(texts))
    assert [text for (text,) in made.execute(f"SELECT x FROM rows ORDER BY x COLLATE {collation}")] == texts
    assert made.execute(
        "SELECT '1.0' = '1.00' COLLATE exact_number, '60:00' = '1:00:00' COLLATE clocks"
    ).fetchone() == (1, 1)


@given(
    st.lists(st.one_of(st.none(), st.integers(-(10**25), 10**25)), min_size=1, max_size=12),
    st.integers(0, 3),
    st.sampled_from(["sum", "avg", "total"]),
)
def test_moving_windows_agree_with_windows_made_by_hand(values, before, aggregate):
    """In a window that moves, sum, mean and total are those of its rows alone, at each row."""
    made = connection([None if value is None else str(value) for value in values])
    over = f"OVER (ORDER BY rowid ROWS BETWEEN {before} PRECEDING AND CURRENT ROW)"
    found = [row[0] for row in made.execute(f"SELECT {aggregate}(x) {over} FROM rows")]
    for place, answer in enumerate(found):
        window = [value for value in values[max(0, place - before) : place + 1] if value is not None]
        total = sum(window) if window or aggregate == "total" else None
        if total is None:
            assert answer is None
        elif aggregate == "avg":
            assert answer == pytest.approx(float(Fraction(total, len(window))), rel=1e-15)
        else:
            assert Fraction(str(answer)) == total


@pytest.mark.parametrize("text", ["x", "1,137", "$5", "3 apples"])
def test_a_text_is_not_added_up(text):
    """A text that is not a number is an error, and not the digits in front."""
    with pytest.raises(sqlite3.OperationalError, match="aggregate"):
        connection(["3", text]).execute("SELECT sum(x) FROM rows").fetchone()


def test_infinity_does_not_end_the_query():
    """An infinite cell gives an infinite sum, and two that cancel give no number."""
    made = connection([float("inf"), 1.0], "")
    assert made.execute("SELECT sum(x) FROM rows").fetchone() == ("Infinity",)
    made.execute("INSERT INTO rows VALUES (?)", (float("-inf"),))
    assert made.execute("SELECT sum(x) FROM rows").fetchone() == ("NaN",)


@given(
    st.lists(
        st.one_of(
            st.integers(-(10**18), 10**18),
            st.integers(-(10**12), 10**12).map(lambda cents: cents / 100),
            st.floats(allow_nan=False, allow_infinity=False, width=32),
            st.floats(-1e15, 1e15),
        ),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from(["sum", "avg", "total"]),
)
def test_floats_count_as_they_are_written(values, aggregate):
    """Integers and floats add up to the sum of the decimals that they are written as."""
    found = connection(values, "").execute(f"SELECT {aggregate}(x) FROM rows").fetchone()[0]
    exact = sum((Fraction(repr(value)) for value in values), Fraction(0))
    exact = exact / len(values) if aggregate == "avg" else exact
    assert float(found) == pytest.approx(float(exact), rel=1e-15, abs=1e-300)

"""BoundedFunctions: SQLite's text functions, the same answers in a bounded time."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.sql.bounded_functions import BoundedFunctions

PLAIN = sqlite3.connect(":memory:")
BOUNDED = sqlite3.connect(":memory:")
BoundedFunctions(BOUNDED, max_bytes=10**6)

texts = st.sampled_from(["", "abc", "abcabc", "%d", "%5.2f|%s", "%%", "ä\u2028ö", "a", "bc", "%08.3f", "%-10s|"])
numbers = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
cells = st.one_of(st.none(), texts, numbers, st.sampled_from([b"ab", b"", 1e20, 1.5, -1e300]))
FUNCTIONS = {"instr": 2, "replace": 3, "trim": 2, "ltrim": 2, "rtrim": 2, "printf": 3}


def said(connection, function, values):
    marks = ",".join("?" * len(values))
    return connection.execute(f"SELECT {function}({marks})", values).fetchone()[0]


@given(function=st.sampled_from(list(FUNCTIONS)), values=st.tuples(cells, cells, cells))
def test_each_function_says_what_sqlite_says(function, values):
    """Over texts, numbers, blobs and NULL each function gives SQLite's own answer."""
    values = values[: FUNCTIONS[function]]
    assert said(BOUNDED, function, values) == said(PLAIN, function, values)


@pytest.mark.parametrize("written", ["%.*c", "%*d", "%100000d", "%.2000000000c", "%-99999s", "ok %!,.12345f"])
def test_wide_formats_are_refused(written):
    """A width of five digits or from an argument is refused before anything is written."""
    with pytest.raises(sqlite3.Error):
        said(BOUNDED, "printf", (written, 2_000_000_000, "x"))


@pytest.mark.parametrize(
    ("function", "values", "answer"),
    [
        ("instr", ("a" * 400_000, "a" * 200_000 + "b"), 0),
        ("replace", ("a" * 400_000, "a" * 200_000 + "b", "c"), "a" * 400_000),
        ("trim", ("xx" + "a" * 400_000, "x" * 200_000), "a" * 400_000),
    ],
)
def test_long_texts_take_no_longer_than_they_are(function, values, answer):
    """What would compare each place of a text with the whole of another is done in one go."""
    assert said(BOUNDED, function, values) == answer


def test_too_long_answers_are_refused():
    """A text that would outgrow the limit is not even made."""
    with pytest.raises(sqlite3.Error):
        said(BOUNDED, "replace", ("a" * 10_000, "a", "b" * 10_000))
    with pytest.raises(sqlite3.Error):
        said(BOUNDED, "trim", ("abc", "".join(map(chr, range(300, 500)))))


@pytest.mark.parametrize("text", ["abc", "", 7, 1.5, b"ab"])
def test_replacing_nothing_changes_nothing(text):
    """Where nothing is to be replaced each type of value comes back as SQLite gives it."""
    assert said(BOUNDED, "replace", (text, "", "x")) == said(PLAIN, "replace", (text, "", "x"))

"""Long cells of a row are cut with a mark, and everything else stays the same object."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.tools.result_plan import STEPS, CellLimits, shortened

LIMITS = CellLimits(characters=30, entries=2)


def test_each_cut_says_what_is_left_out():
    """Texts, lists and dicts within a row end in a mark that counts what is left out."""
    row = {
        "title": "x" * 100,
        "labels": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
        "extra": {str(n): n for n in range(10)},
    }
    assert shortened(row, LIMITS) == {
        "title": "x" * 30 + "… 70 more characters",
        "labels": [{"name": "a"}, {"name": "b"}, "… 1 more"],
        "extra": {**{str(n): n for n in range(8)}, "…": "2 more keys"},
    }
    assert len(row["labels"]) == 3


def test_what_is_short_is_the_same_object():
    """A row without long cells is not copied, nor is a text that its mark would make longer."""
    row = {"a": "x" * 31, "b": [1, 2], "c": {"d": [1]}}
    assert shortened(row, LIMITS) is row
    assert shortened("x" * 31, LIMITS) == "x" * 31
    assert shortened(5, LIMITS) == 5


def test_all_columns_of_a_row_stay():
    """A row of many columns keeps each of them, whether it is a dict or a list."""
    assert len(shortened({str(n): "x" * 99 for n in range(200)}, LIMITS)) == 200
    assert len(shortened(["x" * 99] * 200, LIMITS)) == 200


def test_depth_ends():
    """A cell that is nested without end is told by its size."""
    deep = cell = {}
    for _ in range(20):
        cell["in"] = cell = {}
    wide = [[[[[[[[["x"]]]]]]]]]
    assert "1 key" in str(shortened({"deep": deep}, LIMITS))
    assert "1 item" in str(shortened({"wide": wide}, LIMITS))


cells = st.recursive(
    st.text(max_size=60) | st.integers(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=5),
    max_leaves=15,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=3), cells, max_size=5))
def test_steps_only_get_shorter(row):
    """Each step keeps the columns and the row as it was, and shows no more characters of a text than it may."""
    before = repr(row)
    for limits in STEPS:
        short = shortened(row, limits)
        assert short.keys() == row.keys()
        assert repr(row) == before

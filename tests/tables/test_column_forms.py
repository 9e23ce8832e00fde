"""Dicts that hold a table by columns or by keys are read as rows, from the sizes on that are stated."""

import pytest

from adk_context_pack.tables.row_forms import read_dict

SPLIT = {"index": [0, 1], "columns": ["a", "b"], "data": [[1, 2], [3, 4]]}


@pytest.mark.parametrize(("value", "min_rows", "rows"), [
    ({"a": [1, 2], "b": [3, 4]}, 2, [{"a": 1, "b": 3}, {"a": 2, "b": 4}]),
    ({"a": (1, 2), "b": [3, 4]}, 1, [{"a": 1, "b": 3}, {"a": 2, "b": 4}]),
    ({"a": [1, 2], "b": [3, 4]}, 3, None),
    ({"a": [1, 2], "b": [3]}, 1, None),
    ({1: [1, 2], 2: [3, 4]}, 1, None),
    ({1: [1, 2], "b": [3, 4]}, 1, None),
    ({"a": [1, 2], "b": [3, {}]}, 1, None),
    ({"a": [1, 2, 3], "b": [4, 5, 6], "n": 3}, 1, [{"a": 1, "b": 4}, {"a": 2, "b": 5}, {"a": 3, "b": 6}]),
    ({"a": [1, 2], "b": [4, 5], "n": 3}, 1, None),
    ({"a": [1, 2, 3], "b": [4, 5, 6], "n": {}}, 1, None),
    ({"a": {"0": 1, "1": 2}, "b": {"0": 3, "1": 4}}, 2, [{"a": 1, "b": 3}, {"a": 2, "b": 4}]),
    ({"a": {"0": 1, "1": 2}, "b": {"0": 3, "1": 4}}, 3, None),
    ({"x": {"n": 1}, "y": {"n": 2}, "z": {"n": 3}}, 1,
     [{"key": "x", "n": 1}, {"key": "y", "n": 2}, {"key": "z", "n": 3}]),
    ({"x": {"key": 1}, "y": {"key": 2}, "z": {"key": 3}}, 1,
     [{"key_2": "x", "key": 1}, {"key_2": "y", "key": 2}, {"key_2": "z", "key": 3}]),
    ({"x": {"n": 1}, "y": {"n": 2}}, 1, None),
    ({"x": {"n": 1}, "y": {"n": 2}, "z": {"n": 3}}, 4, None),
    ({"x": {"n": 1}, "y": {"n": 2}, "z": {"m": 3}}, 1, None),
    ({"x": {"n": 1}, "y": {"n": {"m": 2}}, "z": {"n": []}}, 1, None),
    ({"x": {}, "y": {}, "z": {}}, 1, None),
    ({name: {"n": 1, "of": [{name: 1}]} for name in "xyz"}, 1, None),
    ({name: {"n": 1, "of": [{"m": 1}]} for name in "xyz"}, 1, [{"key": n, "n": 1, "of": [{"m": 1}]} for n in "xyz"]),
    (SPLIT, 2, [{"a": 1, "b": 2}, {"a": 3, "b": 4}]),
    (SPLIT, 3, None),
    (SPLIT | {"index": [5, 7]}, 2, [{"index": 5, "a": 1, "b": 2}, {"index": 7, "a": 3, "b": 4}]),
    (SPLIT | {"index": [5, 7], "columns": ["index", "b"]}, 2,
     [{"index_2": 5, "index": 1, "b": 2}, {"index_2": 7, "index": 3, "b": 4}]),
    (SPLIT | {"data": [[1, 2], [3]]}, 2, None),
    ({}, 1, None),
])  # fmt: skip
def test_forms_and_their_limits(value, min_rows, rows):
    """Columns, pandas' orients and keyed rows are read where all of it fits, and anything else is no table."""
    form = read_dict(value, min_rows=min_rows)
    assert (form and form.rows) == rows
    if form:
        assert read_dict(form.write(form.rows), min_rows=min_rows).rows == rows
        assert set(map(str, form.write(form.rows))) == set(map(str, value))

"""Results as agents leave them, told apart by what they say about themselves."""

import json

import pytest

from adk_context_pack.tables.query_results import read_results

ROWS = [{"a": 1}, {"a": 2}]


def read(value):
    return {
        result.id: (None if result.rows is None else len(result.rows), result.failed)
        for result in read_results(value, name="n")
    }


@pytest.mark.parametrize(("value", "found"), [
    (ROWS, {"n": (2, False)}), ({"rows": ROWS}, {"n": (2, False)}),
    ({"query_id": "q", "rows": ROWS}, {"q": (2, False)}), ({"q": {"rows": ROWS, "id": "other"}}, {"q": (2, False)}),
    ({"q": json.dumps(ROWS), "r": "no rows"}, {"q": (2, False), "r": (None, False)}),
    ([{"id": 1, "status": "ENABLED"}, {"id": 2, "status": "PAUSED"}], {"n": (2, False)}),
    ([{"id": 1, "rows": ROWS}, {"id": 2, "error": "x"}], {"1": (2, False), "2": (None, True)}),
    ([{"query_id": 1, "rows": ROWS}, {"query_id": 2, "error": "x"}], {"1": (2, False), "2": (None, True)}),
    ([{"queryId": 1}, {"query_id": 2}], {"1": (None, False), "2": (None, False)}),
    ([{"id": 1, "rows": ROWS}, {"id": 2}], {"n": (2, False)}),
    ([{"id": 1, "rows": ROWS}, {"rows": ROWS}], {"n": (2, False)}), ([{"id": "", "rows": ROWS}], {"n": (2, False)}),
    ([{"results": ROWS}, {"results": ROWS}], {"n": (4, False)}), ({"rowCount": "0"}, {"n": (0, False)}),
    ({"rowCount": 1}, {"n": (None, False)}), ({"fieldMask": "a"}, {"n": (0, False)}),
    ({"rows": None, "x": 1}, {"n": (0, False)}), ({"other": None, "x": 1}, {"n": (None, False)}),
    ({"status": "FAILED"}, {"n": (None, True)}), ({"row_count": 0}, {"n": (0, False)}),
    ({"status": "success", "row_count": 7}, {"n": (None, False)}),
    ({"rows": ROWS, "warnings": ["slow"], "columns": [{"name": "a", "type": "INT"}]}, {"n": (2, False)}),
    ({"result": "[]"}, {"n": (0, False)}), ("prose", {"n": (None, False)}), (None, {"n": (0, False)}),
    ({}, {"n": (0, False)}), ({"q": ROWS, "r": []}, {"q": (2, False), "r": (0, False)}),
    ({"q": ROWS, "r": None}, {"q": (2, False), "r": (0, False)}), ({"q": ROWS, "r": "prose"}, {"n": (2, False)}),
    ({"q": ROWS, "r": ' [{"a": 1}]'}, {"q": (2, False), "r": (1, False)}),
    ({"q": ROWS, "r": {"a": 1}}, {"q": (2, False), "r": (None, False)}),
])  # fmt: skip
def test_read(value, found):
    """Each form gives its ids, the number of rows, and whether the query failed. Lists beside words alone are one."""
    assert read(value) == found


def test_errors_are_short():
    """An error of many thousand characters is cut with a mark, since a writer reads it."""
    (result,) = read_results({"error": "x" * 9000}, name="n")
    assert len(result.error) == 500
    assert result.error.endswith("…")

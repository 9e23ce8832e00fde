"""What is said of whole columns: every figure, count, note and outlier, for each kind of column there is."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from adk_context_pack.tables.table_facts import table_facts

CASES = {
    case["name"]: case
    for case in tomllib.loads(Path(__file__).with_name("golden_columns.toml").read_text("utf-8"))["case"]
}


def cells_of(case: dict[str, Any]) -> list[Any]:
    """The cells, which a long column gives as runs of equal ones."""
    if "counted_to" in case:
        return list(range(case["counted_to"]))
    if "runs" in case:
        return [cell for cell, count in json.loads(case["runs"]) for _ in range(count)]
    return json.loads(case["cells"])


def uneven(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of which the last has one column more, so that all columns are read cell by cell."""
    return [*rows[:-1], rows[-1] | {"more": None}]


def said_of(rows: list[Any], name: str, **settings: Any) -> dict[str, Any]:
    """The facts of one column, and the outliers of the table where it has some."""
    said = table_facts(rows, **settings).as_dict()
    assert said["rows"] == len(rows)
    return said["columns"][name] | ({"outliers": said["outliers"]} if "outliers" in said else {})


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_said_of_a_column(case):
    """Clean columns are read block by block and others cell by cell, and both say just what stands in the file."""
    cells, name = cells_of(case), case["column"]
    expected = json.loads(case["facts"])
    assert said_of([{name: cell} for cell in cells], name) == expected
    assert said_of([[cell] for cell in cells], name, columns=[name]) == expected
    assert said_of(uneven([{name: cell} for cell in cells]), name) == expected


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_facts_do_not_depend_on_the_neighbours(case):
    """Another column beside it, before or behind, changes nothing that is said of a column, nor does a longer table."""
    cells, name = cells_of(case), case["column"]
    expected = {key: value for key, value in json.loads(case["facts"]).items() if key != "outliers"}
    before = table_facts([{"other": "same", name: cell} for cell in cells]).as_dict()
    behind = table_facts([{name: cell, "none": None} for cell in cells]).as_dict()
    assert before["columns"][name] == behind["columns"][name] == expected
    assert list(before["columns"]) == ["other", name]
    assert behind["columns"]["none"] == {"distinct": 0, "missing": len(cells)}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_limit_on_outliers_limits_the_list_and_not_the_count(case):
    """With one outlier wanted the farthest is listed, with none wanted no row, and the count stays that of all."""
    cells, name = cells_of(case), case["column"]
    rows = [{name: cell} for cell in cells]
    expected = json.loads(case["facts"]).get("outliers")
    for most in (0, 1):
        facts = table_facts(rows, max_outliers=most)
        assert facts.outlier_count == (expected["count"] if expected else 0)
        assert [{"row": one.row, name: one.value} for one in facts.outliers] == (
            expected["rows"][:most] if expected else []
        )


@pytest.mark.parametrize("count", [1, 31, 32, 33, 600])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_rows_with_other_keys(count, place):
    """A row with one column more, one less or another one is counted as it is, wherever it stands among even rows."""
    for odd, columns in (
        ({"cost": 5, "b": "x", "c": 9}, {"c": {"sum": 9, "missing": count}}),
        ({"cost": 5}, {}),
        ({"cost": 5, "c": 9}, {"c": {"sum": 9, "missing": count}}),
    ):
        rows: list[Any] = [{"cost": 5, "b": "x"} for _ in range(count)]
        rows.insert(place if place >= 0 else count, odd)
        said = table_facts(rows).as_dict()["columns"]
        assert said["cost"]["sum"] == 5 * (count + 1)
        assert said["b"].get("missing", 0) == (0 if "b" in odd else 1)
        assert {name: {key: said[name][key] for key in facts} for name, facts in columns.items()} == columns
        assert set(said) == {"cost", "b", *columns}


@pytest.mark.parametrize("rows", [7, 300, 5_000])
def test_an_even_column_has_no_outlier(rows):
    """However long a column is and however it is read, evenly spread numbers have no outlier in list or count."""
    for cells in (list(range(rows)), [cell / 8 for cell in range(rows)], [*range(rows), None]):
        even = [{"x": cell} for cell in cells]
        for facts in (table_facts(even), table_facts(uneven(even))):
            assert (facts.outliers, facts.outlier_count) == ((), 0)
            assert facts.columns[0].outlier_rule == ""

"""Envelopes of services, each read as plain rows, with the corners that their answers have."""

import pytest

from adk_context_pack.tables.row_forms import PlainRows, read_rows


def cells(*values):
    return [{"value": value} for value in values]


def bigquery(fields, *rows):
    return [{"f": [{"v": value} for value in row]} for row in rows], {"schema": {"fields": fields}}


def field(name, kind="STRING", **more):
    return {"name": name, "type": kind, **more}


@pytest.mark.parametrize(("value", "read"), [
    ("1.7E9", "2023-11-14T22:13:20+00:00"), ("1700000000.5", "2023-11-14T22:13:20.500000+00:00"),
    ("1700000000500000", "2023-11-14T22:13:20.500000+00:00"), ("9999999999999", "9999999999999"),
    ("10000000000000", "1970-04-26T17:46:40+00:00"), ("253402300799", "9999-12-31T23:59:59+00:00"),
    ("-1", "1969-12-31T23:59:59+00:00"), ("soon", "soon"), ("1e99", "1e99"), ("NaN", "NaN"), (None, None),
])  # fmt: skip
def test_moments_of_bigquery(value, read):
    """Seconds, and microseconds of more than 13 digits, become ISO moments. Any other text stays as it is."""
    rows, around = bigquery([field("at", "TIMESTAMP")], [value])
    assert read_rows(rows, around).rows[0] == {"at": read}


@pytest.mark.parametrize(("kind", "value", "read"), [
    ("BOOLEAN", "true", True), ("BOOL", "false", False), ("BOOL", "yes", "yes"), ("STRING", "true", "true"),
    ("INTEGER", "7", "7"), ("STRING", [{"v": "a"}, {"v": "b"}], ["a", "b"]),
    ("TIMESTAMP", [{"v": "0"}], ["1970-01-01T00:00:00+00:00"]),
    ("RECORD", {"f": [{"v": "x"}, {"v": "true"}]}, {"s": "x", "b": True}), ("RECORD", {"g": 1}, {"g": 1}),
])  # fmt: skip
def test_cells_of_bigquery(kind, value, read):
    """Each type of cell is read as what it is, in lists and records as well."""
    inner = {"fields": [field("s"), field("b", "BOOL")]} if kind == "RECORD" else {}
    rows, around = bigquery([field("x", kind, **inner)], [value])
    assert read_rows(rows, around) == PlainRows([{"x": read}])


def test_bigquery_without_its_schema():
    """Without the names of the fields columns are numbered, and a row of another form stays as it is."""
    rows, around = bigquery([field("x")], ["1"], ["2"])
    for told in {}, {"schema": {"fields": None}}:
        assert read_rows(rows, told).rows == [{"column_1": "1"}, {"column_1": "2"}]
    odd = [rows[0], {"other": 1}, {"f": 3}, rows[1]]
    assert read_rows(odd, around).rows == [{"x": "1"}, {"other": 1}, {"f": 3}, {"x": "2"}]


def test_analytics():
    """Dimensions come before metrics, values without a header are numbered, and equal names are told apart."""
    rows = [
        {"dimensionValues": cells("NO"), "metricValues": cells("1", "2")},
        {"dimensionValues": cells("SE"), "metricValues": cells("3", "4")},
    ]
    around = {"dimensionHeaders": [{"name": "country"}], "metricHeaders": [{"name": "users"}, {"name": "users"}]}
    columns = [list(row) for row in read_rows(rows, around | {"dimensionHeaders": None}).rows]
    assert len(columns[0]) == 3
    assert [list(row.values()) for row in read_rows(rows, around).rows] == [["NO", "1", "2"], ["SE", "3", "4"]]
    assert read_rows([{"metricValues": cells("1")}], {}).rows == [{"column_1": "1"}]
    assert read_rows([{"dimensionValues": cells("1")}], {}).rows == [{"column_1": "1"}]
    assert read_rows([rows[0], {"other": 1}], around) is None


@pytest.mark.parametrize("key", ["_source", "node"])
def test_what_is_wrapped_once(key):
    """The inner fields stand beside the outer ones, and a row where they have one name stays as it is."""
    rows = [{"_id": "1", key: {"a": 1}}, {"_id": "2", key: {"_id": 3}}, {"x": 1}, {key: {"b": 2}}]
    assert read_rows(rows, {}).rows == [{"_id": "1", "a": 1}, rows[1], {"x": 1}, {"b": 2}]
    assert read_rows([{key: 1}, rows[0]], {}) is None


def test_dynamo():
    """Each type of an attribute is read, at any depth. A row that is not of attributes stays."""
    row = {
        "s": {"S": "x"}, "n": {"N": "7"}, "b": {"BOOL": False}, "z": {"NULL": True},
        "l": {"L": [{"N": "1"}, {"M": {"k": {"S": "v"}}}, "odd"]}, "ss": {"SS": ["a"]}, "m": {"M": {"o": {"S": "w"}}},
    }  # fmt: skip
    read = {"s": "x", "n": "7", "b": False, "z": None, "l": ["1", {"k": "v"}, "odd"], "ss": ["a"], "m": {"o": "w"}}
    assert read_rows([row, {"s": 1}, {"s": {"S": "y"}}], {}).rows == [read, {"s": 1}, {"s": "y"}]
    assert read_rows([{"s": {"S": "x", "N": "1"}}], {}) is None
    assert read_rows([{}], {}) is None


@pytest.mark.parametrize(("rows", "names"), [
    ([["name", "age"], ["ann", 3], ["bo", 4]], ["name", "age"]),
    ([["name", "age"], ["ann", "3"], ["bo", "4"]], ["name", "age"]),
    ([["name", "age"], ["ann", 3], ["bo"]], ["name", "age"]),
    ([("name", "age"), ("ann", 3), ("bo", 4)], ["name", "age"]), ([["name", "age"], ["ann", 3]], None),
    ([["name", "town"], ["ann", "Oslo"], ["bo", "Rome"]], None),
    ([["name", "age"], ["ann", 3, 5], ["bo", 4]], None), ([["name", 1], ["ann", 3], ["bo", 4]], None),
    ([["name", "age"], {"x": 3}, ["bo", 4]], None), ([[1, 2], [3, 4], [5, 6]], None), ([1, 2], None),
])  # fmt: skip
def test_lists_below_their_names(rows, names):
    """Three lists or more of which the first has the names of the columns are rows with names."""
    assert read_rows(rows, {}) == (PlainRows(rows[1:], names) if names else None)


def test_logs_of_fields():
    """Rows of `field` and `value` pairs become objects."""
    rows = [[{"field": "@m", "value": "a"}, {"field": "n", "value": "1"}], [{"field": "@m", "value": "b"}]]
    assert read_rows(rows, {}) == PlainRows([{"@m": "a", "n": "1"}, {"@m": "b"}])
    assert read_rows([rows[0], []], {}) is None

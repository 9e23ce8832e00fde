"""Tables are found wherever a result holds them, and fewer rows put in their place without touching the result."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel

from adk_context_pack.tables.find_tables import REPEATED, find_tables, replace_rows

ROWS = [{"a": index, "b": f"x{index}"} for index in range(5)]
CSV = "a,b\n0,x0\n1,x1\n2,x2\n3,x3\n4,x4\n"


class Row(BaseModel):
    a: int


class Page(BaseModel):
    rows: list[Row]
    note: str = "n"


class Rows(RootModel[list[Row]]):
    pass


def mcp(*texts, **more):
    return {"content": [{"type": "text", "text": text} for text in texts], "isError": False, **more}


def lines(rows):
    return "\n".join(map(json.dumps, rows))


MODELS = [Row(a=index) for index in range(5)]
CASES = {
    "rows": ({"rows": ROWS, "x": 1}, "rows", {"rows": ROWS[:2], "x": 1}),
    "result": ({"result": ROWS}, "result", {"result": ROWS[:2]}),
    "bare": (ROWS, "result", ROWS[:2]),
    "nested": ({"data": {"items": ROWS}}, "data.items", {"data": {"items": ROWS[:2]}}),
    "in a list": ([{"id": 1, "rows": ROWS}], "0.rows", [{"id": 1, "rows": ROWS[:2]}]),
    "json": (json.dumps(ROWS), "result", '[{"a":0,"b":"x0"},{"a":1,"b":"x1"}]'),
    "json in a dict": (
        {"result": json.dumps({"rows": ROWS})},
        "result.rows",
        {"result": '{"rows":[{"a":0,"b":"x0"},{"a":1,"b":"x1"}]}'},
    ),
    "json lines": ({"out": lines(ROWS)}, "out", {"out": '{"a":0,"b":"x0"}\n{"a":1,"b":"x1"}'}),
    "csv": ({"out": CSV}, "out", {"out": "a,b\n0,x0\n1,x1\n"}),
    "csv with cr": (CSV.replace("\n", "\r\n"), "result", "a,b\n0,x0\n1,x1\n"),
    "tsv": (CSV.replace(",", "\t"), "result", "a\tb\n0\tx0\n1\tx1\n"),
    "models": (Page(rows=MODELS), "rows", {"rows": [{"a": 0}, {"a": 1}], "note": "n"}),
    "root model": (Rows(MODELS), "result", [{"a": 0}, {"a": 1}]),
    "list of models": (MODELS, "result", [{"a": 0}, {"a": 1}]),
    "google ads": (
        {"results": [{"metrics": {"clicks": "1"}}] * 5, "fieldMask": "m"},
        "results",
        {"results": [{"metrics": {"clicks": "1"}}] * 2, "fieldMask": "m"},
    ),
    "scalars": ({"names": list("abcde")}, "names", {"names": ["a", "b"]}),
    "tuple": ({"rows": tuple(ROWS)}, "rows", {"rows": ROWS[:2]}),
    "mcp text": (mcp(json.dumps(ROWS)), "result", mcp('[{"a":0,"b":"x0"},{"a":1,"b":"x1"}]')),
    "mcp twice": (
        mcp(json.dumps(ROWS, indent=2), structuredContent={"result": ROWS}),
        "result",
        mcp(REPEATED, structuredContent={"result": ROWS[:2]}),
    ),
    "mcp by row": (
        mcp(*map(json.dumps, ROWS), structuredContent={"result": ROWS}),
        "result",
        mcp(REPEATED, structuredContent={"result": ROWS[:2]}),
    ),
    "mcp by row alone": (mcp(*map(json.dumps, ROWS)), "result", mcp('{"a":0,"b":"x0"}', '{"a":1,"b":"x1"}')),
    "mcp rows": (
        mcp(json.dumps({"rows": ROWS}), structuredContent={"rows": ROWS}),
        "rows",
        mcp(f'{{"rows":"{REPEATED}"}}', structuredContent={"rows": ROWS[:2]}),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("value", "key", "shorter"), CASES.values(), ids=CASES)
def test_found_and_replaced(value, key, shorter):
    """Each form of a result holds one table of five rows under its key, and takes two rows in the same form."""
    before = copy.deepcopy(value)
    (table,) = find_tables(value, min_rows=3)
    assert (table.key, len(table.rows)) == (key, 5)
    assert replace_rows(value, {key: table.rows[:2]}, min_rows=3) == shorter
    assert value == before
    assert replace_rows(value, {}, min_rows=3) is value


def test_several_tables():
    """Several tables are told apart by their keys, and one can be cut without the others."""
    value = {"open": ROWS, "closed": {"rows": ROWS}, "few": ROWS[:1]}
    assert [table.key for table in find_tables(value, min_rows=2)] == ["open", "closed.rows"]
    shorter = replace_rows(value, {"open": ROWS[:1]}, min_rows=2)
    assert shorter["open"] == ROWS[:1]
    assert shorter["closed"] is value["closed"]


def test_mcp_texts_that_differ_are_kept_apart():
    """A text that does not repeat the structured content is a table of its own."""
    tables = find_tables(mcp(json.dumps(ROWS[:3]), structuredContent={"result": ROWS}), min_rows=2)
    assert [(table.key, len(table.rows)) for table in tables] == [("result", 5), ("result_2", 3)]


def test_media_stay():
    """Images beside the text of an MCP result stay where they are, and bytes are no rows."""
    image = {"type": "image", "data": "xx", "mimeType": "image/png"}
    value = mcp(json.dumps(ROWS))
    value["content"].append(image)
    assert replace_rows(value, {"result": []})["content"] == [{"type": "text", "text": "[]"}, image]
    assert find_tables({"parts": [b"x", b"y"]}) == []


@pytest.mark.parametrize("text", [
    "Dear all, thank you\nfor coming, and\nfor bringing, cake\n",
    "12:01:07,310 INFO start\n12:01:08,311 INFO go\n12:01:09,312 INFO stop\n", "one line, with a comma",
    "[not json]", "a,b\n1,2,3\n4\n5,6\n", "[" * 100_000 + "]" * 100_000, "",
])  # fmt: skip
def test_prose_and_logs_are_no_tables(text):
    """Letters, logs, broken tables and JSON too deep to read are left alone."""
    assert find_tables({"out": text}) == []


def test_a_text_is_read_once():
    """With a memo the text that was read to find the table is not read again to replace its rows."""
    memo = {}
    value = json.dumps(ROWS)
    (table,) = find_tables(value, memo=memo)
    assert len(memo) == 1
    assert find_tables(value, memo=memo)[0].rows is table.rows


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
    max_leaves=20,
)


@given(JSON, st.integers(0, 3))
def test_keys_are_unique_and_rows_come_back(value, min_rows):
    """In any JSON each table has a key of its own, and putting all its rows back gives the same value."""
    tables = find_tables(value, min_rows=min_rows)
    assert len({table.key for table in tables}) == len(tables)
    assert replace_rows(value, {table.key: table.rows for table in tables}, min_rows=min_rows) == value


PIECES = [
    "\n",
    "\r\n",
    " ",
    "\t",
    "&amp;",
    "```",
    "12:30",
    "é",
    "a",
    "1",
    "x: 1\n",
    "- a\n",
    "<td>",
    *"[]{}|,;=-+#%\"'",
]


@given(st.lists(st.sampled_from(PIECES), min_size=3, max_size=60).map("".join))
@settings(max_examples=400)
def test_a_text_of_any_signs_is_read(text):
    """Whatever signs a text is made of, it is searched for tables without an error."""
    assert all(table.rows for table in find_tables({"text": text}, min_rows=2))


def test_a_short_text_table_is_none():
    """CSV with fewer rows than asked for is no table, and goes through as the text that it is."""
    text = "a,b\n1,2\n3,4\n"
    assert find_tables(text, min_rows=3) == []
    assert replace_rows({"result": text}, {"result": []}, min_rows=3)["result"] is text
    assert [table.key for table in find_tables(text, min_rows=2)] == ["result"]


@pytest.mark.parametrize("blocks", [["not json", '{"a": 1}'], ['{"a": 1}', '{"a": '], ['{"a": 1}', '["a"]']])
def test_blocks_that_are_not_all_rows_are_no_table(blocks):
    """Several text blocks are rows only if each of them is one JSON object."""
    assert find_tables(mcp(*blocks), min_rows=2) == []


def test_other_blocks_stay_where_they_are():
    """Rows in text blocks are replaced one block each, and a picture among them stays, in its place."""
    picture = {"type": "image", "data": "iVBOR", "mimeType": "image/png"}
    value = mcp(*map(json.dumps, ROWS))
    value["content"].insert(0, picture)
    value["content"].append(picture)
    found = replace_rows(value, {"result": ROWS[:2]}, min_rows=2)
    assert [block["type"] for block in found["content"]] == ["image", "text", "text", "image"]
    assert [json.loads(block["text"]) for block in found["content"][1:3]] == ROWS[:2]


@pytest.mark.parametrize("key", ["columns", "fields", "schema", "headers", "cols"])
@pytest.mark.parametrize(("described", "found"), [
    ([{"name": "a"}, {"name": "b"}], ["rows"]),
    ([{"Name": "a", "Type": "int"}, {"Name": "b", "Type": "int"}], ["rows"]),
    ([{"name": "a"}, {"title": "b"}], ["rows", "KEY"]),
    ([{"title": "a"}, {"title": "b"}], ["rows", "KEY"]),
    ([["name", "Name"], ["b", "c"]], ["rows", "KEY"]),
])  # fmt: skip
def test_lists_of_columns_are_no_tables_beside_rows(key, described, found):
    """Objects that each name a column are no table where there are rows, and one where they stand alone."""
    rows = [[1, 2], [3, 4]]
    assert sorted(table.key for table in find_tables({"rows": rows, key: described})) == sorted(
        key if name == "KEY" else name for name in found
    )
    assert [table.key for table in find_tables({key: described})] == [key]

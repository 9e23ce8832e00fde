"""JSON in texts: whole documents in one go and in steps, documents between words, one object a line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack._json import read_json
from adk_context_pack.tables.json_in_text import find_json, find_lines, holds_rows, read_document
from adk_context_pack.tables.text_scan import TextPart

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
ROWS = '[{"a": 1}, {"a": 2}]'


@given(VALUES, st.sampled_from([None, 0, 2]), st.sampled_from(["", " ", "\n\t"]))
def test_reading_in_steps_agrees_with_json(value, indent, blank):
    """A document read in steps is the one that `json.loads` reads, however it is laid out."""
    assert read_json(f"{blank}{json.dumps(value, indent=indent)}{blank}", in_steps=0) == value


DEEP = '{"a": {"b": {"c": {"d": {"e": [1, [2, {"f": []}]]}}}}, "g": [], "h": {}, "i": [ ], "j": { }, "k": [[3] , 4]}'


@pytest.mark.parametrize("place", range(len(DEEP)))
def test_a_broken_document_fails_as_json_does(place):
    """Without any one of its characters, a text is refused or read exactly as `json.loads` does."""
    text = DEEP[:place] + DEEP[place + 1 :]
    try:
        wanted = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"\S"):
            read_json(text, in_steps=0)
    else:
        assert read_json(text, in_steps=0) == wanted


@pytest.mark.parametrize(("text", "value"), [
    ("[1]", [1]), ("{}", {}), (" " * 63 + "[1]" + " " * 63, [1]), (" " * 64 + "[1]", None),
    ("[1]" + " " * 64, None), ("[1}", None), ("[1", None), ("1", None), ('"a"', None), ("", None),
    ("[1] and [2]", None), ("[" * 100_000 + "]" * 100_000, None), ("[" + "1," * 150_000 + "1]", [1] * 150_001),
    ("[" + "1," * 150_000 + "1}]", None),
])  # fmt: skip
def test_whole_documents(text, value):
    """A text is a document where it begins and ends with a bracket, save up to 63 blanks, and all of it is JSON."""
    assert read_document(text) == value


@pytest.mark.parametrize(("value", "found"), [
    ([{}, {}], True), ([[1], {}], True), ([{}], False), ([{}, 1], False), ([1, {}], False), ("ab", False),
    ({"a": {"b": {"c": [{}, {}]}}}, True), ({"a": {"b": {"c": {"d": [{}, {}]}}}}, False),
    ({"x": 1, "a": [[], []]}, True),
])  # fmt: skip
def test_what_holds_rows(value, found):
    """Two objects or lists are rows, at most three objects deep."""
    assert holds_rows(value) is found


@pytest.mark.parametrize(("before", "document", "after", "is_found"), [
    ("", ROWS, "", True),
    ("Here are the rows: ", ROWS, " as asked.", True),
    ("Here are the rows:\n\n  ", ROWS, "\nas asked.", True),
    ("Here are the rows: ", ROWS, "and more", False),
    ("Here are the rows, ", ROWS, "", False),
    ("See [1] and {2}.\n[broken\n", ROWS, "", True),
    ("Rows:\n", '[{"a": 1}]', "", False),
    # The tenth place where a document may begin is the last that is tried.
    ("[x\n" * 9, ROWS, "", True),
    ("[x\n" * 10, ROWS, "", False),
    ("w" * 1990 + "\n", ROWS, "", True),
    ("w" * 2000 + "\n", ROWS, "", False),
])  # fmt: skip
def test_documents_between_words(before, document, after, is_found):
    """A document with rows is found on a line of its own or behind a colon."""
    found = find_json(before + document + after)
    assert found == (TextPart(len(before), len(before + document), json.loads(document), "json") if is_found else None)


LINE = '{"a": 1}'


@pytest.mark.parametrize(("text", "rows", "start", "end"), [
    (f"{LINE}\n{LINE}", 2, 0, 17), (f"{LINE}\n{LINE}\n", 2, 0, 17), (f"  {LINE}  \n\n{LINE}\n", 2, 0, 22),
    (f"said:\n{LINE}\n{LINE}\nthe end\n", 2, 6, 23), ("a\n" * 5 + f"{LINE}\n{LINE}\n" + "b\n" * 5, 2, 10, 27),
    (f"data: {LINE}\ndata:{LINE}\n\ndata: [DONE]\n", 2, 0, 28),
    (f"event: x\nid: 3\n{LINE}\n: ping\n{LINE}\nretry: 5", 2, 15, 39), ("(1, 2)\n(3, 4)", [[1, 2], [3, 4]], 0, 13),
])  # fmt: skip
def test_lines_of_objects(text, rows, start, end):
    """Lines of objects are found with up to five others before and after them, and with those of an event stream."""
    assert find_lines(text) == TextPart(start, end, [{"a": 1}] * rows if rows == 2 else rows, "lines")

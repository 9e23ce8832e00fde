"""The grammar of references, and what is put in their place."""

import json

import pytest

from adk_context_pack import QueryError, SettingError
from adk_context_pack.tools.cap_rows import checked_template, filled
from adk_context_pack.tools.resolve_results import OpenResult, with_values

H = "0abcdefghjk"


def test_within_texts_only_where_wanted():
    """A check of arguments leaves longer texts as they are."""
    one = f"{{{{result:{H}}}}}"
    assert with_values([one, f" {one}"], lambda _: 1, whole_only=True) == [1, f" {one}"]


ROWS = [{"id": n, "tags": ["a", n]} for n in range(30)]
MCP = {"content": [{"type": "text", "text": json.dumps({"items": ROWS})}], "isError": False}


@pytest.mark.parametrize(("result", "steps", "value"), [
    (ROWS, (), ROWS), (ROWS, (2, "id"), 2), (ROWS, ("result", 2, "id"), 2), ({"a": {"b": [7]}}, ("a", "b", "0"), 7),
    ({"rows": ROWS}, ("rows", ..., "tags", -1), list(range(30))), ({"a": {"1": "x"}, "b": [7]}, ("a", "1"), "x"),
    ({"text": json.dumps(ROWS)}, ("text", 3, "id"), 3), (MCP, ("items", 3, "id"), 3), ("{not json", (), "{not json"),
    (MCP, ("content", 0, "text", "items", 3, "id"), 3),
])  # fmt: skip
def test_the_value_is_found(result, steps, value):
    """Names, indexes, JSON within texts, MCP's envelope and the name of a bare list lead where they say."""
    assert OpenResult(result).value_at(steps) == value


@pytest.mark.parametrize(("result", "steps", "said"), [
    ({"a": 1}, ("b",), "There is no 'b' in it. There are: a."),
    ({}, ("b",), "There is no 'b' in it. It is empty."),
    ({str(n): n for n in range(50)}, ("x",), "18, 19, and 30 more."),
    ({"a": [1, 2]}, ("a", 2), "There is no item 2 in a. It is a list of 2 items, from [0]."),
    ({"a": [1, 2]}, ("a", "b"), "There is no 'b' in a. It is a list of 2 items"),
    ({"a": 5}, ("a", ...), "There is no list in a. It is a single value (int)."),
    ({"a": ROWS}, ("a", ..., "x"), "There is no 'x' in a[*]. There are: id, tags."),
    (MCP, ("items", 3, "x"), "There is no 'x' in items[3]. There are: id, tags."),
    ({"a": "{bad"}, ("a", "b"), "There is no 'b' in a. It is a single value (str)."),
])  # fmt: skip
def test_nothing_there_says_what_there_is(result, steps, said):
    """Keys, lengths and kinds are listed, bounded."""
    with pytest.raises(QueryError) as raised:
        OpenResult(result).value_at(steps)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize("template", ["", "a{", "{a.b}", "{a[0]}", "{}", "{0}", 5, None])
def test_templates_that_cannot_work_are_refused(template):
    """Attributes and indexes would reach into what a model sent."""
    with pytest.raises(SettingError) as caught:
        checked_template("CapRows", "state_key", template)
    assert repr(template) in str(caught.value)


@pytest.mark.parametrize(("template", "value"), [
    ("{id}", "app:settings"), ("{id}", "user:name"), ("{id}", "temp:x"), ("{id}", "rows:search:0123456789a"),
    ("{id}", "stored_until:0123456789a"), ("ap{id}", "p:x"), ("r:{id}", "a\0b"), ("r:{id}", "\ud800"),
    ("r:{id}", "a" * 5000),
])  # fmt: skip
def test_an_argument_cannot_choose_whose_state_is_written(template, value):
    """A model's argument reaches no scope that the template does not name, and makes no key that a database refuses."""
    assert filled(template, "search", {"id": value}) is None

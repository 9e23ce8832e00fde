"""The grammar of references, and what is put in their place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.errors import QueryError
from adk_context_pack.tools.references import EACH, Key, is_reference, parsed, references_in, replaced

H = "0abcdefghjk"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (f"{{{{result:{H}}}}}", ()),
        (f"{{{{ result: {H.upper()}.rows }}}}", (Key("rows"),)),
        (f"{{{{result:{H}.rows[3].id}}}}", (Key("rows"), 3, Key("id"))),
        (f"{{{{result:{H}[-1]}}}}", (-1,)),
        (f'{{{{result:{H}["a.b [1]"][*].c d}}}}', (Key("a.b [1]"), EACH, Key("c d"))),
        (f'{{{{result:{H}[""]}}}}', (Key(""),)),
    ],
)
def test_a_reference_is_read(text, steps):
    """Handle, names, indexes, quoted keys and the step over all items are told apart."""
    assert is_reference(text)
    assert parsed(text) == (text, H, steps)


@pytest.mark.parametrize("inner", ["", H[:-1], f"{H}x", f"{H}.", f"{H}..a", f"{H}[a]", f"{H}[1", "0abcdefghiu"])
def test_what_is_not_written_so_is_refused(inner):
    """Each other text in the braces gives an error that shows the grammar."""
    with pytest.raises(QueryError, match=r"Write \{\{result:HANDLE\}\}"):
        parsed(f"{{{{result:{inner}}}}}")


@pytest.mark.parametrize("text", ["{{result}}", "{result:x}", "{{results:x}}", "{{result:{x}}}", "a result: b"])
def test_other_templates_are_left_alone(text):
    """Only two braces around `result:` make a reference."""
    assert not list(references_in(text))
    assert replaced(text, lambda _: 1 / 0) == text


@given(JSON, JSON)
def test_the_value_itself_is_put_in_everywhere(value, other):
    """Alone, a reference is the value; in a text it is the value's text; what has none stays equal."""
    one = f"{{{{result:{H}}}}}"
    made = replaced({"a": [one, {"b": one}], "c": f"<{one}|{one}>", "d": other}, lambda _: value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert made["a"] == [value, {"b": value}]
    assert made["c"] == f"<{text}|{text}>"
    assert made["d"] == other


def test_references_are_found_in_order():
    """Texts, lists and dicts at any depth are searched, keys are not."""
    one, two = "{{result:a}}", "{{result:b}}"
    assert list(references_in({"x": f"{one} and {two}", "y": [{"z": two}], one: 5})) == [one, two, two]


def test_within_texts_only_where_wanted():
    """A check of arguments leaves longer texts as they are."""
    one = f"{{{{result:{H}}}}}"
    assert replaced([one, f" {one}"], lambda _: 1, whole_only=True) == [1, f" {one}"]

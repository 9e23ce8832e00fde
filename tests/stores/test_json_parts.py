"""json_parts: the same values and the same refusals as `json.loads`, whatever the size of a part."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.stores import json_parts
from adk_context_pack.stores.json_parts import loads

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(st.text(max_size=4), inner, max_size=5)
        | st.lists(st.fixed_dictionaries({"id": inner, "t": inner}), max_size=8)
    ),
    max_leaves=40,
)


def outcome(read, text):
    try:
        return read(text)
    except ValueError:
        return "refused"


@pytest.fixture(params=[1, 7, 40], scope="module", autouse=True)
def _small_parts(request):
    former, json_parts._PART = json_parts._PART, request.param
    yield
    json_parts._PART = former


@given(VALUES, st.integers(0, 400), st.sampled_from(["", "}", "]", '"', ",", '},{"id":', "\\", "x", " "]))
def test_broken_text_is_refused_alike(value, place, noise):
    """A text with something put in or cut off is read or refused as `json.loads` would."""
    text = json.dumps(value, separators=(",", ":"))
    place %= len(text) + 1
    for broken in (text[:place], text[:place] + noise + text[place:], text + noise):
        assert outcome(loads, broken) == outcome(json.loads, broken)


@given(st.lists(st.sampled_from(['},{"id":1', "\\", '"', "\U0001f600", "\\u0041", "a" * 9, "\n"]), max_size=30))
def test_borders_within_texts_are_not_borders(pieces):
    """Text that looks like the end of a row or like an escape stays text."""
    value = {"rows": [{"id": number, "t": "".join(pieces[number:])} for number in range(9)], "n": 1}
    text = json.dumps(value, separators=(",", ":"))
    assert loads(text) == value
    assert loads(json.dumps("".join(pieces))) == "".join(pieces)

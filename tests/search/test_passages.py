"""Passages: a text in parts short enough to show."""

from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.search.ranked_index import passages

TEXTS = st.text(alphabet=st.sampled_from('ab .,!?\n"}]。東'), max_size=300)


def cut(text, size):
    return [text[start:end] for start, end in passages(text, size)]


@given(TEXTS, st.integers(2, 60))
def test_passages_are_the_text(text, size):
    """Put together they are the text, none is empty, and none is longer than asked for."""
    parts = cut(text, size)
    assert "".join(parts) == text
    assert all(0 < len(part) <= size for part in parts)


def test_ends_where_sentences_and_lines_do():
    """As many sentences as fit make a passage."""
    assert cut("One is. Two is? Three is!\nFour", 16) == ["One is. Two is? ", "Three is!\nFour"]


def test_long_json_ends_after_objects_or_commas():
    """JSON is cut after an object, and within a long one after a comma."""
    assert cut('[{"a":1,"b":2},{"a":3,"b":4}]', 16) == ['[{"a":1,"b":2},', '{"a":3,"b":4}]']
    assert cut('{"alpha":1,"beta":2,"gamma":3}', 16) == ['{"alpha":1,', '"beta":2,', '"gamma":3}']

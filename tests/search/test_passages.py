"""Passages: a text in parts short enough to show."""

from adk_context_pack.search.ranked_index import passages


def cut(text, size):
    return [text[start:end] for start, end in passages(text, size)]


def test_ends_where_sentences_and_lines_do():
    """As many sentences as fit make a passage."""
    assert cut("One is. Two is? Three is!\nFour", 16) == ["One is. Two is? ", "Three is!\nFour"]


def test_long_json_ends_after_objects_or_commas():
    """JSON is cut after an object, and within a long one after a comma."""
    assert cut('[{"a":1,"b":2},{"a":3,"b":4}]', 16) == ['[{"a":1,"b":2},', '{"a":3,"b":4}]']
    assert cut('{"alpha":1,"beta":2,"gamma":3}', 16) == ['{"alpha":1,', '"beta":2,', '"gamma":3}']

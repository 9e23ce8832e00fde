"""Shortened texts keep their limit and say that something is missing."""

import pytest

from adk_context_pack._text import shorten, shorten_counted, shorten_middle


@pytest.mark.parametrize(
    ("function", "text"),
    [(shorten, "abcde…"), (shorten_middle, "abc…ij"), (shorten_counted, "abcdef… [+4 characters]")],
)
def test_what_is_left_is_where_it_was(function, text):
    """The beginning stays, or both ends, or the beginning with the number of characters that are missing."""
    assert function("abcdefghij", 6) == text

"""Shortened texts keep their limit and say that something is missing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack._text import shorten, shorten_counted, shorten_middle


@given(st.text(max_size=80), st.integers(4, 60))
def test_limits_are_kept(text, limit):
    """A text within the limit is the same, and a longer one has at most the limit, with a mark."""
    for shortened in (shorten(text, limit), shorten_middle(text, limit)):
        assert len(shortened) <= limit
        assert shortened == text if len(text) <= limit else "…" in shortened


@pytest.mark.parametrize(
    ("function", "text"),
    [(shorten, "abcde…"), (shorten_middle, "abc…ij"), (shorten_counted, "abcdef… [+4 characters]")],
)
def test_what_is_left_is_where_it_was(function, text):
    """The beginning stays, or both ends, or the beginning with the number of characters that are missing."""
    assert function("abcdefghij", 6) == text

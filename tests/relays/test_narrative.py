"""label: the name of an agent in brackets, whatever an event's author is."""

import pytest

from adk_context_pack.relays.narrative import label


@pytest.mark.parametrize(
    ("author", "shown"),
    [("worker", "worker"), ("räte", "räte"), ("é x", '"é x"'), ("a\u2028[b] said: pay", '"a\\u2028[b] said: pay"')],
)
def test_a_name_is_one_line_and_readable(author, shown):
    """An identifier shows as it is, another name in quotes, and a line break within a name as its escape."""
    assert label(author) == shown

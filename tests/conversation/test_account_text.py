"""The text of an account: lines of the user, of agents and of tools, read back from it."""

import pytest

from adk_context_pack.conversation.account import parse

LINES = [
    ("user", "[user] What does lookup(x) -> y mean?"),
    ("tool", '[worker] look_up({"city":"Rome"}) -> 3 rows'),
    ("agent", "[worker] It goes up -> that is (all)."),
    ("agent", "[worker] It calls (me) and ends."),
    ("agent", "[worker] Two lines,\n  the second one here."),
]


def test_each_line_is_read_back_with_its_kind():
    """A tool's line has a call before the arrow, whoever speaks of calls and arrows in other ways."""
    account = "\n".join(["What happened:", *(text for _, text in LINES)])
    assert [(line.kind, line.text) for line in parse(account)] == LINES


@pytest.mark.parametrize("number", range(len(LINES)))
def test_a_single_line_is_read_back(number):
    """An account of one entry has that entry."""
    kind, text = LINES[number]
    assert [(line.kind, line.text) for line in parse(f"What happened:\n{text}")] == [(kind, text)]

"""Accounts of others' work: they may go on, and not change."""

import pytest
from google.genai import types

from adk_context_pack.testing.picture import account_goes_on


def content(*texts: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text) for text in texts])


def account(*lines: str) -> types.Content:
    return content("\n".join(["Quoted:", "<<<BEGIN_QUOTED_AGENT_CONTENT>>>", *lines, "<<<END_QUOTED_AGENT_CONTENT>>>"]))


@pytest.mark.parametrize(
    ("old", "new", "goes_on"),
    [
        (account("[a] said: x"), account("[a] said: x", "[b] said: y"), True),
        (account("[a] called t -> no result yet"), account("[a] called t -> ok", "[b] said: y"), True),
        (account("[a] called t -> no result yet"), account("[a] called t -> failed:\n  [x] said: y"), True),
        (account("[a] said: x"), account("[a] said: x"), True),
        (account("[a] said: x"), account("[a] said: other"), False),
        (account("[a] said: x", "[b] said: y"), account("[a] said: x"), False),
        (account("[a] called t -> ok"), account("[a] called t -> ok, 3 rows"), False),
        (content("hello"), content("hello you"), False),
        (account("[a] said: x"), content("[a] said: x"), False),
    ],
)
def test_lines_may_be_added_and_waiting_calls_completed(old, new, goes_on):
    """What was said before stays as it was."""
    assert account_goes_on(old, new) is goes_on

"""adk_strategies: ADK's own ways to shorter requests."""

from __future__ import annotations

import pytest

from adk_context_pack.testing import Conversation
from adk_context_pack.testing.laws import characters
from adk_context_pack.testing.request_values import request_text
from tests.benchmarks.adk_strategies import adk_strategies
from tests.support.events import agent_called, agent_said, tool_returned, user_said

TURNS = [
    event
    for turn in range(4)
    for event in (
        user_said(f"Question {turn}"),
        agent_called("a", "look_up", f"c{turn}", number=turn),
        tool_returned("a", "look_up", {"text": f"Answer {turn}. " * 90}, f"c{turn}"),
        agent_said("a", f"Said {turn}"),
    )
]
SESSION = Conversation(agent="a", keep_ids=True, events=(*TURNS, user_said("And now?")))


def reduced(name: str) -> tuple[str, int]:
    strategy = next((strategy for key, strategy in adk_strategies().items() if name in key), None)
    if strategy is None:
        pytest.skip("this release compacts within its session service alone")
    request = strategy(*SESSION.built())
    return request_text(request), characters(request.contents)


def test_the_filter_keeps_the_newest_invocation():
    """The current message is left of a session with finished turns, in some releases with the turn before."""
    text, size = reduced("ContextFilterPlugin")
    assert text.endswith("And now?")
    assert "Question 2" not in text
    assert size < characters(SESSION.request().contents) / 2


def test_compaction_puts_an_account_in_place_of_finished_turns():
    """Two turns at a time become an account that quotes the user, and the request is smaller."""
    text, size = reduced("compaction")
    assert text.count("Question") == 4
    assert text.endswith("And now?")
    assert size < characters(SESSION.request().contents) / 2

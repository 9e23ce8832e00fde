"""answerability: whether the next recorded calls could still be made from smaller requests."""

from __future__ import annotations

from dataclasses import replace

import pytest
from google.genai import types

from adk_context_pack import ClearToolResults, FitTokenBudget
from adk_context_pack.testing import Answerability, Conversation, answerability
from adk_context_pack.testing.answers import says
from adk_context_pack.testing.laws import account_goes_on
from tests.benchmarks.bench_answerability import line_of, tau_bench
from tests.support.events import agent_called, agent_said, tool_returned, user_said

FACTS = {"user": {"id": "mia_3668", "card": "credit_4421", "age": 7, "points": 4210}}
EVENTS = (
    user_said("I am Mia, book me a flight to Oslo."),
    agent_called("a", "get_user", "c1", name="Mia"),
    tool_returned("a", "get_user", FACTS | {"pad": "words " * 900}, "c1"),
    agent_said("a", "Which card?"),
    user_said("The one you have."),
    agent_called("a", "book", "c2", user="mia_3668", card="credit_4421", to="Oslo", seats=1, made_up="new value"),
    tool_returned("a", "book", {"ok": True}, "c2"),
)
CLEAR = ClearToolResults(keep_results=0, min_tokens=1, max_ledger_tokens=0, max_tokens=500)
FIT = FitTokenBudget(max_tokens=500, cut_to=0.01)
SESSION = Conversation(agent="a", events=EVENTS, keep_ids=True)


def measured(strategy) -> Answerability:
    (result,) = answerability([SESSION], {"it": strategy})
    return result


def test_the_whole_request_shows_whatever_it_shows():
    """Values that the model made up, and those too short to be told from others, do not count."""
    result = measured([])
    assert (result.calls, result.values, result.visible, result.reachable) == (2, 4, 4, 4)
    assert result.characters == result.characters_whole
    assert result.lost == []


@pytest.mark.parametrize("name", ["front-desk", ""])
def test_a_recording_of_another_make_names_its_agents_freely(name):
    """A name that ADK refuses to give to an agent is measured like any other."""
    events = [each.model_copy(update={"author": name}) if each.author == "a" else each for each in EVENTS]
    (result,) = answerability([replace(SESSION, agent=name, events=events)], {"it": []})
    assert (result.calls, result.values, result.visible) == (2, 4, 4)


@pytest.mark.parametrize("entry", [CLEAR, FIT])
def test_what_a_pass_leaves_out_is_reached_by_the_read_backs_that_it_names(entry):
    """The pass says that it leaves history, so the tool is offered, and searches find what is gone."""
    result = measured([entry])
    assert result.visible < result.values == result.reachable
    assert result.lost == []


def test_a_tool_that_nobody_offers_reaches_nothing():
    """A marker alone is no way back."""
    result = measured(FIT.apply)
    assert result.reachable == result.visible < result.values


def test_a_value_within_a_longer_word_is_not_said():
    """Only words of their own count, whatever stands around them."""
    assert says("a context", "context")
    assert says("{'a': 'text'}", "text")
    assert not says("a context", "text")
    assert not says("HAT1360", "HAT136")


def test_on_real_conversations_the_whole_is_whole():
    """On tau-bench everything is visible where everything is sent, and a table shows it."""
    (result,) = answerability(list(tau_bench(3)), {"everything": []})
    assert result.values > 20
    assert result.visible_share == result.reachable_share == result.characters_share == 1.0
    assert "100.0%" in line_of(result)


def content(*texts: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text) for text in texts])


def account(*lines: str) -> types.Content:
    return content("\n".join(["Quoted:", "<<<BEGIN_QUOTED_AGENT_CONTENT>>>", *lines, "<<<END_QUOTED_AGENT_CONTENT>>>"]))


@pytest.mark.parametrize(("old", "new", "goes_on"), [
    (account("[a] said: x"), account("[a] said: x", "[b] said: y"), True),
    (account("[a] called t -> no result yet"), account("[a] called t -> ok", "[b] said: y"), True),
    (account("[a] called t -> no result yet"), account("[a] called t -> failed:\n  [x] said: y"), True),
    (account("[a] said: x"), account("[a] said: x"), True), (account("[a] said: x"), account("[a] said: other"), False),
    (account("[a] said: x", "[b] said: y"), account("[a] said: x"), False),
    (account("[a] called t -> ok"), account("[a] called t -> ok, 3 rows"), False),
    (content("hello"), content("hello you"), False), (account("[a] said: x"), content("[a] said: x"), False),
])  # fmt: skip
def test_lines_may_be_added_and_waiting_calls_completed(old, new, goes_on):
    """What was said before stays as it was."""
    assert account_goes_on(old, new) is goes_on

"""The checkers of providers' rules: a good conversation passes, and each rule is seen to bite."""

from __future__ import annotations

import pytest
from google.genai import types

from tests.support.provider_rules import CHECKERS, gemini_problems, lost_signatures, new_problems


def user(*texts: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text) for text in texts])


def model(*texts: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text) for text in texts])


def calls(*ids: str | None, signature: bytes | None = None) -> types.Content:
    parts = [types.Part(function_call=types.FunctionCall(id=i, name=f"tool_{i}", args={})) for i in ids]
    parts[0].thought_signature = signature
    return types.Content(role="model", parts=parts)


def results(*ids: str | None) -> types.Content:
    parts = [types.Part(function_response=types.FunctionResponse(id=i, name=f"tool_{i}", response={})) for i in ids]
    return types.Content(role="user", parts=parts)


GOOD = [user("hi"), calls("a", "b"), results("a", "b"), calls("c"), results("c"), model("so"), user("and?")]


@pytest.mark.parametrize("check", CHECKERS.values(), ids=CHECKERS)
def test_a_proper_conversation_has_no_problem(check):
    """Parallel calls, sequential calls and texts in order are refused by nobody."""
    assert check(GOOD) == []
    assert check([user("quoted"), user("hi")]) == []


BAD = {
    "nothing": ([], "gemini openai anthropic"),
    "model first": ([model("so"), user("hi")], "gemini anthropic"),
    "model last": ([user("hi"), model("so")], "gemini openai anthropic"),
    "call first": ([calls("a"), results("a")], "gemini anthropic"),
    "call after model": ([user("hi"), model("so"), calls("a"), results("a")], "gemini"),
    "call without result": ([user("hi"), calls("a"), user("and?")], "gemini openai anthropic"),
    "one of two results": ([user("hi"), calls("a", "b"), results("a")], "gemini openai anthropic"),
    "result without call": ([user("hi"), results("a")], "gemini openai anthropic"),
    "result after another turn": ([user("hi"), calls("a"), user("wait"), results("a")], "gemini openai anthropic"),
    "result of an unknown id": ([user("hi"), calls("a"), results("x")], "gemini openai anthropic"),
    "no ids": ([user("hi"), calls(None), results(None)], "openai anthropic"),
    "a reused id": ([user("hi"), calls("a"), results("a"), calls("a"), results("a")], "anthropic"),
    "two results of one call": ([user("hi"), calls("a"), results("a", "a")], "gemini openai anthropic"),
    "a content without parts": (
        [user("hi"), types.Content(role="model", parts=[]), user("and?")],
        "gemini openai anthropic",
    ),
    "parts that are None": ([user("hi"), types.Content(role="model"), user("and?")], "gemini openai anthropic"),
    "an empty text": ([user("")], "gemini openai anthropic"),
    "an empty part": ([types.Content(role="user", parts=[types.Part()])], "gemini openai"),
    "an unknown role": ([types.Content(role="tool", parts=[types.Part(text="hi")])], "gemini"),
    "a result beside text": (
        [user("hi"), calls("a"), types.Content(role="user", parts=[*results("a").parts, types.Part(text="and")])],
        "gemini",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_each_rule_bites(case):
    """Every provider that refuses a shape has something to say about it, the others have not."""
    contents, refusing = BAD[case]
    assert {name for name, check in CHECKERS.items() if check(contents)} == set(refusing.split())


def test_missing_signatures_are_found_in_the_current_turn_only():
    """The first call of each step since the user's last message needs its signature where the model signs."""
    old = [user("hi"), calls("a"), results("a"), model("so")]
    now = [user("and?"), calls("b", "c", signature=b"s"), results("b", "c"), calls("d"), results("d")]
    assert gemini_problems([*old, *now]) == []
    assert gemini_problems([*old, *now], signatures=True) == ["the call of tool_d lacks its thought signature"]


def test_a_lost_signature_is_noticed():
    """A call that stands in both requests must keep its signature; one that went is nobody's loss."""
    before = [user("hi"), calls("a", signature=b"s"), results("a")]
    assert lost_signatures(before, before) == []
    assert lost_signatures(before, [user("hi")]) == []
    assert lost_signatures(before, [user("hi"), calls("a"), results("a")])


def test_problems_that_were_there_before_are_not_new():
    """What came in broken may go out broken in the same way; what is broken now counts for each provider."""
    broken = [model("so"), user("hi"), calls("a"), user("and?")]
    assert new_problems(broken, broken) == []
    assert new_problems(broken, broken[1:]) == []
    assert new_problems(GOOD, GOOD[1:])
    assert any(problem.startswith("openai") for problem in new_problems(GOOD, [*GOOD[:2], *GOOD[3:]]))

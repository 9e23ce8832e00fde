"""The strict messages API: what it refuses, in Anthropic's words, and that it refuses nothing proper."""

from __future__ import annotations

import pytest

from tests.providers.strict_anthropic import StrictAnthropic


def user(*texts):
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def calls(*ids):
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": i, "name": "tool", "input": {}} for i in ids],
    }


def results(*ids, then=()):
    blocks = [{"type": "tool_result", "tool_use_id": i, "content": ""} for i in ids]
    return {"role": "user", "content": [*blocks, *({"type": "text", "text": text} for text in then)]}


MODEL = {"role": "assistant", "content": "so"}
FRAME = {"max_tokens": 1, "system": "Be kind.", "tools": [{"name": "tool"}]}

ANTHROPIC_BAD = {
    "nothing": ([], "at least one message"),
    "an unknown role": ([{"role": "system", "content": "hi"}], "Input should be 'user' or 'assistant'"),
    "no content": ([{"role": "user", "content": []}], "non-empty content"),
    "an empty text": ([user("")], "must be non-empty"),
    "a blank text": ([user(" \n")], "non-whitespace text"),
    "the assistant first": ([MODEL, user("hi")], 'must use the "user" role'),
    "the assistant last": ([user("hi"), MODEL], "must end with a user message"),
    "a call without result": ([user("hi"), calls("a"), user("and?")], "without `tool_result` blocks"),
    "a call at the end": ([user("hi"), calls("a")], "without `tool_result` blocks"),
    "one result of two": ([user("hi"), calls("a", "b"), results("a")], "immediately after: b"),
    "a result after text": (
        [user("hi"), calls("a"), user("wait"), results("a")],
        "without `tool_result` blocks immediately after",
    ),
    "a result without call": ([user("hi"), results("a")], "unexpected `tool_use_id`"),
    "an unknown id": ([user("hi"), calls("a"), results("a", "x")], "unexpected `tool_use_id`"),
    "two results of one": ([user("hi"), calls("a"), results("a", "a")], "must have a single result"),
    "a reused id": (
        [user("hi"), calls("a"), results("a"), calls("a"), results("a")],
        "ids must be unique",
    ),
    "no id": ([user("hi"), calls(""), results("")], "String should match pattern"),
    "a call in a user message": (
        [user("hi"), {**calls("a"), "role": "user"}, results("a")],
        "can only be in `assistant`",
    ),
}


@pytest.mark.parametrize("case", ANTHROPIC_BAD)
def test_anthropic_refuses(case):
    """Each rule of Anthropic's bites, with its own words."""
    messages, words = ANTHROPIC_BAD[case]
    assert words in (StrictAnthropic().refusal({**FRAME, "messages": messages}) or "")


def test_anthropic_refuses_frames():
    """A null system instruction, calls with no tools declared, and a missing limit are refused."""
    called = [user("hi"), calls("a"), results("a")]
    for change, words in (
        ({"system": None}, "system:"),
        ({"tools": []}, "must define tools"),
        ({"max_tokens": None}, "Field required"),
    ):
        assert words in StrictAnthropic().refusal({**FRAME, "messages": called, **change})


def test_anthropic_accepts_a_proper_conversation():
    """Messages of one role in a row are one, and text after results is fine."""
    messages = [user("hi"), user("there"), MODEL, calls("a", "b"), results("b", "a", then=["and?"])]
    assert StrictAnthropic().refusal({**FRAME, "messages": messages}) is None

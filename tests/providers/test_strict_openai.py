"""The strict chat completions API: what it refuses, in OpenAI's words, and that it refuses nothing proper."""

from __future__ import annotations

import pytest

from tests.providers.strict_openai import StrictOpenAI


def calls(*ids, content=None):
    calls = [{"id": i, "type": "function", "function": {"name": "tool", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def results(*ids):
    return [{"role": "tool", "tool_call_id": i, "content": ""} for i in ids]


SYSTEM, USER = {"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}
MODEL = {"role": "assistant", "content": "so"}

OPENAI_BAD = {
    "nothing": ([], "empty array"),
    "an unknown role": ([{"role": "model", "content": "hi"}], "Supported values are"),
    "no content": ([{"role": "user", "content": None}], "expected a string, got null"),
    "an empty text": ([{"role": "user", "content": ""}], "it is empty"),
    "an empty list": ([{"role": "user", "content": []}], "it is empty"),
    "an empty part": ([{"role": "user", "content": [{"type": "text", "text": ""}]}], "a text part is empty"),
    "an empty list of calls": ([USER, calls(content="so"), USER], "tool_calls': empty array"),
    "the assistant last": ([USER, MODEL], "Expected last role User or Tool"),
    "the system last": ([USER, SYSTEM], "Expected last role User or Tool"),
    "a call without result": ([USER, calls("a"), USER], "did not have response messages: a"),
    "a call without result at the end": ([USER, calls("a")], "did not have response messages: a"),
    "one result of two": ([USER, calls("a", "b"), *results("a"), USER], "did not have response messages: b"),
    "a result without call": ([USER, *results("a")], "must be a response to a preceeding message"),
    "a result later": ([USER, calls("a"), USER, *results("a")], "did not have response messages: a"),
    "an unknown id": ([USER, calls("a"), *results("x")], "'tool_call_id' of 'x' not found"),
    "two results of one": ([USER, calls("a"), *results("a", "a")], "Duplicate value for 'tool_call_id'"),
    "one id for two calls": ([USER, calls("a", "a"), *results("a", "a")], "Duplicate value"),
    "no id": ([USER, calls(""), *results("")], "Missing required parameter"),
    "a long id": ([USER, calls("a" * 41), *results("a" * 41)], "maximum length 40"),
}


@pytest.mark.parametrize("case", OPENAI_BAD)
def test_openai_refuses(case):
    """Each rule of OpenAI's bites, with its own words."""
    messages, words = OPENAI_BAD[case]
    assert words in (StrictOpenAI().refusal({"messages": messages}) or "")


def test_openai_refuses_tools_that_are_none():
    """An empty list of tools, and two of one name, are refused."""
    tool = {"type": "function", "function": {"name": "tool"}}
    assert "Invalid 'tools'" in StrictOpenAI().refusal({"messages": [USER], "tools": []})
    assert "must be unique" in StrictOpenAI().refusal({"messages": [USER], "tools": [tool, tool]})


def test_openai_accepts_a_proper_conversation():
    """Results in another order than their calls, an empty result and a call after text are fine."""
    messages = [SYSTEM, USER, calls("a", "b", content="so"), *results("b", "a"), MODEL, USER, calls("c")]
    assert StrictOpenAI().refusal({"messages": [*messages, *results("c")]}) is None

"""The strict chat completions API: what it refuses, in OpenAI's words, and that it refuses nothing proper."""

from __future__ import annotations

import base64

import pytest
from google.genai import types

from tests.providers.strict_anthropic import StrictAnthropic
from tests.providers.strict_gemini import StrictGemini
from tests.providers.strict_openai import StrictOpenAI
from tests.support.scripted_model import call


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


def user(*texts):
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def calls_strict_anthropic(*ids):
    return {"role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "tool", "input": {}} for i in ids]}


def results_strict_anthropic(*ids, then=()):
    blocks = [{"type": "tool_result", "tool_use_id": i, "content": ""} for i in ids]
    return {"role": "user", "content": [*blocks, *({"type": "text", "text": text} for text in then)]}


FRAME = {"max_tokens": 1, "system": "Be kind.", "tools": [{"name": "tool"}]}

ANTHROPIC_BAD = {
    "nothing": ([], "at least one message"),
    "an unknown role": ([{"role": "system", "content": "hi"}], "Input should be 'user' or 'assistant'"),
    "no content": ([{"role": "user", "content": []}], "non-empty content"),
    "an empty text": ([user("")], "must be non-empty"),
    "a blank text": ([user(" \n")], "non-whitespace text"),
    "the assistant first": ([MODEL, user("hi")], 'must use the "user" role'),
    "the assistant last": ([user("hi"), MODEL], "must end with a user message"),
    "a call without result": ([user("hi"), calls_strict_anthropic("a"), user("and?")], "without `tool_result` blocks"),
    "a call at the end": ([user("hi"), calls_strict_anthropic("a")], "without `tool_result` blocks"),
    "one result of two": (
        [user("hi"), calls_strict_anthropic("a", "b"), results_strict_anthropic("a")],
        "immediately after: b",
    ),
    "a result after text": (
        [user("hi"), calls_strict_anthropic("a"), user("wait"), results_strict_anthropic("a")],
        "without `tool_result` blocks immediately after",
    ),
    "a result without call": ([user("hi"), results_strict_anthropic("a")], "unexpected `tool_use_id`"),
    "an unknown id": (
        [user("hi"), calls_strict_anthropic("a"), results_strict_anthropic("a", "x")],
        "unexpected `tool_use_id`",
    ),
    "two results of one": (
        [user("hi"), calls_strict_anthropic("a"), results_strict_anthropic("a", "a")],
        "must have a single result",
    ),
    "a reused id": (
        [
            user("hi"),
            calls_strict_anthropic("a"),
            results_strict_anthropic("a"),
            calls_strict_anthropic("a"),
            results_strict_anthropic("a"),
        ],
        "ids must be unique",
    ),
    "no id": ([user("hi"), calls_strict_anthropic(""), results_strict_anthropic("")], "String should match pattern"),
    "a call in a user message": (
        [user("hi"), {**calls_strict_anthropic("a"), "role": "user"}, results_strict_anthropic("a")],
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
    called = [user("hi"), calls_strict_anthropic("a"), results_strict_anthropic("a")]
    for change, words in (
        ({"system": None}, "system:"),
        ({"tools": []}, "must define tools"),
        ({"max_tokens": None}, "Field required"),
    ):
        assert words in StrictAnthropic().refusal({**FRAME, "messages": called, **change})


def test_anthropic_accepts_a_proper_conversation():
    """Messages of one role in a row are one, and text after results is fine."""
    messages = [
        user("hi"),
        user("there"),
        MODEL,
        calls_strict_anthropic("a", "b"),
        results_strict_anthropic("b", "a", then=["and?"]),
    ]
    assert StrictAnthropic().refusal({**FRAME, "messages": messages}) is None


def user_strict_gemini(*texts):
    return {"role": "user", "parts": [{"text": text} for text in texts]}


def model(*texts):
    return {"role": "model", "parts": [{"text": text} for text in texts]}


def calls_strict_gemini(*names, **more):
    return {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}, **more}} for name in names]}


def results_strict_gemini(*names, **more):
    parts = [{"functionResponse": {"name": name, "response": {}, **more}} for name in names]
    return {"role": "user", "parts": parts}


# Signatures are wanted in the current turn alone, so the bad ones stand in an earlier one.
GEMINI_GOOD = [
    user_strict_gemini("hi"),
    calls_strict_gemini("a", "b"),
    results_strict_gemini("a", "b"),
    calls_strict_gemini("a"),
    results_strict_gemini("a"),
    model("so"),
]

GEMINI_BAD = {
    "nothing": ([], "contents is not specified"),
    "no parts": ([{"role": "user", "parts": []}], "parts must not be empty"),
    "no parts at all": ([{"role": "user"}], "parts must not be empty"),
    "an empty part": ([{"role": "user", "parts": [{}]}], "required oneof field 'data'"),
    "an empty text": ([user_strict_gemini("")], "must have a text parameter"),
    "a role of another provider": ([{"role": "assistant", "parts": [{"text": "hi"}]}], "use a valid role"),
    "the model first": ([model("so"), user_strict_gemini("hi")], "start with a user role"),
    "a call first": (
        [calls_strict_gemini("a"), results_strict_gemini("a"), user_strict_gemini("hi")],
        "function call turn comes immediately after",
    ),
    "the model last": ([user_strict_gemini("hi"), model("so")], "ends with a user role"),
    "a call after a model turn": (
        [
            user_strict_gemini("hi"),
            model("so"),
            calls_strict_gemini("a"),
            results_strict_gemini("a"),
            user_strict_gemini("hi"),
        ],
        "function call turn comes immediately after",
    ),
    "a call in a user turn": (
        [
            user_strict_gemini("hi"),
            {**calls_strict_gemini("a"), "role": "user"},
            results_strict_gemini("a"),
            user_strict_gemini("hi"),
        ],
        "function call turn comes immediately after",
    ),
    "a call without result": (
        [user_strict_gemini("hi"), calls_strict_gemini("a"), user_strict_gemini("hi")],
        "number of function response parts",
    ),
    "a result without call": (
        [user_strict_gemini("hi"), results_strict_gemini("a"), user_strict_gemini("hi")],
        "comes immediately after a function call",
    ),
    "a result later": (
        [
            user_strict_gemini("hi"),
            calls_strict_gemini("a"),
            user_strict_gemini("wait"),
            results_strict_gemini("a"),
            user_strict_gemini("hi"),
        ],
        "number of function response parts",
    ),
    "one result of two": (
        [user_strict_gemini("hi"), calls_strict_gemini("a", "b"), results_strict_gemini("a"), user_strict_gemini("hi")],
        "number of function",
    ),
    "two results of one": (
        [user_strict_gemini("hi"), calls_strict_gemini("a"), results_strict_gemini("a", "a"), user_strict_gemini("hi")],
        "number of function",
    ),
    "a result of another tool": (
        [user_strict_gemini("hi"), calls_strict_gemini("a"), results_strict_gemini("b"), user_strict_gemini("hi")],
        "names of function",
    ),
    "a result of another id": (
        [
            user_strict_gemini("hi"),
            calls_strict_gemini("a", id="1"),
            results_strict_gemini("a", id="2"),
            user_strict_gemini("hi"),
        ],
        "ids of function responses",
    ),
    "a result beside text": (
        [
            user_strict_gemini("hi"),
            calls_strict_gemini("a"),
            {"role": "user", "parts": [*results_strict_gemini("a")["parts"], {"text": "and"}]},
        ],
        "not mixed",
    ),
    "no signature": (
        [user_strict_gemini("hi"), calls_strict_gemini("a"), results_strict_gemini("a")],
        "missing a thought_signature",
    ),
    "a made-up signature": (
        [
            user_strict_gemini("hi"),
            {"role": "model", "parts": [{**calls_strict_gemini("a")["parts"][0], "thoughtSignature": "c2lnbmF0dXJl"}]},
            results_strict_gemini("a"),
        ],
        "Corrupted thought signature",
    ),
}


@pytest.mark.parametrize("case", GEMINI_BAD)
def test_gemini_refuses(case):
    """Each rule of Gemini's bites, with Google's own words."""
    contents, words = GEMINI_BAD[case]
    assert words in (StrictGemini().refusal({"contents": contents}) or "")


def test_gemini_accepts_a_proper_conversation():
    """Parallel and sequential calls in an earlier turn, and user turns in a row, are fine."""
    assert (
        StrictGemini().refusal({"contents": [*GEMINI_GOOD, user_strict_gemini("quoted"), user_strict_gemini("and?")]})
        is None
    )


def test_a_signature_is_wanted_back_on_its_own_call_until_the_turn_ends():
    """It must come back unchanged and on the call that it was given with, and may go when the user has spoken."""
    gemini = StrictGemini()
    answer = types.Content(role="model", parts=[call("a", n=1), call("b")])
    (reply,) = gemini.reply(answer, {}, "/models/gemini-2.5-flash:generateContent")
    said = reply["candidates"][0]["content"]
    first, second = (part for part in said["parts"] if "functionCall" in part)
    assert "thoughtSignature" not in second

    def refusal(*parts, then=()):
        body = {
            "contents": [
                user_strict_gemini("hi"),
                {"role": "model", "parts": list(parts)},
                results_strict_gemini("a", "b"),
                *then,
            ]
        }
        return gemini.refusal(body)

    assert refusal(*said["parts"]) is None
    url_safe = base64.urlsafe_b64encode(base64.b64decode(first["thoughtSignature"])).decode()
    assert refusal({**first, "thoughtSignature": url_safe}, second) is None
    bare = {"functionCall": first["functionCall"]}
    assert "missing a thought_signature" in refusal(bare, second)
    assert refusal(bare, second, then=[model("so"), user_strict_gemini("and?")]) is None
    changed = {**first, "functionCall": {"name": "a", "args": {"n": 2}}}
    assert "Corrupted" in refusal(changed, second)

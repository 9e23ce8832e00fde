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


def anthropic_calls(*ids):
    return {"role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "tool", "input": {}} for i in ids]}


def anthropic_results(*ids, then=()):
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
    "a call without result": ([user("hi"), anthropic_calls("a"), user("and?")], "without `tool_result` blocks"),
    "a call at the end": ([user("hi"), anthropic_calls("a")], "without `tool_result` blocks"),
    "one result of two": (
        [user("hi"), anthropic_calls("a", "b"), anthropic_results("a")],
        "immediately after: b",
    ),
    "a result after text": (
        [user("hi"), anthropic_calls("a"), user("wait"), anthropic_results("a")],
        "without `tool_result` blocks immediately after",
    ),
    "a result without call": ([user("hi"), anthropic_results("a")], "unexpected `tool_use_id`"),
    "an unknown id": (
        [user("hi"), anthropic_calls("a"), anthropic_results("a", "x")],
        "unexpected `tool_use_id`",
    ),
    "two results of one": (
        [user("hi"), anthropic_calls("a"), anthropic_results("a", "a")],
        "must have a single result",
    ),
    "a reused id": (
        [
            user("hi"),
            anthropic_calls("a"),
            anthropic_results("a"),
            anthropic_calls("a"),
            anthropic_results("a"),
        ],
        "ids must be unique",
    ),
    "no id": ([user("hi"), anthropic_calls(""), anthropic_results("")], "String should match pattern"),
    "a call in a user message": (
        [user("hi"), {**anthropic_calls("a"), "role": "user"}, anthropic_results("a")],
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
    called = [user("hi"), anthropic_calls("a"), anthropic_results("a")]
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
        anthropic_calls("a", "b"),
        anthropic_results("b", "a", then=["and?"]),
    ]
    assert StrictAnthropic().refusal({**FRAME, "messages": messages}) is None


def gemini_user(*texts):
    return {"role": "user", "parts": [{"text": text} for text in texts]}


def model(*texts):
    return {"role": "model", "parts": [{"text": text} for text in texts]}


def gemini_calls(*names, **more):
    return {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}, **more}} for name in names]}


def gemini_results(*names, **more):
    parts = [{"functionResponse": {"name": name, "response": {}, **more}} for name in names]
    return {"role": "user", "parts": parts}


# Signatures are wanted in the current turn alone, so the bad ones stand in an earlier one.
GEMINI_GOOD = [
    gemini_user("hi"),
    gemini_calls("a", "b"),
    gemini_results("a", "b"),
    gemini_calls("a"),
    gemini_results("a"),
    model("so"),
]

GEMINI_BAD = {
    "nothing": ([], "contents is not specified"),
    "no parts": ([{"role": "user", "parts": []}], "parts must not be empty"),
    "no parts at all": ([{"role": "user"}], "parts must not be empty"),
    "an empty part": ([{"role": "user", "parts": [{}]}], "required oneof field 'data'"),
    "an empty text": ([gemini_user("")], "must have a text parameter"),
    "a role of another provider": ([{"role": "assistant", "parts": [{"text": "hi"}]}], "use a valid role"),
    "the model first": ([model("so"), gemini_user("hi")], "start with a user role"),
    "a call first": (
        [gemini_calls("a"), gemini_results("a"), gemini_user("hi")],
        "function call turn comes immediately after",
    ),
    "the model last": ([gemini_user("hi"), model("so")], "ends with a user role"),
    "a call after a model turn": (
        [
            gemini_user("hi"),
            model("so"),
            gemini_calls("a"),
            gemini_results("a"),
            gemini_user("hi"),
        ],
        "function call turn comes immediately after",
    ),
    "a call in a user turn": (
        [
            gemini_user("hi"),
            {**gemini_calls("a"), "role": "user"},
            gemini_results("a"),
            gemini_user("hi"),
        ],
        "function call turn comes immediately after",
    ),
    "a call without result": (
        [gemini_user("hi"), gemini_calls("a"), gemini_user("hi")],
        "number of function response parts",
    ),
    "a result without call": (
        [gemini_user("hi"), gemini_results("a"), gemini_user("hi")],
        "comes immediately after a function call",
    ),
    "a result later": (
        [
            gemini_user("hi"),
            gemini_calls("a"),
            gemini_user("wait"),
            gemini_results("a"),
            gemini_user("hi"),
        ],
        "number of function response parts",
    ),
    "one result of two": (
        [gemini_user("hi"), gemini_calls("a", "b"), gemini_results("a"), gemini_user("hi")],
        "number of function",
    ),
    "two results of one": (
        [gemini_user("hi"), gemini_calls("a"), gemini_results("a", "a"), gemini_user("hi")],
        "number of function",
    ),
    "a result of another tool": (
        [gemini_user("hi"), gemini_calls("a"), gemini_results("b"), gemini_user("hi")],
        "names of function",
    ),
    "a result of another id": (
        [
            gemini_user("hi"),
            gemini_calls("a", id="1"),
            gemini_results("a", id="2"),
            gemini_user("hi"),
        ],
        "ids of function responses",
    ),
    "a result beside text": (
        [
            gemini_user("hi"),
            gemini_calls("a"),
            {"role": "user", "parts": [*gemini_results("a")["parts"], {"text": "and"}]},
        ],
        "not mixed",
    ),
    "no signature": (
        [gemini_user("hi"), gemini_calls("a"), gemini_results("a")],
        "missing a thought_signature",
    ),
    "a made-up signature": (
        [
            gemini_user("hi"),
            {"role": "model", "parts": [{**gemini_calls("a")["parts"][0], "thoughtSignature": "c2lnbmF0dXJl"}]},
            gemini_results("a"),
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
    assert StrictGemini().refusal({"contents": [*GEMINI_GOOD, gemini_user("quoted"), gemini_user("and?")]}) is None


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
                gemini_user("hi"),
                {"role": "model", "parts": list(parts)},
                gemini_results("a", "b"),
                *then,
            ]
        }
        return gemini.refusal(body)

    assert refusal(*said["parts"]) is None
    url_safe = base64.urlsafe_b64encode(base64.b64decode(first["thoughtSignature"])).decode()
    assert refusal({**first, "thoughtSignature": url_safe}, second) is None
    bare = {"functionCall": first["functionCall"]}
    assert "missing a thought_signature" in refusal(bare, second)
    assert refusal(bare, second, then=[model("so"), gemini_user("and?")]) is None
    changed = {**first, "functionCall": {"name": "a", "args": {"n": 2}}}
    assert "Corrupted" in refusal(changed, second)

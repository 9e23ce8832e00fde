"""The strict Gemini API: what it refuses, in Google's words, and that it refuses nothing proper."""

from __future__ import annotations

import base64

import pytest
from google.genai import types

from tests.providers.strict_gemini import StrictGemini
from tests.support.scripted_model import call


def user(*texts):
    return {"role": "user", "parts": [{"text": text} for text in texts]}


def model(*texts):
    return {"role": "model", "parts": [{"text": text} for text in texts]}


def calls(*names, **more):
    return {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}, **more}} for name in names]}


def results(*names, **more):
    parts = [{"functionResponse": {"name": name, "response": {}, **more}} for name in names]
    return {"role": "user", "parts": parts}


# Signatures are wanted in the current turn alone, so the bad ones stand in an earlier one.
GEMINI_GOOD = [user("hi"), calls("a", "b"), results("a", "b"), calls("a"), results("a"), model("so")]

GEMINI_BAD = {
    "nothing": ([], "contents is not specified"),
    "no parts": ([{"role": "user", "parts": []}], "parts must not be empty"),
    "no parts at all": ([{"role": "user"}], "parts must not be empty"),
    "an empty part": ([{"role": "user", "parts": [{}]}], "required oneof field 'data'"),
    "an empty text": ([user("")], "must have a text parameter"),
    "a role of another provider": ([{"role": "assistant", "parts": [{"text": "hi"}]}], "use a valid role"),
    "the model first": ([model("so"), user("hi")], "start with a user role"),
    "a call first": ([calls("a"), results("a"), user("hi")], "function call turn comes immediately after"),
    "the model last": ([user("hi"), model("so")], "ends with a user role"),
    "a call after a model turn": (
        [user("hi"), model("so"), calls("a"), results("a"), user("hi")],
        "function call turn comes immediately after",
    ),
    "a call in a user turn": (
        [user("hi"), {**calls("a"), "role": "user"}, results("a"), user("hi")],
        "function call turn comes immediately after",
    ),
    "a call without result": ([user("hi"), calls("a"), user("hi")], "number of function response parts"),
    "a result without call": ([user("hi"), results("a"), user("hi")], "comes immediately after a function call"),
    "a result later": (
        [user("hi"), calls("a"), user("wait"), results("a"), user("hi")],
        "number of function response parts",
    ),
    "one result of two": ([user("hi"), calls("a", "b"), results("a"), user("hi")], "number of function"),
    "two results of one": ([user("hi"), calls("a"), results("a", "a"), user("hi")], "number of function"),
    "a result of another tool": ([user("hi"), calls("a"), results("b"), user("hi")], "names of function"),
    "a result of another id": (
        [user("hi"), calls("a", id="1"), results("a", id="2"), user("hi")],
        "ids of function responses",
    ),
    "a result beside text": (
        [user("hi"), calls("a"), {"role": "user", "parts": [*results("a")["parts"], {"text": "and"}]}],
        "not mixed",
    ),
    "no signature": ([user("hi"), calls("a"), results("a")], "missing a thought_signature"),
    "a made-up signature": (
        [
            user("hi"),
            {"role": "model", "parts": [{**calls("a")["parts"][0], "thoughtSignature": "c2lnbmF0dXJl"}]},
            results("a"),
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
    assert StrictGemini().refusal({"contents": [*GEMINI_GOOD, user("quoted"), user("and?")]}) is None


def test_a_signature_is_wanted_back_on_its_own_call_until_the_turn_ends():
    """It must come back unchanged and on the call that it was given with, and may go when the user has spoken."""
    gemini = StrictGemini()
    answer = types.Content(role="model", parts=[call("a", n=1), call("b")])
    (reply,) = gemini.reply(answer, {}, "/models/gemini-2.5-flash:generateContent")
    said = reply["candidates"][0]["content"]
    first, second = (part for part in said["parts"] if "functionCall" in part)
    assert "thoughtSignature" not in second

    def refusal(*parts, then=()):
        body = {"contents": [user("hi"), {"role": "model", "parts": list(parts)}, results("a", "b"), *then]}
        return gemini.refusal(body)

    assert refusal(*said["parts"]) is None
    url_safe = base64.urlsafe_b64encode(base64.b64decode(first["thoughtSignature"])).decode()
    assert refusal({**first, "thoughtSignature": url_safe}, second) is None
    bare = {"functionCall": first["functionCall"]}
    assert "missing a thought_signature" in refusal(bare, second)
    assert refusal(bare, second, then=[model("so"), user("and?")]) is None
    changed = {**first, "functionCall": {"name": "a", "args": {"n": 2}}}
    assert "Corrupted" in refusal(changed, second)

"""The strict servers: what each refuses, in its provider's words, and that it refuses nothing proper."""

import base64

import pytest
from google.genai import types

from tests.providers.strict_anthropic import StrictAnthropic
from tests.providers.strict_gemini import StrictGemini
from tests.providers.strict_openai import StrictOpenAI
from tests.support.scripted_model import call


def openai(kind, *names):
    """Messages of OpenAI's for a step."""
    if kind == "results":
        return [{"role": "tool", "tool_call_id": name, "content": ""} for name in names]
    if kind == "calls":
        made = [{"id": name, "type": "function", "function": {"name": "tool", "arguments": "{}"}} for name in names]
        return [{"role": "assistant", "content": None, "tool_calls": made}]
    return [{"role": "assistant" if kind == "model" else kind, "content": "hi"}]


def anthropic(kind, *names):
    """Messages of Anthropic's for a step."""
    if kind == "results":
        blocks = [{"type": "tool_result", "tool_use_id": name, "content": ""} for name in names]
    elif kind == "calls":
        blocks = [{"type": "tool_use", "id": name, "name": "tool", "input": {}} for name in names]
    else:
        blocks = [{"type": "text", "text": "hi"}]
    return [{"role": "assistant" if kind in ("model", "calls") else "user", "content": blocks}]


def gemini(kind, *names, **more):
    """Contents of Gemini's for a step."""
    if kind == "results":
        parts = [{"functionResponse": {"name": name, "response": {}, **more}} for name in names]
    elif kind == "calls":
        parts = [{"functionCall": {"name": name, "args": {}, **more}} for name in names]
    else:
        parts = [{"text": "hi"}]
    return [{"role": "model" if kind in ("model", "calls") else "user", "parts": parts}]


def told(provider, steps):
    """A conversation of steps, in the words of a provider; `-` stands for a name of nothing."""
    split = [step.replace("-", "").split(" ") for step in steps.split(", ")] if steps else []
    return [message for step in split for message in provider(*step)]


FRAME = {"max_tokens": 1, "system": "Be kind.", "tools": [{"name": "tool"}]}


def refusal(provider, messages):
    """What a provider says to messages of its own, or nothing."""
    if provider is gemini:
        return StrictGemini().refusal({"contents": messages}) or ""
    if provider is anthropic:
        return StrictAnthropic().refusal({**FRAME, "messages": messages}) or ""
    return StrictOpenAI().refusal({"messages": messages}) or ""


# What OpenAI, Anthropic and Gemini say to the same conversation, and None where they take it.
CALLED = "function call turn comes immediately after"
UNANSWERED = "without `tool_result` blocks immediately after"
BAD = {
    "": ("empty array", "at least one message", "contents is not specified"),
    "model, user": (None, 'must use the "user" role', "start with a user role"),
    "user, model": ("Expected last role User or Tool", "must end with a user message", "ends with a user role"),
    "calls a, results a, user": (None, 'must use the "user" role', CALLED),
    "user, model, calls a, results a, user": (None, None, CALLED),
    "user, calls a, user": ("did not have response messages: a", UNANSWERED, "number of function response parts"),
    "user, calls a": ("did not have response messages: a", UNANSWERED, "number of function response parts"),
    "user, calls a b, results a, user": ("response messages: b", "immediately after: b", "number of function"),
    "user, results a, user": ("to a preceeding message", "unexpected `tool_use_id`", "after a function call"),
    "user, calls a, user, results a, user": ("response messages: a", UNANSWERED, "number of function response parts"),
    "user, calls a, results a x, user": ("of 'x' not found", "unexpected `tool_use_id`", "number of function"),
    "user, calls a, results a a, user": ("'tool_call_id' of 'a'", "must have a single result", "number of function"),
    "user, calls a, results b, user": ("of 'b' not found", UNANSWERED, "names of function"),
    "user, calls a a, results a a, user": ("Duplicate value", "ids must be unique", None),
    "user, calls a, results a, calls a, results a, user": (None, "ids must be unique", None),
    "user, user, model, user": (None, None, None),
    "user, calls a b, results b a, model, user": (None, None, None),
    "user, calls a b, results a b, calls c, results c, model, user": (None, None, None),
}


@pytest.mark.parametrize("steps", BAD)
@pytest.mark.parametrize("provider", [openai, anthropic, gemini])
def test_the_order_of_steps(provider, steps):
    """Each rule of a provider bites, with its own words, and what is proper is taken."""
    words = dict(zip((openai, anthropic, gemini), BAD[steps], strict=True))[provider]
    said = refusal(provider, told(provider, steps))
    assert words in said if words else said == ""


USER, ASKS = told(openai, "user"), {"type": "text", "text": ""}
LONG = "a" * 41
OPENAI_BAD = {
    "an unknown role": ([{"role": "model", "content": "hi"}], "Supported values are"),
    "no content": ([{"role": "user", "content": None}], "expected a string, got null"),
    "an empty text": ([{"role": "user", "content": ""}], "it is empty"),
    "an empty list": ([{"role": "user", "content": []}], "it is empty"),
    "an empty part": ([{"role": "user", "content": [ASKS]}], "a text part is empty"),
    "an empty list of calls": ([{**openai("calls")[0], "content": "so"}, *USER], "tool_calls': empty array"),
    "the system last": ([*USER, {"role": "system", "content": "Be kind."}], "Expected last role User or Tool"),
    "no id": (told(openai, "user, calls -, results -"), "Missing required parameter"),
    "a long id": (told(openai, f"user, calls {LONG}, results {LONG}"), "maximum length 40"),
}
A_CALL = anthropic("calls", "a")[0]
ANTHROPIC_BAD = {
    "an unknown role": ([{"role": "system", "content": "hi"}], "Input should be 'user' or 'assistant'"),
    "no content": ([{"role": "user", "content": []}], "non-empty content"),
    "an empty text": ([{"role": "user", "content": [ASKS]}], "must be non-empty"),
    "a blank text": ([{"role": "user", "content": [{"type": "text", "text": " \n"}]}], "non-whitespace text"),
    "no id": (told(anthropic, "user, calls -, results -"), "String should match pattern"),
    "a call in a user message": ([{**A_CALL, "role": "user"}], "can only be in `assistant`"),
}
# Signatures are wanted in the current turn alone, so most bad contents stand in an earlier one.
SAYS, FORGED = told(gemini, "user"), {**gemini("calls", "a")[0]["parts"][0], "thoughtSignature": "c2lnbmF0dXJl"}
MIXED = {"role": "user", "parts": [*gemini("results", "a")[0]["parts"], {"text": "and"}]}
IN_USER = [*SAYS, {**gemini("calls", "a")[0], "role": "user"}, *told(gemini, "results a, user")]
OTHER_ID = [*SAYS, *gemini("calls", "a", id="1"), *gemini("results", "a", id="2"), *SAYS]
GEMINI_BAD = {
    "no parts": ([{"role": "user", "parts": []}], "parts must not be empty"),
    "no parts at all": ([{"role": "user"}], "parts must not be empty"),
    "an empty part": ([{"role": "user", "parts": [{}]}], "required oneof field 'data'"),
    "an empty text": ([{"role": "user", "parts": [{"text": ""}]}], "must have a text parameter"),
    "a role of another provider": ([{"role": "assistant", "parts": [{"text": "hi"}]}], "use a valid role"),
    "a call in a user turn": (IN_USER, CALLED),
    "a result of another id": (OTHER_ID, "ids of function responses"),
    "a result beside text": ([*told(gemini, "user, calls a"), MIXED], "not mixed"),
    "no signature": (told(gemini, "user, calls a, results a"), "missing a thought_signature"),
    "a made-up signature": (
        [*SAYS, {"role": "model", "parts": [FORGED]}, *gemini("results", "a")],
        "Corrupted thought signature",
    ),
}
SHAPES = [
    pytest.param(provider, *case, id=f"{provider.__name__}, {name}")
    for provider, cases in ((openai, OPENAI_BAD), (anthropic, ANTHROPIC_BAD), (gemini, GEMINI_BAD))
    for name, case in cases.items()
]


@pytest.mark.parametrize(("provider", "messages", "words"), SHAPES)
def test_the_shape_of_a_message(provider, messages, words):
    """What a provider refuses in a single message is refused in its own words."""
    assert words in refusal(provider, messages)


def test_what_stands_beside_the_messages():
    """OpenAI's tools have names of their own, and Anthropic's frame is whole."""
    tool = {"type": "function", "function": {"name": "tool"}}
    assert "Invalid 'tools'" in StrictOpenAI().refusal({"messages": USER, "tools": []})
    assert "must be unique" in StrictOpenAI().refusal({"messages": USER, "tools": [tool, tool]})
    called = {**FRAME, "messages": told(anthropic, "user, calls a, results a")}
    frames = {"system:": {"system": None}, "must define tools": {"tools": []}, "Field required": {"max_tokens": None}}
    assert all(words in StrictAnthropic().refusal({**called, **change}) for words, change in frames.items())


def test_a_signature_is_wanted_back_on_its_own_call_until_the_turn_ends():
    """It must come back unchanged and on the call that it was given with, and may go when the user has spoken."""
    server = StrictGemini()
    answer = types.Content(role="model", parts=[call("a", n=1), call("b")])
    (reply,) = server.reply(answer, {}, "/models/gemini-2.5-flash:generateContent")
    said = reply["candidates"][0]["content"]
    first, second = (part for part in said["parts"] if "functionCall" in part)
    assert "thoughtSignature" not in second

    def refused(*parts, then=""):
        results = told(gemini, f"results a b{then}")
        return server.refusal({"contents": [*SAYS, {"role": "model", "parts": list(parts)}, *results]})

    assert refused(*said["parts"]) is None
    url_safe = base64.urlsafe_b64encode(base64.b64decode(first["thoughtSignature"])).decode()
    assert refused({**first, "thoughtSignature": url_safe}, second) is None
    bare = {"functionCall": first["functionCall"]}
    assert "missing a thought_signature" in refused(bare, second)
    assert refused(bare, second, then=", model, user") is None
    changed = {**first, "functionCall": {"name": "a", "args": {"n": 2}}}
    assert "Corrupted" in refused(changed, second)

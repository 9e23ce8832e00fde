"""Counting tokens: fast, on the high side, and by a counter of one's own."""

import pytest
from google.genai import types

from adk_context_pack._json import json_text
from adk_context_pack.conversation.token_estimate import DEFAULT_WINDOW, TokenMeter, window_of
from tests.support.adk_contents import request_of
from tests.support.o200k import o200k


@pytest.mark.parametrize("instruction", [
    "be brief", types.Content(parts=[types.Part(text="be brief")]), types.Part(text="be brief"), ["be brief"], None,
])  # fmt: skip
def test_counts_an_instruction_of_any_form(instruction):
    """A system instruction counts as text, part, content or list; a missing one is nothing."""
    request = request_of([])
    request.config.system_instruction = instruction
    assert (TokenMeter().fixed(request)[0] > 0) == (instruction is not None)


def test_a_counter_gets_the_text_as_it_is_sent():
    """A tokenizer of one's own is given compact JSON of payloads, and the texts."""
    seen = []
    meter = TokenMeter(counter=lambda text: seen.append(text) or 1)
    meter.part(types.Part(function_call=types.FunctionCall(name="f", args={"a": [1, "é"]})))
    assert seen == ["f", '{"a":[1,"é"]}']


def test_what_json_cannot_hold_is_counted_by_its_leaves():
    """Odd keys, cycles and deep nesting are counted somehow, never refused."""
    loop = {"name": "loop"}
    loop["self"] = loop
    deep = []
    for _ in range(5000):
        deep = [deep]
    assert "loop" in json_text(loop)
    assert TokenMeter().payload(loop) > 0
    assert TokenMeter().payload({"deep": deep, (1, 2): object()}) > 0


@pytest.mark.parametrize("payload", [
    {"amounts": [n * 7919 % 10**5 / 100 for n in range(90)]}, {"ids": [n * 7919 % 10**6 for n in range(90)]},
    {"places": [{"lat": n * 0.71 - 40, "lon": n * 1.3, "ok": True, "at": None} for n in range(40)]},
    {"rows": [{"city": "Oslo", "name": f"item {n}", "state": "shipped"} for n in range(40)]},
])  # fmt: skip
def test_an_estimate_of_json_is_near_its_tokens(payload):
    """Numbers, words and structure are estimated alike, since a cut weighs them against each other."""
    assert 0.8 <= TokenMeter().payload(payload) / o200k(payload) <= 1.45


CALL, RESULT = types.FunctionCall(name="find", args={"a": "é"}), types.FunctionResponse(name="find", response={"b": 12})
CODE = types.ExecutableCode(code="print(1)", language="PYTHON")


@pytest.mark.parametrize(("part", "tokens"), [
    (types.Part(text="four"), 4), (types.Part(text=""), 0),
    (types.Part(function_call=CALL), len("find") + len('{"a":"é"}')),
    (types.Part(function_response=RESULT), len("find") + len('{"b":12}')),
    (types.Part(function_call=types.FunctionCall(name="find", args={})), len("find") + 1),
    (types.Part(function_response=types.FunctionResponse(name="find", response=None)), len("find") + 1),
    (types.Part(function_call=types.FunctionCall(args={"a": 1})), len('{"a":1}')),
    (types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png")), 258),
    (types.Part(file_data=types.FileData(file_uri="gs://a/b")), 258),
    (types.Part(executable_code=CODE), len("print(1)")),
    (types.Part(code_execution_result=types.CodeExecutionResult(output="12345")), 5),
    (types.Part(code_execution_result=types.CodeExecutionResult()), 0), (types.Part(), 0),
    # Older releases of google-genai have no tools that the provider runs.
    *([(types.Part(tool_response=types.ToolResponse(response={"a": 1})), 7)] if hasattr(types, "ToolResponse") else []),
])  # fmt: skip
def test_each_kind_of_part_adds_its_own_tokens(part, tokens):
    """A part counts its texts, names and payloads, media a fixed figure, and each content four for its envelope."""
    meter = TokenMeter(counter=len)
    assert meter.part(part) == tokens
    assert meter.content(types.Content(parts=[part])) == 4 + tokens
    assert meter.content(types.Content(parts=[types.Part(text="ab"), part, part])) == 4 + 2 + 2 * tokens
    assert list(meter.sizes([types.Content(parts=[part]), types.Content(parts=[])])) == [4 + tokens, 4]
    assert TokenMeter().part(part) <= tokens


@pytest.mark.parametrize(("model", "window"), [
    ("gemini-2.5-flash", 1_048_576),
    ("projects/p/locations/l/publishers/google/models/gemini-2.0-flash-001", 1_048_576),
    ("gemini-2.0-flash-live-001", 32_000), ("gemini-live-2.5-flash", 32_000),
    ("anthropic/claude-sonnet-4", 200_000), ("openai/gpt-4.1-mini", 1_047_576), ("openai/gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000), ("gpt-4-1106-preview", 128_000), ("gpt-4", 8_192), ("gpt-4-32k", 32_768),
    ("openai/o1-mini", 128_000), ("openai/o3", 200_000), ("gpt-5-nano", 272_000), ("gpt-3.5-turbo", 16_385),
    ("GPT-4", 8_192), ("something-else", DEFAULT_WINDOW), ("", DEFAULT_WINDOW), (None, DEFAULT_WINDOW),
])  # fmt: skip
def test_windows_by_name(model, window):
    """Provider prefixes, versions and case do not matter; an unknown name has a careful default."""
    assert window_of(model) == window

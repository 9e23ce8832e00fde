"""Counting tokens: fast, on the high side, and by a counter of one's own."""

import json

import pytest
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from adk_context_pack import estimate_tokens
from adk_context_pack._json import json_text
from adk_context_pack.conversation.tokens import TokenMeter
from tests.support.adk_contents import request_of

PROSE = "The quick brown fox jumps over the lazy dog and runs through the forest until it finds the river. " * 20
CHINESE = "今天的天气很好,我们一起去公园散步,然后回家做饭。" * 40
DENSE = json.dumps([{"id": number * 7919, "cost": number * 1.37, "ok": True} for number in range(200)])


@pytest.mark.parametrize(
    ("text", "characters_a_token"), [(PROSE, (3.0, 5.0)), (DENSE, (1.7, 3.0)), (CHINESE, (0.7, 2.0))]
)
def test_estimates_by_kind_of_text(text, characters_a_token):
    """Prose has four characters a token, dense JSON about 2.4, and Chinese between one and two."""
    low, high = characters_a_token
    assert low <= len(text) / estimate_tokens(text) <= high


def test_lone_surrogates_are_counted():
    """Half of a surrogate pair, which no encoder takes, is counted and not refused."""
    assert estimate_tokens("\ud83d" * 10) > 0
    assert TokenMeter().payload({"x": "\ud83d" * 10}) > 0


def test_everything_that_is_sent_counts():
    """System instruction, tool declarations, contents and media add up to the request."""
    declaration = types.FunctionDeclaration(name="search", description="Finds things in the catalogue.")
    request = request_of([
        types.Content(role="user", parts=[types.Part(text="hello there")]),
        types.Content(role="user", parts=[types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png"))]),
        types.Content(parts=[types.Part(executable_code=types.ExecutableCode(code="print(1)", language="PYTHON"))]),
        types.Content(parts=[types.Part(code_execution_result=types.CodeExecutionResult(output="1"))]),
        types.Content(parts=None),
    ])  # fmt: skip
    request.config.tools = [types.Tool(function_declarations=[declaration])]
    meter = TokenMeter()
    whole = meter.request(request)
    assert whole == meter.system(request) + meter.tools(request) + meter.contents(request.contents)
    assert min(meter.system(request), meter.tools(request)) > 0
    assert meter.content(request.contents[1]) > 200


@pytest.mark.parametrize("instruction", [
    "be brief", types.Content(parts=[types.Part(text="be brief")]), types.Part(text="be brief"), ["be brief"], None,
])  # fmt: skip
def test_counts_an_instruction_of_any_form(instruction):
    """A system instruction counts as text, part, content or list; a missing one is nothing."""
    request = request_of([])
    request.config.system_instruction = instruction
    assert (TokenMeter().system(request) > 0) == (instruction is not None)


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


def test_a_tool_object_that_grows_is_counted_again():
    """A declaration that is added to a tool object counts, although the same meter has counted the object before."""
    request, meter = request_of([]), TokenMeter()
    request.append_tools([FunctionTool(look_up)])
    before = meter.tools(request)
    request.append_tools([FunctionTool(look_down)])
    assert len(request.config.tools) == 1
    assert meter.tools(request) == TokenMeter().tools(request) > before


def look_up(city: str) -> dict:
    """Looks a city up."""
    return {"city": city}


def look_down(city: str, words: list[str]) -> dict:
    """Looks a city down, in as many words as it takes."""
    return {"city": city, "words": words}


CALL, RESULT = types.FunctionCall(name="find", args={"a": "é"}), types.FunctionResponse(name="find", response={"b": 12})
CODE = types.ExecutableCode(code="print(1)", language="PYTHON")


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (types.Part(text="four"), 4),
        (types.Part(text=""), 0),
        (types.Part(function_call=CALL), len("find") + len('{"a":"é"}')),
        (types.Part(function_response=RESULT), len("find") + len('{"b":12}')),
        (types.Part(function_call=types.FunctionCall(name="find", args={})), len("find") + 1),
        (types.Part(function_response=types.FunctionResponse(name="find", response=None)), len("find") + 1),
        (types.Part(function_call=types.FunctionCall(args={"a": 1})), len('{"a":1}')),
        (types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png")), 258),
        (types.Part(file_data=types.FileData(file_uri="gs://a/b")), 258),
        (types.Part(executable_code=CODE), len("print(1)")),
        (types.Part(code_execution_result=types.CodeExecutionResult(output="12345")), 5),
        (types.Part(code_execution_result=types.CodeExecutionResult()), 0),
        (types.Part(), 0),
    ],
)  # fmt: skip
def test_each_kind_of_part_adds_its_own_tokens(part, tokens):
    """A part counts its texts, names and payloads, media a fixed figure, and each content four for its envelope."""
    meter = TokenMeter(counter=len)
    assert meter.part(part) == tokens
    assert meter.content(types.Content(parts=[part])) == 4 + tokens
    assert meter.content(types.Content(parts=[types.Part(text="ab"), part, part])) == 4 + 2 + 2 * tokens
    assert list(meter.sizes([types.Content(parts=[part]), types.Content(parts=[])])) == [4 + tokens, 4]
    assert TokenMeter().part(part) <= tokens

"""PrefixMemory: how much of the previous request is still the prefix, in bounded memory and without payload."""

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack.conversation.token_estimate import TokenMeter
from adk_context_pack.reports.call_report import BLOCK, PrefixMemory
from tests.support.events import call_part, result_part

KEY = ("session", "agent")


def request_of(*parts, system="Be brief.", model="m"):
    request = LlmRequest(model=model, config=types.GenerateContentConfig(system_instruction=system))
    made = [types.Part(text=part) if isinstance(part, str) else part for part in parts]
    request.contents = [types.Content(role="user", parts=[part]) for part in made]
    return request


def compared(memory, request, key=KEY):
    meter = TokenMeter()
    return memory.compare(key, request, meter, meter.request(request))


def total(request):
    return TokenMeter().request(request)


CHANGED = {
    "result": (result_part("t", {"rows": [1]}, "c"), result_part("t", {"rows": [2]}, "c")),
    "call": (call_part("t", {"day": 1}, "c"), call_part("t", {"day": 2}, "c")),
    "file": tuple(types.Part.from_uri(file_uri=f"gs://a/{name}.pdf", mime_type="application/pdf") for name in "xy"),
    "media": tuple(types.Part.from_bytes(data=data * 99, mime_type="image/png") for data in (b"x", b"y")),
    "code": tuple(types.Part.from_executable_code(code=code, language="PYTHON") for code in ("1 + 1", "1 + 2")),
    "output": tuple(
        types.Part.from_code_execution_result(outcome="OUTCOME_OK", output=output) for output in ("2", "3")
    ),
}


@pytest.mark.parametrize("kind", CHANGED)
def test_a_changed_part_ends_the_prefix(kind):
    """A part of any kind that differs in one value is a change, and what stands before it is kept."""
    before, after = CHANGED[kind]
    memory = PrefixMemory()
    compared(memory, request_of("Go.", before, "end"))
    assert compared(memory, request_of("Go.", before, "end")).share == 1.0
    found = compared(memory, request_of("Go.", after, "end"))
    assert total(request_of("Go.")) <= found.tokens < total(request_of("Go.", before))


def test_the_beginning_of_a_long_text_counts():
    """Where a long text changed at its end, what stands before is kept, in steps of a block."""
    memory = PrefixMemory()
    text = "".join(f"line {number}\n" for number in range(1000))
    compared(memory, request_of(text))
    found = compared(memory, request_of(text + "one more"))
    assert 0.9 < found.share < 1.0
    assert compared(memory, request_of("x" + text)).tokens < total(request_of("")) + BLOCK


def test_memory_is_bounded():
    """Sessions that called longest ago are forgotten, by number and by size."""
    memory = PrefixMemory()
    for number in range(3000):
        compared(memory, request_of("a"), (str(number), "agent"))
    assert 1000 < len(memory._items) < 1024
    memory.limit(10 * (4096 + 10 * 8))
    for number in range(50):
        compared(memory, request_of(*"abcdefgh"), (f"long {number}", "agent"))
    assert len(memory._items) == 10
    assert compared(memory, request_of(*"abcdefgh"), ("long 49", "agent")).share == 1.0

"""What counts as showing a handle: the first place in a request, and who wrote it."""

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._json import json_text
from adk_context_pack.testing import call
from adk_context_pack.tools.resolve_results import is_shown, noted_call
from tests.support.events import event

H = "0abcdefghjk"
STUB = {"rows": [], "_handle": H}


def result(response):
    return types.Part(function_response=types.FunctionResponse(name="t", response=response))


def request(*contents, instruction=None):
    made = LlmRequest(config=types.GenerateContentConfig(system_instruction=instruction))
    made.contents = [
        types.Content(role=role, parts=[part if isinstance(part, types.Part) else types.Part(text=part)])
        for role, part in contents
    ]
    return made


@pytest.mark.parametrize(("contents", "shown"), [
    ([("user", "Go."), ("user", result(STUB))], True), ([("user", "typed " + H), ("user", result(STUB))], False),
    ([("user", "typed " + H.upper()), ("user", result(STUB))], False),
    ([("user", result(STUB)), ("user", "typed " + H)], True), ([("user", f"[other] said: {H}")], True),
    ([("model", f"I guess {H}")], False), ([("model", f"I guess {H}"), ("user", result(STUB))], True),
    ([("model", call("t", x=f"{{{{result:{H}}}}}")), ("user", result(STUB))], False),
    ([("user", result({"submitted": H}))], False), ([("user", "Go.")], False),
])  # fmt: skip
def test_the_first_place_decides(contents, shown):
    """Results and relayed texts show a handle, unless the user or a call of the model has it before them."""
    typed = {"typed " + H, "typed " + H.upper(), json_text({"submitted": H})}
    assert is_shown(H, request(*contents), typed) is shown


@pytest.mark.parametrize("instruction", [f"Rows: {H}", types.Content(parts=[types.Part(text=f"Rows: {H}")])])
def test_the_instruction_shows_too(instruction):
    """An instruction is the app's, and comes first."""
    assert is_shown(H, request(("user", "typed " + H), instruction=instruction), {"typed " + H})


def test_a_call_without_an_event_may_refer_to_nothing():
    """Only the event of an agent counts, and only what it lists."""
    listed = event("a", call("t", "1", x=1))
    listed.custom_metadata = {"context_pack_references": [H]}
    of_user = event("user", call("t", "2"))
    of_user.custom_metadata = {"context_pack_references": [H]}
    events = [listed, of_user, event("a", call("t", "3"))]
    assert noted_call(events, "1") == ({"x": 1}, [H])
    assert [noted_call(events, each) for each in ("2", "3", "4", None)] == [({}, [])] * 4

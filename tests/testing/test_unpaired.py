"""unpaired: calls and results that stand alone."""

import pytest
from google.genai import types

from adk_context_pack.testing.laws import unpaired


def made(text: str) -> types.Content:
    kind, _, call_id = text.partition(" ")
    if kind == "call":
        call = types.FunctionCall(name="t", id=call_id or None)
        return types.Content(role="model", parts=[types.Part(function_call=call)])
    if kind == "result":
        response = types.FunctionResponse(name="t", id=call_id or None, response={})
        return types.Content(role="user", parts=[types.Part(function_response=response)])
    return types.Content(role="user", parts=[types.Part(text=text)])


@pytest.mark.parametrize(
    ("contents", "alone"),
    [
        ([], 0),
        (["call a", "result a"], 0),
        (["call a"], 1),
        (["result a"], 1),
        (["call a", "said", "result a"], 0),
        (["call", "result"], 0),
        (["call", "said", "result"], 2),
        (["call", "call"], 2),
        (["call a", "result b"], 2),
    ],
)
def test_what_is_alone_is_counted(contents, alone):
    """With ids the pair may stand apart; without, the result has to come right after its call."""
    assert len(list(unpaired(map(made, contents)))) == alone

"""offer_read_back: tools for what was kept out of a prompt."""

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from adk_context_pack import QueryRows
from adk_context_pack.tools.read_back import offer_read_back

ROWS_KEY = "rows:fetch:0000000000a"
TEXT_KEY = "payload:fetch:0000000000b"


def fetch() -> dict:
    """Fetches."""
    return {}


def offered(*tools, state=(), history=False):
    request = LlmRequest()
    request.append_tools([FunctionTool(fetch), *tools] if tools != (None,) else [])
    offer_read_back(request, {key: {} for key in state}, history=history)
    declared = [f.name for tool in request.config.tools or [] for f in tool.function_declarations]
    assert declared == list(request.tools_dict)
    return declared


@pytest.mark.parametrize(
    ("state", "history", "expected"),
    [
        ((), False, ["fetch"]),
        ((ROWS_KEY,), False, ["fetch", "query_rows"]),
        ((TEXT_KEY,), False, ["fetch", "read_payload"]),
        ((ROWS_KEY, TEXT_KEY), True, ["fetch", "query_rows", "read_payload", "search_history"]),
        (("rows:other:0000000000a", "rows:fetch:no-handle", "else"), False, ["fetch"]),
        ((), True, ["fetch", "search_history"]),
    ],
)
def test_an_agent_gets_what_its_own_results_need(state, history, expected):
    """By what the session keeps of its tools, and whether history leaves; declared and callable alike."""
    assert offered(state=state, history=history) == expected


def test_what_an_agent_has_is_not_offered_again():
    """A tool of the same name is the agent's own."""
    assert offered(QueryRows(), state=(ROWS_KEY,)) == ["fetch", "query_rows"]


def test_an_agent_without_tools_gets_none_for_what_it_is_not_shown():
    """A stored result of another agent whose handle the request does not show needs no tool."""
    assert offered(None, state=(ROWS_KEY,)) == []
    assert offered(None, history=True) == ["search_history"]


@pytest.mark.parametrize(
    ("state", "expected"), [((ROWS_KEY,), ["query_rows"]), ((TEXT_KEY, "payload:x:0000000000c"), ["read_payload"])]
)
@pytest.mark.parametrize("place", ["text", "result", "instruction"])
def test_whoever_is_shown_a_handle_gets_its_tool(place, state, expected):
    """In another agent's words, in a child agent's answer, and in an instruction; with tools of its own and without."""
    handle = state[0][-11:]
    part = types.Part(text=f'[scout] called t{{}} -> {{_handle: "{handle}"}}')
    if place == "result":
        answer = types.FunctionResponse(name="scout", response={"result": {"handle": handle}})
        part = types.Part(function_response=answer)
    for tools in ([], [FunctionTool(fetch)]):
        request = LlmRequest(contents=[types.Content(role="user", parts=[part])] if place != "instruction" else [])
        request.config.system_instruction = f"Use {handle}." if place == "instruction" else "Be brief."
        request.append_tools(tools)
        offer_read_back(request, {key.replace("fetch", "other"): {} for key in state}, history=False)
        assert list(request.tools_dict) == [tool.name for tool in tools] + expected


@pytest.mark.parametrize("config", [
    {"response_schema": {"type": "OBJECT"}}, {"response_mime_type": "application/json"},
    {"tools": [types.Tool(google_search=types.GoogleSearch())]}, {"cached_content": "cachedContents/1"},
])  # fmt: skip
def test_a_request_that_takes_no_function_tools_stays_as_it_is(config):
    """Providers refuse function tools beside these, and a run must not fail for a tool of ours."""
    request = LlmRequest(config=types.GenerateContentConfig(**config))
    before = request.config.model_copy()
    offer_read_back(request, {ROWS_KEY: {}}, history=True, always=True)
    assert request.config == before
    assert not request.tools_dict


def test_always_means_from_the_first_request_on():
    """An app that creates its caches itself has the same declarations in every request."""
    request = LlmRequest()
    offer_read_back(request, {}, history=False, always=True)
    assert list(request.tools_dict) == ["query_rows", "read_payload", "search_history"]

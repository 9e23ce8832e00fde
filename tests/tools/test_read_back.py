"""offer_read_back: tools for what was kept out of a prompt."""

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.function_tool import FunctionTool

from adk_context_pack.tools.query_rows import QueryRows
from adk_context_pack.tools.read_back import READ_BACK, offer_read_back

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


def test_an_agent_without_tools_gets_none():
    """It may have an output schema, or a model that can call none."""
    assert offered(None, state=(ROWS_KEY,), history=True) == []


def test_the_names_that_stubs_may_promise():
    """They are those of the tools that come with a stored result."""
    assert {"query_rows", "read_payload"} == READ_BACK

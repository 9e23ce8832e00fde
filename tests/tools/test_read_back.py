"""read_back: what was kept out of a prompt is opened by one tool, which an agent gets when it needs it."""

import re

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from adk_context_pack import ContextPackPlugin, QueryRows, ReadBack
from adk_context_pack.tools.read_back import offer_read_back
from tests.support.in_tool import model_that_calls
from tests.support.run import run_agent
from tests.support.scripted_model import results_in

ROWS_KEY = "rows:fetch:0000000000a"
TEXT_KEY = "payload:fetch:0000000000b"


def fetch() -> dict:
    """Fetches."""
    return {}


def offered(*tools, state=(), **settings):
    request = LlmRequest()
    request.append_tools([FunctionTool(fetch), *tools] if tools != (None,) else [])
    offer_read_back(request, {key: {} for key in state}, **{"history": False, **settings})
    return declared_in(request)


def declared_in(request):
    declared = [f.name for tool in request.config.tools or [] for f in tool.function_declarations]
    assert set(declared) <= request.tools_dict.keys()
    return declared


@pytest.mark.parametrize(("state", "history", "expected"), [
    ((), False, ["fetch"]), ((ROWS_KEY, TEXT_KEY), False, ["fetch"]), ((TEXT_KEY,), True, ["fetch", "read_back"]),
    (("rows:other:0000000000a", "rows:fetch:no-handle", "else"), False, ["fetch"]), ((), True, ["fetch", "read_back"]),
])  # fmt: skip
def test_an_agent_gets_what_its_history_needs(state, history, expected):
    """Where history leaves, and not for a result that no request of it shows, as a called agent's; callable as well."""
    assert offered(state=state, history=history) == expected


def test_an_agent_without_tools_gets_none_for_what_it_is_not_shown():
    """A stored result of another agent whose handle the request does not show needs no tool, unless it is always."""
    assert offered(None, state=(ROWS_KEY,)) == []
    assert offered(None, history=True) == offered(None, always=True) == ["read_back"]


@pytest.mark.parametrize("state", [(ROWS_KEY,), (TEXT_KEY, "payload:x:0000000000c")])
@pytest.mark.parametrize("place", ["text", "result", "instruction"])
def test_whoever_is_shown_a_handle_gets_the_tool(place, state):
    """In another agent's words, in a child agent's answer, and in an instruction; with tools of its own and without."""
    handle = state[0][-11:]
    part = types.Part(text=f'[scout] called t{{}} -> {{_handle: "{handle}"}}')
    if place == "result":
        answer = types.FunctionResponse(name="scout", response={"result": {"handle": handle}})
        part = types.Part(function_response=answer)
    for tools in ([], [FunctionTool(fetch)], [FunctionTool(fetch), QueryRows()]):
        request = LlmRequest(contents=[types.Content(role="user", parts=[part])] if place != "instruction" else [])
        request.config.system_instruction = f"Use {handle}." if place == "instruction" else "Be brief."
        request.append_tools(tools)
        offer_read_back(request, {key.replace("fetch", "other"): {} for key in state}, history=False)
        # What an agent can open with a tool of its own needs no other.
        assert declared_in(request) == [tool.name for tool in tools] + ["read_back"] * (
            len(tools) != 2 or len(state) > 1
        )


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


LINES = "".join(f"{number}: {'valve 7 leaks' if number == 4321 else 'all well'}\n" for number in range(9000))
ROWS = [{"ship": f"V{number}", "crew": number % 9} for number in range(400)]


def first(results):
    return results[0]["_handle"]


def lines(reply):
    return [line for day in reply["found"].values() for line in day]


def event(results):
    return lines(results[-1])[0].partition(",")[0]


async def replies(*calls, tools=()):
    """What a model reads that calls a tool with a table and a log, and then others, in a run with the plugin."""

    def survey():
        return {"ships": ROWS, "log": LINES}

    agent = LlmAgent(name="a", model=model_that_calls(("survey", {}), *calls), tools=[survey, *tools])
    run = await run_agent(agent, "go to V77", plugins=[ContextPackPlugin()])
    assert [name for name in run.requests[-1].tool_names if name != "survey"] == ["read_back"]
    return [result.response for result in results_in(run.requests[-1])]


async def test_one_tool_opens_rows_texts_and_the_past():
    """It asks the rows of a handle, searches and reads its text, and finds, lists and reads what was said earlier."""
    stub, sums, places, page, found, listed, read = await replies(
        ("read_back", {"handle": first, "sql": "SELECT sum(crew) FROM ships"}),
        ("read_back", {"handle": first, "search": "valve \\d leaks"}),
        ("read_back", {"handle": lambda results: f"handle='{first(results).upper()}'", "offset": -20}),
        ("read_back", {"search": 'agent:user tool:"" since:2020-01-01 V77'}),
        ("read_back", {"search": "turn:-1 agent:user"}),
        ("read_back", {"handle": event}),
    )
    assert "read_back answers from all by _handle" in stub["_note"]
    assert sums["rows"] == [[sum(row["crew"] for row in ROWS)]]
    assert (places["total"], "4321: valve 7 leaks" in places["matches"][0]["text"]) == (1, True)
    assert (page["text"], page["next_offset"]) == ('\\n8999: all well\\n"}', None)
    assert lines(found) == lines(listed)
    assert re.fullmatch(r"\w{8}, \d\d:\d\d, turn 1, user: go to V77", *lines(found))
    assert read["text"] == "go to V77"


async def test_the_tools_of_earlier_releases_answer_undeclared():
    """A model that copies a call from earlier in its session gets the answer that it got then."""
    # In quotes, since a handle may have 77 among its letters.
    asked = {"handle": first, "sql": "SELECT count(*) FROM ships"}
    _, counted, found = await replies(("query_rows", asked), ("search_history", {"query": '"V77"'}))
    assert counted["rows"] == [[400]]
    assert lines(found)[0].endswith("user: go to V77")


async def test_what_it_cannot_open_is_named():
    """A handle that was copied wrongly is answered with the one that there is. A query without one means that one."""
    cut = {"handle": lambda results: results[0]["_handle"][:-1]}
    stub, wrong, none = await replies(("read_back", cut), ("read_back", {"sql": "SELECT 1 FROM rows"}))
    assert f"{stub['_handle']} (survey)" in wrong["error"]
    assert none["rows"][0] == [1]


async def test_what_models_write_around_an_argument_is_left_out():
    """A handle among words, a statement in marks or in place of a search, a list of words, and no offset."""
    among = {"handle": lambda results: f"handle: {results[0]['_handle'].upper()} (ships)"}
    counted = "SELECT count(*) FROM ships"
    _, *tables, places = await replies(
        ("read_back", among | {"sql": f"```sql\n{counted}\n```"}), ("read_back", among | {"search": counted}),
        ("read_back", {"handle": first, "sql": f"'{counted}'"}),
        ("read_back", among | {"search": ["crew", "none such"], "offset": None}),
    )  # fmt: skip
    assert [table["rows"] for table in tables] == [[[400]]] * 3
    assert places["total"]["none such"] == 0 < places["total"]["crew"]


async def test_its_limits_are_those_of_the_tools_behind_it():
    """An agent's own one, with fewer rows an answer, is not offered again."""
    tool = ReadBack(rows=QueryRows(max_rows=2))
    answer = (await replies(("read_back", {"handle": first, "sql": "SELECT * FROM ships"}), tools=[tool]))[1]
    assert (len(answer["rows"]), answer["total_rows"]) == (2, 400)

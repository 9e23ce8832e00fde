"""Capping a tool's rows where they are made: what the model gets, what is kept, what stays as it was."""

import functools
import json
import logging
from datetime import date

import pytest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from adk_context_pack import CapRows, ContextPackPlugin, SettingError, cap_rows, offload_payload
from tests.support.agents import calling
from tests.support.kept import kept_in_state
from tests.support.run import run_agent, session_service
from tests.support.scripted_model import results_in
from tests.support.tables import transactions

ROWS = [{"id": n, "name": f"campaign {n}", "clicks": n * 3} for n in range(250)]


def fetch(account: str = "a") -> dict:
    """Fetches the rows of an account."""
    return {"status": "ok", "rows": list(ROWS), "account": account}


async def fetch_async(account: str = "a", tool_context: ToolContext = None) -> dict:
    """Fetches the rows of an account."""
    tool_context.state["seen"] = account
    return {"status": "ok", "rows": list(ROWS), "account": account}


class Fetcher:
    """Fetches the rows of an account."""

    def by_method(self, account: str = "a") -> dict:
        """Fetches the rows of an account."""
        return fetch(account)

    def __call__(self, account: str = "a") -> dict:
        return fetch(account)


KINDS = {
    "function": fetch, "async with context": fetch_async, "bound method": Fetcher().by_method,
    "callable object": Fetcher(), "partial": functools.partial(fetch, account="p"),
    "function tool": FunctionTool(fetch), "long running": LongRunningFunctionTool(fetch),
}  # fmt: skip


def shown(run, index=0):
    """What the model was shown as the result of its calls."""
    return results_in(run.requests[-1])[index].response


def kept(run, prefix="rows:"):
    """The full results in the session's state."""
    return {key: kept_in_state(entry, run) for key, entry in run.session.state.items() if key.startswith(prefix)}


@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_of_tool_is_capped_and_its_rows_kept(kind):
    """Whatever form a tool has, the model gets the first rows and state the whole result."""
    run = await run_agent(calling(cap_rows(KINDS[kind], max_rows=10, stub_rows=5)), "go")
    response = shown(run)
    assert response["rows"] == ROWS[:5]
    assert response["_row_limits"] == {"rows": {"shown": 5, "total": 250}}
    assert response["status"] == "ok"
    assert [value["rows"] for value in kept(run).values()] == [ROWS]


@pytest.mark.parametrize("result", [
    {"rows": ROWS[:10]}, ROWS[:10], {"error": "quota"},
    {"status": "error", "error_message": "no such table", "rows": ROWS[:40]},
    {"isError": True, "content": [{"type": "text", "text": "bad"}] * 20}, "text", "", 7, None, {}, [],
    types.Part(text="a part"),
])  # fmt: skip
async def test_what_needs_no_capping_is_the_same_object(result):
    """Small results, errors and results that are no rows pass as they are, and nothing is kept."""
    context = FakeContext()
    tool = cap_rows(tool_returning(result), max_rows=10)
    assert await tool.run_async(args={}, tool_context=context) is result
    assert context.state == {}


class FakeContext:
    """As much of a tool context as a wrapped plain tool sees."""

    def __init__(self):
        self.state = {}
        self.session = _Session(self.state)
        self.actions = _Actions()
        self.function_call_id = "c"
        self.invocation_id = "i"
        self.tool_confirmation = None


class _Session:
    def __init__(self, state):
        self.state = state
        self.id = "s"


class _Actions:
    requested_auth_configs = ()
    requested_tool_confirmations = ()


def tool_returning(result):
    """A BaseTool that returns exactly `result`."""

    class Returning(BaseTool):
        async def run_async(self, *, args, tool_context):
            return result

    return Returning(name="returning", description="returns")


async def test_a_pending_long_running_call_stays_pending():
    """None of a long-running tool gives no response at all, as without the wrapper."""

    def approve() -> None:
        """Asks for approval."""

    run = await run_agent(calling(cap_rows(LongRunningFunctionTool(approve))), "go")
    assert run.events[0].long_running_tool_ids
    assert not any(event.get_function_responses() for event in run.events)
    assert kept(run) == {}


async def test_confirmation_is_asked_for_and_then_the_result_is_capped():
    """The wrapper does not come between ADK and a confirmation; the confirmed call's rows are capped."""
    tool = cap_rows(FunctionTool(fetch, require_confirmation=True))
    first = await run_agent(calling(tool), "go")
    asked = [c for event in first.events for c in event.get_function_calls() if c.name.startswith("adk_request_conf")]
    assert len(asked) == 1
    assert kept(first) == {}
    reply = types.Part(
        function_response=types.FunctionResponse(name=asked[0].name, id=asked[0].id, response={"confirmed": True})
    )
    service = first.session_service
    second = await run_agent(calling(tool), reply, session_service=service)
    results = [r for event in second.events for r in event.get_function_responses() if r.name == "fetch"]
    assert results[-1].response["_row_limits"] == {"rows": {"shown": 3, "total": 250}}
    assert len(kept(second)) == 1


class Rows(BaseToolset):
    """Two tools under a prefix, with everything that ADK may ask a toolset for."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.tools = [FunctionTool(fetch), FunctionTool(fetch_async)]
        self.closed = self.processed = 0

    async def get_tools(self, readonly_context=None):
        return [tool for tool in self.tools if self._is_tool_selected(tool, readonly_context)]

    async def process_llm_request(self, *, tool_context, llm_request):
        self.processed += 1

    def get_auth_config(self):
        return None

    async def close(self):
        self.closed += 1


async def test_a_toolset_is_wrapped_with_prefix_filter_and_close():
    """The wrapped toolset offers the same names and declarations, is processed, and closes the one within."""
    inner = Rows(tool_filter=["fetch"], tool_name_prefix="ads")
    wrapped = cap_rows(inner, max_rows=3)
    assert isinstance(wrapped, BaseToolset)
    assert [t.name for t in await wrapped.get_tools_with_prefix()] == ["ads_fetch"]
    assert [t.name for t in await wrapped.get_tools()] == ["fetch"]
    assert wrapped.tool_name_prefix == "ads"
    assert wrapped.tool_filter == ["fetch"]
    declared_inner = [t._get_declaration() for t in await inner.get_tools_with_prefix()]
    assert [t._get_declaration() for t in await wrapped.get_tools_with_prefix()] == declared_inner
    run = await run_agent(calling(wrapped), "go")
    assert run.requests[0].tool_names == ["ads_fetch"]
    assert shown(run)["_row_limits"] == {"rows": {"shown": 3, "total": 250}}
    assert next(iter(kept(run))).startswith("rows:ads_fetch:")
    assert inner.processed == 2
    await wrapped.close()
    assert inner.closed == 1
    assert all("run_async" not in vars(tool) for tool in inner.tools)


async def test_a_result_is_capped_once():
    """A capped tool under a capping callback keeps the true total and one copy."""
    agent = calling(cap_rows(fetch, stub_rows=4), after_tool_callback=[CapRows(max_rows=5)])
    run = await run_agent(agent, "go")
    assert shown(run)["_row_limits"] == {"rows": {"shown": 4, "total": 250}}
    assert len(kept(run)) == 1


@pytest.mark.parametrize("kind", ["sqlite", "database"])
async def test_rows_that_json_cannot_hold_do_not_break_a_persistent_session(kind, tmp_path):
    """Dates and NaN in rows are kept and the run ends well, where a session service would refuse them in state."""

    def odd() -> dict:
        """Fetches."""
        return {"rows": [{"day": date(2026, 1, 1), "value": float("nan")} for _ in range(30)]}

    async with session_service(kind, tmp_path) as service:
        run = await run_agent(calling(cap_rows(odd, max_rows=2)), "go", session_service=service)
    assert run.answer == "done"
    assert shown(run)["_row_limits"]["rows"]["total"] == 30
    assert len(kept(run)) == 1


async def test_what_cannot_be_kept_is_said_to_be_lost(caplog):
    """Of a result that has no JSON form the stub names no handle and says why; the log has no payload."""
    result = {"rows": [{"secret": object()} for _ in range(30)]}
    context = FakeContext()
    with caplog.at_level(logging.WARNING, "adk_context_pack"):
        stub = await cap_rows(tool_returning(result), max_rows=2).run_async(args={}, tool_context=context)
    assert stub["rows"] == result["rows"][:2]
    assert "_handle" not in stub
    assert "not kept (it has no JSON form (TypeError)): call returning again for less" in stub["_note"]
    assert "returning" in caplog.text
    assert "secret" not in caplog.text
    assert context.state == {}


async def test_media_in_a_result_stays():
    """A part beside the rows reaches the model as before and does not go to the store."""
    chart = types.Part.from_bytes(data=b"png", mime_type="image/png")
    result = {"rows": list(ROWS), "chart": chart}
    context = FakeContext()
    capped = await cap_rows(tool_returning(result), max_rows=2).run_async(args={}, tool_context=context)
    assert capped["chart"] is chart
    assert [kept_in_state(value).keys() for key, value in context.state.items()] == [{"rows"}]
    parts = [chart] * 200
    assert await cap_rows(tool_returning(parts), max_rows=2).run_async(args={}, tool_context=context) is parts


TRANSACTIONS = transactions()


def list_transactions() -> dict:
    """Lists transactions."""
    return {"rows": list(TRANSACTIONS)}


async def test_a_store_that_the_app_does_not_have_keeps_nothing():
    """Artifacts without an artifact service: the stub has facts over all rows, and says that these were not kept."""
    run = await run_agent(calling(cap_rows(list_transactions, store="artifacts")), "go", artifact_service=None)
    assert "amount," in shown(run)["_row_facts"]["rows"]["numbers"]
    assert "_handle" not in shown(run)
    assert "The rest was not kept" in shown(run)["_note"]


async def test_a_key_of_ones_own_means_state_even_where_there_are_artifacts():
    """Tools and templates that read the key find the rows there, not a pointer."""
    run = await run_agent(calling(cap_rows(list_transactions, state_key="results:{tool}")), "go")
    assert run.session.state["results:list_transactions"] == {"rows": TRANSACTIONS}


async def test_a_key_that_the_call_does_not_fill_is_left_out(caplog):
    """A missing argument costs the key of one's own, not the rows."""
    run = await run_agent(calling(cap_rows(list_transactions, state_key="results:{query_id}", store="state")), "go")
    handle = shown(run)["_handle"]
    assert kept_in_state(run.session.state[f"rows:list_transactions:{handle}"]) == {"rows": TRANSACTIONS}
    assert "does not fill the state key" in caplog.text


def rows():
    """Yields rows."""
    yield {"n": 1}


async def stream():
    """Yields rows, as ADK's streaming tools do."""
    yield {"n": 1}


class OddRows:
    """Yields rows."""

    def __call__(self):
        yield {"n": 1}


async def result_of(value, wrap=lambda tool: tool, **settings):
    def fetch():
        """Fetches."""
        return value

    run = await run_agent(calling(wrap(fetch)), "go", **settings)
    json.dumps([event.model_dump(mode="json") for event in run.session.events])
    return shown(run)


@pytest.mark.parametrize("wrap", [cap_rows, offload_payload])
@pytest.mark.parametrize("tool", [rows, stream, OddRows(), functools.partial(rows), FunctionTool(rows)])
def test_a_generator_is_refused_when_it_is_wrapped(wrap, tool):
    """A generator function has no result. The error says so before any run."""
    with pytest.raises(SettingError, match="tool must be a function that returns its result, since a generator"):
        wrap(tool)


@pytest.mark.parametrize("wrap", [cap_rows, offload_payload])
async def test_bytes_stay_bytes(wrap):
    """Bytes are left to ADK, which stores them."""
    assert await result_of({"blob": b"\x00\xff", "n": 1}, wrap) == {"blob": b"\x00\xff", "n": 1}


@pytest.mark.parametrize("wrap", [cap_rows, offload_payload])
async def test_numpys_scalars_are_pythons_numbers(wrap):
    """ADK has no JSON for a numpy scalar. A wrapped tool gives Python's own number."""
    numpy = pytest.importorskip("numpy")
    value = {"whole": numpy.int64(7), "part": numpy.float32(1.5), "yes": numpy.bool_(1)}
    assert await result_of(value, wrap) == {"whole": 7, "part": 1.5, "yes": True}
    assert await result_of(numpy.int64(7), wrap) == {"result": 7}


async def test_the_plugin_makes_rows_of_what_adk_lets_through():
    """ADK lets a frame within a result through, and the plugin makes rows of it."""
    frame = pytest.importorskip("pandas").DataFrame({"a": [1, 2]})
    assert await result_of({"t": frame}, plugins=[ContextPackPlugin()]) == {"t": [{"a": 1}, {"a": 2}]}


def list_some(count: int) -> dict:
    """Lists some transactions."""
    return {"rows": TRANSACTIONS[:count]}


async def test_settings_for_single_tools():
    """One tool has its own limit, two are never capped, the others follow the general one."""

    def never() -> dict:
        """Lists."""
        return {"rows": list(TRANSACTIONS)}

    def always() -> dict:
        """Lists."""
        return {"rows": list(TRANSACTIONS)}

    cap = CapRows(tools={"list_some": CapRows(stub_tokens=900), "never": None, "always": "whole"})
    tools = [list_transactions, list_some, never, always]
    calls = [(tool.__name__, {"count": 40} if tool is list_some else {}) for tool in tools]
    run = await run_agent(calling(*tools, calls=calls, after_tool_callback=cap), "go")
    assert [len(shown(run, index)["rows"]) for index in range(4)] == [2, 3, 500, 500]

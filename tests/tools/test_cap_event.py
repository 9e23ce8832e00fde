"""Capping for a whole app: on fresh events, or at the request, without hiding what an agent does itself."""

import pytest
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from adk_context_pack import CapRows, cap_rows
from tests.support.agents import calling
from tests.support.in_tool import in_tool
from tests.support.plugin_apps import stores_late
from tests.support.run import run_agent
from tests.support.scripted_model import results_in
from tests.support.tables import transactions

ROWS = transactions()


def list_transactions() -> dict:
    """Lists transactions."""
    return {"rows": list(ROWS)}


def list_some(query_id: str) -> list:
    """Lists some transactions."""
    return ROWS[:200]


class OnEvent(BasePlugin):
    """A plugin that caps fresh events and hides nothing."""

    def __init__(self, cap):
        super().__init__(name="cap")
        self.cap = cap
        self.capped = []

    async def on_event_callback(self, *, invocation_context, event):
        content, parts = event.content, list(event.content.parts) if event.content else []
        self.capped.append(await self.cap.cap_event(invocation_context, event))
        # What was shared with others is as it was.
        assert not parts or all(one is other for one, other in zip(content.parts, parts, strict=True))


class AtRequest(BasePlugin):
    """A plugin that caps the tools of each request."""

    def __init__(self, cap):
        super().__init__(name="cap")
        self.cap = cap

    async def before_model_callback(self, *, callback_context, llm_request):
        self.cap.cap_tools(llm_request)


async def test_parallel_responses_of_one_event_are_each_capped():
    """A merged event keeps every response, in order, with its own handle, state key and media."""
    if not await stores_late():
        pytest.skip("this ADK stores an event before a plugin sees it")
    calls = [("list_some", {"query_id": f"q{number}"}) for number in range(5)]
    cap = CapRows(stub_tokens=900, state_key="results:{query_id}")
    run = await run_agent(calling(list_some, calls=calls), "go", plugins=[OnEvent(cap)])
    responses = [r.response for r in results_in(run.requests[-1])]
    assert len({response["_handle"] for response in responses}) == 5
    # ADK had made a dict of the list before the event was built.
    assert all(run.session.state[f"results:q{number}"] == {"result": ROWS[:200]} for number in range(5))
    assert all(response["_row_limits"]["result"] == {"shown": 3, "total": 200} for response in responses)


async def test_what_is_capped_already_and_what_needs_nothing_stays():
    """A wrapped tool's stub and a small result leave the event's content as it was."""
    plugin = OnEvent(CapRows(max_rows=10))
    run = await run_agent(calling(cap_rows(list_transactions, stub_rows=2, stub_tokens=900)), "go", plugins=[plugin])
    assert results_in(run.requests[-1])[0].response["_row_limits"]["rows"]["shown"] == 2
    assert not any(plugin.capped)


async def test_a_confirmation_passes_an_app_wide_cap():
    """What a tool says while it waits for a confirmation is not touched, and the confirmed result is capped."""
    if not await stores_late():
        pytest.skip("this ADK stores an event before a plugin sees it")
    agent = calling(FunctionTool(list_transactions, require_confirmation=True))
    plugins = [OnEvent(CapRows(max_rows=10))]
    first = await run_agent(agent, "go", plugins=plugins)
    (asked,) = [c for event in first.events for c in event.get_function_calls() if c.name.startswith("adk_request")]
    reply = types.FunctionResponse(name=asked.name, id=asked.id, response={"confirmed": True})
    second = await run_agent(
        agent, types.Part(function_response=reply), plugins=plugins, session_service=first.session_service
    )
    responses = [r for e in second.events for r in e.get_function_responses() if r.name == "list_transactions"]
    assert responses[-1].response["_row_limits"]["rows"]["total"] == 500


async def test_tools_of_a_request_are_capped_on_every_release():
    """Replacing the tools that ADK dispatches to needs nothing from events; own callbacks still run, on the stub."""
    seen = []

    def own(tool, args, tool_context, tool_response):
        seen.append(len(tool_response["rows"]))

    agent = calling(list_transactions, after_tool_callback=own)
    tools = list(agent.tools)
    run = await run_agent(agent, "go", plugins=[AtRequest(CapRows(stub_rows=2, stub_tokens=900))])
    assert results_in(run.requests[-1])[0].response["_row_limits"]["rows"]["shown"] == 2
    assert seen == [2]
    assert agent.tools == tools


@pytest.mark.parametrize("called", [True, False])
async def test_a_result_finds_the_arguments_of_its_own_call(called):
    """A key is filled in from the call of the result's id; without that call the result is kept under its handle."""

    async def act(context):
        asked = [
            types.Part(function_call=types.FunctionCall(name="list_some", id=f"c{n}", args={"query_id": f"q{n}"}))
            for n in range(3 if called else 1)
        ]
        context.session.events.append(Event(author="analyst", content=types.Content(role="model", parts=asked)))
        result = types.FunctionResponse(name="list_some", id="c1", response={"rows": ROWS})
        event = Event(
            author="analyst", content=types.Content(role="user", parts=[types.Part(function_response=result)])
        )
        capped = await CapRows(stub_tokens=900, state_key="results:{query_id}").cap_event(
            context._invocation_context, event
        )
        return capped, event.content.parts[0].function_response.response, dict(event.actions.state_delta)

    capped, response, delta = await in_tool(act)
    assert (capped, len(response["rows"])) == (True, 3)
    assert set(delta) - {f"rows:list_some:{response['_handle']}"} == ({"results:q1"} if called else set())

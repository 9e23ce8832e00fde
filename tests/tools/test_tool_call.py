"""ToolCall: what a result pass may know of the call, from a tool's context or from an event."""

import pytest
from google.genai import types

from adk_context_pack import StoreError, ToolCall, load_payload
from adk_context_pack.tools.tool_call import Kept
from tests.support.events import agent_called, event, result_part
from tests.support.in_tool import in_tool


class Named:
    name = "search"


async def test_a_tools_context_gives_ids_and_actions():
    """Tool, arguments, call, agent, run and session are those of ADK's context."""

    async def act(context):
        call = ToolCall.of_tool(Named(), {"query": "x"}, context, offered=frozenset({"query_rows"}))
        return call, context.function_call_id, context.session.id, context.invocation_id, context.actions

    call, call_id, session_id, invocation_id, actions = await in_tool(act)
    assert (call.tool_name, call.args, call.agent_name) == ("search", {"query": "x"}, "actor")
    assert (call.call_id, call.session_id, call.invocation_id) == (call_id, session_id, invocation_id)
    assert call.actions is actions
    assert call.state_delta is None


async def test_a_response_finds_the_arguments_of_its_own_call():
    """An event's response is paired with its call by id, and writes to the event's own state delta."""

    async def act(context):
        context.session.events.append(agent_called("actor", "search", "c7", query="x"))
        made = event("actor", result_part("search", {"rows": []}, "c7"))
        response = made.content.parts[0].function_response
        other = types.FunctionResponse(name="search", id="c8")
        invocation = context._invocation_context
        return made, ToolCall.of_response(response, made, invocation), ToolCall.of_response(other, made, invocation)

    made, call, other = await in_tool(act)
    assert (call.args, call.agent_name) == ({"query": "x"}, "actor")
    assert other.args == {}
    assert call.state_delta is made.actions.state_delta
    assert ToolCall.of_response(made.content.parts[0].function_response, made, None).state_delta == {}


async def test_a_pass_may_name_tools_that_the_agent_has_or_will_have():
    """An agent offers its own tools and those that are named; without a context, only the latter."""

    async def act(context):
        own = ToolCall(tool_name="t", context=context, offered=frozenset({"later"}))
        return own.offers("act"), own.offers("later"), own.offers("never")

    assert await in_tool(act) == (True, True, False)
    assert not ToolCall(tool_name="t").offers("act")


async def test_what_is_kept_can_be_loaded_by_its_handle():
    """A value that a pass keeps is there under its handle, and the call remembers it for the report."""

    async def act(context):
        call = ToolCall.of_tool(Named(), {}, context)
        handle = await call.keep({"a": [1]}, kind="rows", rows_shown=1, rows_total=2)
        return handle, call.kept, await load_payload(context, handle)

    handle, kept, value = await in_tool(act)
    assert kept == [Kept(handle=handle, kind="rows", rows_shown=1, rows_total=2)]
    assert value == {"a": [1]}


async def test_what_cannot_be_kept_raises_and_is_not_remembered():
    """A store that the app does not have raises an error of ours."""

    async def act(context):
        call = ToolCall.of_tool(Named(), {}, context)
        with pytest.raises(StoreError):
            await call.keep("x", store="artifacts")
        return call.kept

    assert await in_tool(act, artifact_service=None) == []

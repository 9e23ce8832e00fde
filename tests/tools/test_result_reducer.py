"""ResultReducer: tables first, then whatever else is large."""

import asyncio
import re
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.code_executors import UnsafeLocalCodeExecutor
from google.adk.events.event_actions import EventActions
from google.adk.models.llm_response import LlmResponse
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools.load_artifacts_tool import LoadArtifactsTool
from google.genai import types

from adk_context_pack import CapRows, ContextPackPlugin, OffloadPayload, ResultPass, SettingError, StoreError, ToolCall
from adk_context_pack.stores.handles import stored_result
from adk_context_pack.tools.result_pass import ResultReducer, is_stub, reduce_result, stays_whole
from tests.faults.test_state_faults import refusing
from tests.support.agents import calling
from tests.support.events import agent_said, event, result_part
from tests.support.in_tool import in_tool
from tests.support.plugin_apps import stores_late
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in, text_of

ROWS = [{"id": number} for number in range(50)]
LONG = "a long text " * 2000
REDUCER = ResultReducer(passes=(CapRows(max_rows=5, stub_rows=5, facts=False), OffloadPayload(max_tokens=1000)))


async def reduced(result, reducer=REDUCER, name="fetch", *, tool=None, answer=False):
    """What a tool named `name`, or `tool`, gives in place of `result`."""

    async def action(context):
        context.actions.skip_summarization = answer or None
        call = ToolCall.of_tool(tool or SimpleNamespace(name=name), {}, context)
        return await reducer._reduced(result, call, {})

    return await in_tool(action)


async def test_many_fields_beside_a_table_give_way_to_one_preview():
    """Where no single field is large, the result goes as a whole, and its preview has some rows of its table."""
    result = {"rows": ROWS, "status": "ok", **{f"note_{number}": "a middling text " * 20 for number in range(40)}}
    shown = await reduced(result)
    assert "[rows: 5 of 50 rows]\nid\n0\n1\n2\n3\n4" in shown["_preview"]
    assert shown["status"] == "ok"
    assert shown["_handle"] in shown["_preview"]
    assert len(shown["_preview"]) < 3000
    assert not any(key.startswith("note_") for key in shown)


@pytest.mark.parametrize(("result", "settings"), [
    ({"rows": ROWS[:3], "text": "short"}, {}),
    ({"error": "no", "text": LONG[:3000]}, {}),
    ({"text": LONG, "rows": ROWS}, {"tool": LoadArtifactsTool()}),
    ({"text": LONG, "rows": ROWS}, {"answer": True}),
    ({"text": LONG, "rows": ROWS}, {"reducer": ResultReducer(passes=())}),
    (
        {"text": LONG, "rows": ROWS},
        {"reducer": ResultReducer(passes=(CapRows(tools={"fetch": None}), OffloadPayload(tools={"fetch": None})))},
    ),
])  # fmt: skip
async def test_what_stays_is_the_same_object(result, settings):
    """Small results, errors, ADK's own tools, answers to the user, and what settings leave out."""
    assert await reduced(result, **settings) is result


class Halve(ResultPass):
    """Shortens each result of more than one field, and notes the tool in the state delta."""

    async def apply(self, result, call):
        call.state_delta["seen"] = call.tool_name
        return {"short": True} if len(result) > 1 else result


def context(*stored):
    return SimpleNamespace(session=Session(id="s", app_name="app", user_id="user", events=list(stored)))


async def test_only_large_responses_of_an_event_are_replaced():
    """A new content with new parts in place of the large ones; the other parts are the same objects."""
    media = types.FunctionResponse(name="big", id="1", response={"a": 1, "b": 2}, scheduling=None)
    made = event("a", types.Part(text="see"), types.Part(function_response=media), result_part("small", {"a": 1}, "2"))
    content, parts = made.content, list(made.content.parts)
    assert await ResultReducer(passes=(Halve(),)).reduce_event(context(), made) is True
    assert [part.function_response and part.function_response.response for part in made.content.parts] == [
        None,
        {"short": True},
        {"a": 1},
    ]
    assert made.content is not content
    assert content.parts == parts
    assert media.response == {"a": 1, "b": 2}
    assert made.content.parts[0] is parts[0]
    assert made.content.parts[2] is parts[2]
    assert made.actions.state_delta == {"seen": "small"}


async def test_events_that_are_left_alone():
    """No response, a partial one, a stored one, an answer to the user, a failure: no pass runs and nothing changes."""
    big = {"a": 1, "b": 2}
    stored = event("a", result_part("t", big))
    shown = event("a", result_part("t", big), actions=EventActions(skip_summarization=True))
    failed = event("a", result_part("t", {"error": "no", "b": 2}))
    for made in (agent_said("a", "hi"), event("a", result_part("t", big), partial=True), stored, shown, failed):
        content = made.content
        assert await ResultReducer(passes=(Halve(),)).reduce_event(context(stored), made) is False
        assert made.content is content
        assert not made.actions.state_delta


async def test_a_failure_that_goes_as_a_whole_keeps_its_message():
    """Where no single field is large, the preview of the whole stands beside status and a long message."""
    message = "the disk is full, " * 40
    result = {"status": "error", "message": message, **{f"step_{number}": "log " * 30 for number in range(90)}}
    shown = await reduced(result)
    assert (shown["status"], shown["message"]) == ("error", message)
    assert len(str(shown)) < 4000


@pytest.mark.parametrize("size", [100, 5000])
async def test_a_failure_of_up_to_two_thousand_tokens_is_whole(size):
    """However small the limit of a pass is, a short failure reaches the model as it is."""
    small = ResultReducer(passes=(CapRows(max_rows=2), OffloadPayload(max_tokens=20, preview_tokens=10)))
    result = {"status": "error", "message": "m" * size, "rows": [1, 2, 3]}
    assert await reduced(result, small) is result


@pytest.mark.parametrize("error", [None, "", "one shard timed out", 0.113])
async def test_rows_beside_an_error_field_are_capped(error):
    """A result that has rows and a field named `error` is capped like any other."""
    shown = await reduced({"error": error, "rows": ROWS})
    assert len(shown["rows"]) == 5
    assert shown["error"] == error


@dataclass(frozen=True, kw_only=True)
class DropHtml(ResultPass):
    """Leaves out a field."""

    field: str = "html"

    async def apply(self, result, call):
        """Returns the result without the field, or the very same one."""
        if not isinstance(result, dict) or self.field not in result:
            return result
        call.note(f"left out {self.field}")
        return {key: value for key, value in result.items() if key != self.field}


@dataclass(frozen=True, kw_only=True)
class Fails(ResultPass):
    """Fails on every result."""

    error: type[Exception] = ZeroDivisionError
    said: str = "a secret payload"

    async def apply(self, result, call):
        """Raises."""
        raise self.error(self.said)


PAGE = {"title": "t", "html": "<b>", "css": "b{}"}


def fetch() -> dict:
    """Fetches a page."""
    return dict(PAGE)


async def seen(agent, **settings):
    run = await run_agent(agent, "go", **settings)
    return results_in(run.requests[-1])[0].response


async def test_a_pass_of_ones_own_runs_in_the_plugin_and_as_a_callback():
    """The same instance reduces results for a whole app, for one agent, and reports what it noted."""
    reports = []
    entry = DropHtml(on_report=reports.append)
    plugin = ContextPackPlugin(result_passes=[entry, DropHtml(field="css")])
    assert await seen(calling(fetch), plugins=[plugin]) == {"title": "t"}
    assert await seen(calling(fetch, after_tool_callback=[entry])) == {"title": "t", "css": "b{}"}
    assert [(report.tool, report.pass_name, report.notes) for report in reports] == [
        ("fetch", "drop_html", ("left out html",))
    ] * 2
    assert all(report.session_id and report.invocation_id for report in reports)


@pytest.mark.parametrize(("error", "message", "said"), [
    (ZeroDivisionError, "a secret payload", "ZeroDivisionError"),
    (StoreError, "the disk is full", "the disk is full"),
])  # fmt: skip
async def test_a_pass_that_fails_is_skipped_logged_and_reported(error, message, said, caplog):
    """The result stays the same object; log and report name the kind of error, and no payload."""
    reports = []
    result = dict(PAGE)
    entry = Fails(error=error, said=message, on_report=reports.append)
    assert await reduce_result([entry], result, ToolCall(tool_name="fetch")) is result
    assert f"a result of fetch stays whole: {said}" in caplog.text
    assert "secret" not in caplog.text
    assert [(report.pass_name, report.error, report.handle) for report in reports] == [("fails", said, None)]


async def test_a_pass_may_raise_in_a_test():
    """With `on_error="raise"` the exception comes through."""
    with pytest.raises(ZeroDivisionError):
        await reduce_result([Fails(on_error="raise")], dict(PAGE), ToolCall(tool_name="fetch"))


@pytest.mark.parametrize("settings", [
    {"on_error": "stop"}, {"on_report": 3}, {"tools": ["a"]}, {"tools": {"a": CapRows()}}, {"tools": {"": None}},
])  # fmt: skip
def test_settings_that_cannot_work_fail_when_built(settings):
    """A pass of the user's own checks the shared settings; single tools take settings of the same pass only."""
    with pytest.raises(SettingError, match="DropHtml"):
        DropHtml(**settings)


async def test_notes_are_of_the_pass_that_runs():
    """What one pass noted is not reported by the next."""
    reports = []
    passes = (DropHtml(), DropHtml(field="css", on_report=reports.append))
    await reduce_result(passes, dict(PAGE), ToolCall(tool_name="fetch"))
    assert [report.notes for report in reports] == [("left out css",)]


def exempt(tool, result, actions, call_id):
    return asyncio.run(stays_whole(result, ToolCall(tool_name=tool, actions=actions, call_id=call_id)))


@pytest.mark.parametrize(("result", "kept", "expected"), [
    ({"_row_limits": {}}, "rows:search:0123456789a", True),
    ({"_row_limits": {}, "_handle": "0123456789a"}, "rows:search:0123456789a", True),
    ({"_row_limits": {}, "_handle": "0000000000a"}, "rows:search:0123456789a", False),
    ({"_row_limits": {}, "_handle": "0123456789a"}, "city", False),
    ({"_row_limits": {}, "_handle": ["0123456789a"]}, "rows:search:0123456789a", False),
])  # fmt: skip
def test_only_what_was_kept_in_this_call_makes_a_stub(result, kept, expected):
    """A tool that writes the keys of a stub itself is capped like any other."""
    assert is_stub(result, ToolCall(tool_name="search", actions=EventActions(state_delta={kept: 1}))) is expected


class Odd(dict):
    """A result that cannot be looked at."""

    def get(self, *_):
        raise ZeroDivisionError("payload")


def test_a_result_that_cannot_be_looked_at_stays_whole(caplog):
    """An object whose methods fail passes as it is, and the log names the tool and no payload."""
    assert exempt("search", Odd(a=1), EventActions(), "c1")
    assert "search could not be looked at (ZeroDivisionError)" in caplog.text
    assert "payload" not in caplog.text


PRINTS = {
    "read_payload": "for n in range(900): print(f'line {n}: ' + ('all well' if n != 444 else 'needle 4711'))",
    "query_rows": "print('id,city,amount')\nfor n in range(900): print(f'{n},c{n % 7},{n * 3}')",
}


@pytest.mark.parametrize(("tool", "found"), [("read_payload", "needle 4711"), ("query_rows", "1213650")])
@pytest.mark.parametrize("refused", [False, True])
async def test_what_code_prints_is_a_result(tool, found, refused):
    """It is shown in part at each later call, which reports count, and read back. Not so what could not be kept."""
    if not await stores_late():
        pytest.skip("this ADK stores an event before a plugin sees it")
    sessions = refusing(InMemorySessionService, lambda delta: refused and any(map(stored_result, delta)))

    def answer(request):
        said = text_of(request)
        if "tool_output" not in said:
            return f"```tool_code\n{PRINTS[tool]}\n```"
        if tool not in request.tools_dict or results_in(request):
            return f"found {results_in(request)}"
        handle = re.search(r"handle(?:=|\":)['\"](\w+)", said)[1]
        asked = {"search": "needle"} if tool == "read_payload" else {"sql": "SELECT sum(amount) FROM rows"}
        return call(tool, handle=handle, **asked)

    coder = LlmAgent(name="coder", model=ScriptedModel(answer=answer), code_executor=UnsafeLocalCodeExecutor())
    team = SequentialAgent(name="team", sub_agents=[coder, LlmAgent(name="next", model=ScriptedModel())])
    plugin = ContextPackPlugin()
    run = await run_agent(team, "go", plugins=[plugin], session_service=sessions())
    totals = plugin.reports.totals()
    assert refused or totals.tokens_without_pack > 5 * totals.tokens_after
    assert all(len(text_of(request)) < 4_000 for request in run.requests)
    assert ("not kept" in text_of(run.requests[1])) is refused
    assert refused or found in str(results_in(run.requests[2], tool)[0].response)


async def test_what_a_model_printed_itself_stays():
    """No tool that reads back could stand beside its own. In a stream its output may come as an event by itself."""
    part = types.Part(code_execution_result=types.CodeExecutionResult(output="line\n" * 3_000))
    said = LlmResponse(content=types.Content(role="model", parts=[part]), model_version="gemini-2.5-flash")
    model = ScriptedModel(answer=lambda request: said if len(request.contents) == 1 else "Done.")
    run = await run_agent(LlmAgent(name="coder", model=model), "go", plugins=[ContextPackPlugin()])
    assert run.session.events[1].content.parts[0].code_execution_result.output == "line\n" * 3_000

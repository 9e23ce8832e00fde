"""ResultReducer: tables first, then whatever else is large."""

from types import SimpleNamespace

import pytest
from google.adk.events.event_actions import EventActions
from google.adk.sessions.session import Session
from google.adk.tools.load_artifacts_tool import LoadArtifactsTool
from google.genai import types

from adk_context_pack import CapRows, OffloadPayload, ResultPass
from adk_context_pack.tools.result_reducer import ResultReducer, is_stored
from tests.support.events import agent_said, event, result_part
from tests.support.in_tool import in_tool

ROWS = [{"id": number} for number in range(50)]
LONG = "a long text " * 2000
REDUCER = ResultReducer(passes=(CapRows(max_rows=5, stub_rows=5, facts=False), OffloadPayload(max_tokens=1000)))


async def reduced(result, reducer=REDUCER, name="fetch", *, tool=None, answer=False):
    """What a tool named `name`, or `tool`, gives in place of `result`."""

    async def action(context):
        context.actions.skip_summarization = answer or None
        return await reducer.reduce(tool or SimpleNamespace(name=name), {}, context, result)

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


@pytest.mark.parametrize(
    ("result", "settings"),
    [
        ({"rows": ROWS[:3], "text": "short"}, {}),
        ({"error": "no", "text": LONG[:3000]}, {}),
        ({"text": LONG, "rows": ROWS}, {"tool": LoadArtifactsTool()}),
        ({"text": LONG, "rows": ROWS}, {"answer": True}),
        ({"text": LONG, "rows": ROWS}, {"reducer": ResultReducer(passes=())}),
        (
            {"text": LONG, "rows": ROWS},
            {"reducer": ResultReducer(passes=(CapRows(tools={"fetch": None}), OffloadPayload(tools={"fetch": None})))},
        ),
    ],
)
async def test_what_stays_is_the_same_object(result, settings):
    """Small results, errors, ADK's own tools, answers to the user, and what settings leave out."""
    assert await reduced(result, **settings) is result


@pytest.mark.parametrize(("name", "rows"), [("small", 3), ("whole", 50), ("fetch", 5)])
async def test_each_tool_has_its_own_settings(name, rows):
    """Settings by a tool's name stand in place of those for all, and None leaves its tables whole."""
    caps = CapRows(stub_rows=5, max_rows=9, facts=False, tools={"small": CapRows(max_rows=9), "whole": None})
    assert len((await reduced({"rows": ROWS}, ResultReducer(passes=(caps,)), name))["rows"]) == rows


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


def test_a_stored_event_is_found_by_its_id_among_the_newest():
    """ADK may store a copy of the event, so the object does not count."""
    made = agent_said("a", "hi")
    made.id = "e1"
    assert is_stored(context(made.model_copy(), agent_said("b", "x")), made)
    assert not is_stored(context(agent_said("b", "x")), made)


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

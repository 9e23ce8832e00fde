"""What is stored is what happened: the same bytes with passes on and off, whatever database and whatever ids."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from adk_context_pack import (
    CapRows,
    CastNarrative,
    ClearToolResults,
    CompactState,
    ContextPackPlugin,
    ContextPipeline,
    DropOldMedia,
    DropOldThoughts,
    FitTokenBudget,
    KeepNewestResult,
    OffloadPayload,
    PayloadStore,
    StripForContext,
    load_payload,
    query_rows,
    read_payload,
)
from tests.support.databases import canonical, without_ids
from tests.support.in_tool import in_tool
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, response_of, results_in

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
QUESTIONS = [f"question {number}: how do sales in Bogotá and 東京 stand? \u2028" for number in range(2)]
PICTURE = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"png" * 700))
MESSAGES = [[types.Part(text=QUESTIONS[0]), PICTURE], QUESTIONS[1]]
PASSES = {
    "strip": [StripForContext(keep_said=False)],
    "cast": [CastNarrative()],
    "compact": [CompactState(key="plan", select=("id",))],
    "clear": [ClearToolResults(keep_results=0, min_tokens=1, clear_args=True)],
    "newest": [KeepNewestResult(min_tokens=1)],
    "media": [DropOldMedia(min_bytes=0)],
    "thoughts": [DropOldThoughts()],
    "fit": [FitTokenBudget(max_tokens=1500)],
}
PASSES["all"] = [entry for passes in PASSES.values() for entry in passes]


def paired_model(answer: Callable[[LlmRequest], Any]) -> BaseLlm:
    """A LiteLlm, which pairs calls by id and so keeps those of ADK, with `answer` in the place of its provider."""
    lite_llm = pytest.importorskip(
        "google.adk.models.lite_llm", reason="LiteLLM is not installed", exc_type=ImportError
    )

    class PairedModel(lite_llm.LiteLlm):  # type: ignore[misc, name-defined]
        async def generate_content_async(
            self,
            llm_request: LlmRequest,
            stream: bool = False,  # noqa: FBT001, FBT002 - ADK's signature
        ) -> AsyncGenerator[LlmResponse, None]:
            yield response_of(answer(llm_request))

    return PairedModel(model="openai/scripted")


def list_sales(part: int, tool_context: ToolContext) -> dict:
    """Lists sales."""
    state = tool_context.state
    state["plan"] = [{"id": n, "note": "word " * 20} for n in range(5)]
    state[f"seen-{part}"] = state["user:all"] = state["app:all"] = {"été": [1, 2.5, None, "\n"]}
    return {"rows": [{"id": n, "city": f"city {n}", "amount": n / 4} for n in range(40)], "log": "all well. " * 200}


def note(text: str) -> str:
    """Notes."""
    return f"noted {text}"


def analyst(ids: str) -> Callable[[Any], Any]:
    """Lists twice at once, notes, answers; decided by the last content alone, which every pass leaves."""

    def made(name: str, **args: Any) -> types.Part:
        return call(name, f"toolu_{uuid4()}" if ids == "given" else None, **args)

    def answer(request: Any) -> Any:
        last = request.contents[-1].parts[-1].function_response
        if last is None:
            return [types.Part(text="I see", thought=True), made("list_sales", part=1), made("list_sales", part=2)]
        return made("note", text="it") if last.name == "list_sales" else [types.Part(text="so", thought=True), "Done."]

    return answer


IDS: dict[str, Callable[[Any], Any]] = {
    "stripped": lambda answer: ScriptedModel(answer=answer),
    "given": lambda answer: ScriptedModel(answer=answer),
    "kept": paired_model,
}
"""Ids of ADK's own that it strips from requests, ids that the model gave, ids that the provider needs."""


def team(ids: str, passes=(), after=None) -> SequentialAgent:
    settings: dict[str, Any] = {"before_model_callback": list(passes), "after_model_callback": after}
    return SequentialAgent(
        name="team",
        sub_agents=[
            LlmAgent(
                name="analyst",
                model=IDS[ids](analyst(ids)),
                tools=[list_sales, note],
                instruction="The plan: {compact:plan}",
                **settings,
            ),
            LlmAgent(
                name="writer",
                model=IDS[ids](lambda request: "All is well."),
                instruction="Write.",
                output_key="report",
                **settings,
            ),
        ],
    )


async def stored(database, agent, **settings):
    """The session as a new service reads it, and its rows as the database has them."""
    session_id = str(uuid4())
    async with database.open() as sessions:
        await run_agent(agent, *MESSAGES, session_service=sessions, session_id=session_id, **settings)
    async with database.open() as sessions:
        session = await sessions.get_session(app_name="app", user_id="user", session_id=session_id)
    return canonical(session), without_ids(await database.rows(session_id))


@pytest.mark.parametrize("ids", IDS)
async def test_passes_leave_no_trace_in_the_session(database, ids):
    """All passes, and where a run is cheap each alone: the session and the database's own rows are the same bytes."""
    expected = await stored(database, team(ids))
    assert "\\u6771\\u4eac" in expected[0]
    names = PASSES if database.kind in ("memory", "sqlite") else ["all"]
    for name in names:
        pipeline = ContextPipeline(PASSES[name])
        assert await stored(database, team(ids, [pipeline])) == expected, name
        assert sum(abs(report.tokens_saved) for report in pipeline.reports), f"{name} had nothing to do"
        assert not [each.error for report in pipeline.reports for each in report.passes if each.error]


async def test_the_plugin_leaves_nothing_but_its_reports(database):
    """With results within its limits the session is as without the plugin, but for the reports in `custom_metadata`."""
    expected, _ = await stored(database, team("stripped"))
    limits = {"rows": CapRows(max_tokens=4000), "payloads": OffloadPayload(max_tokens=4000)}
    plugin = ContextPackPlugin(passes=PASSES["all"], **limits)
    assert (await stored(database, team("stripped"), plugins=[plugin]))[0] == expected
    assert sum(report.tokens_saved for report in plugin.reports) > 0


@pytest.mark.parametrize("what", ["state", "payload"])
async def test_a_callback_that_writes_into_the_session_would_be_seen(lasting, what):
    """The comparison bites: one that writes state, or into a payload that it shares with the session, is noticed."""

    def writes(callback_context, llm_request):
        if what == "state":
            callback_context.state["written"] = 1

    def writes_late(callback_context, llm_response):
        part = llm_response.content.parts[-1]
        if what == "payload" and part.function_call:
            part.function_call.args["written"] = 1

    changed = await stored(lasting, team("stripped", [writes], [writes_late]))
    expected = await stored(lasting, team("stripped"))
    assert changed[0] != expected[0]
    assert changed[1] != expected[1]


ODD = {
    "nul": "a\0b",
    "surrogate": "a\ud800b",
    "separators": "\u2028\u2029\x1f",
    "nan": [math.inf, -math.inf],
    "large": 2**70,
    "float": [0.1, 1e300, 5e-324, -0.0],
    "keys": {"": 1, "a.b": 2, "\0": 3, "é" * 40: 4},
    "long": "é" * 70_000,
}


@pytest.mark.parametrize("name", ODD)
async def test_odd_values_are_kept_exactly(lasting, name):
    """What a database would refuse or change comes back as it was, and the run that stored it ends well."""
    value = {"value": ODD[name]}
    put = partial(PayloadStore(place="state").put, value=value, tool_name="t")
    async with lasting.open() as sessions:
        load = partial(load_payload, handle=await in_tool(put, session_service=sessions))
    async with lasting.open() as sessions:
        assert repr(await in_tool(load, session_service=sessions)) == repr(value)


async def test_answers_with_odd_characters_end_no_run(lasting):
    """Rows and texts with NUL and lone surrogates are read back by tools whose answers the database can store."""
    rows = [{"id": n, "text": "a\0b" if n == 7 else "c\ud800d" if n == 8 else "plain"} for n in range(50)]
    outcome = {}

    async def store(context):
        settings = {"tool_name": "t"}
        outcome["rows"] = await PayloadStore(place="state").put(context, rows, **settings)
        outcome["text"] = await PayloadStore(place="state").put(context, "x\0y\ud800z " * 9, kind="payload", **settings)

    def answer(request):
        if request.contents[-1].parts[-1].function_response:
            return "done"
        sql = "SELECT text FROM rows WHERE id IN (7, 8, 9)"
        return [
            call("query_rows", handle=outcome["rows"], sql=sql),
            call("query_rows", handle=outcome["rows"], sql="SELECT 'a' || char(0) AS x, no_such FROM rows"),
            call("read_payload", handle=outcome["text"]),
            call("read_payload", handle=outcome["text"], search="y"),
        ]

    async with lasting.open() as sessions:
        await in_tool(store, session_service=sessions)
    agent = LlmAgent(name="reader", model=ScriptedModel(answer=answer), tools=[query_rows, read_payload])
    async with lasting.open() as sessions:
        run = await run_agent(agent, "read", session_service=sessions)
    assert run.answer == "done"
    queried, refused, page, matched = [result.response for result in results_in(run.requests[-1])]
    assert len(queried["rows"]) == 3
    assert queried["rows"][2] == ["plain"]
    assert "error" in refused
    assert page["text"].startswith("x")
    assert matched["matches"]

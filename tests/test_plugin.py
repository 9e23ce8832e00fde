"""ContextPackPlugin: defaults that are safe for any app, each replaceable, and nobody's callbacks hidden."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import ClassVar

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.agents.run_config import RunConfig
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.genai import types

from adk_context_pack import CapRows, ContextPackPlugin, ContextPackWarning, PackSettings, Prices, StripForContext
from adk_context_pack.tools.result_pass import ResultReducer
from tests.support.plugin_apps import LOG, ROWS, analyst, list_sales, read_log, stores_late, writer
from tests.support.run import make_app, run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in, text_of

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def team(**settings):
    return SequentialAgent(name="team", sub_agents=[analyst(**settings), writer()])


async def test_by_default_relays_are_cast_tables_capped_and_the_rest_is_a_click_away():
    """One line in `plugins` does all of it, and the model's read-back finds the row that was left out."""
    plugin = ContextPackPlugin()
    run = await run_agent(team(), "How many?", plugins=[plugin])
    stub, answer = results_in(run.requests_of("analyst")[-1])
    assert stub.response["_row_limits"]["rows"]["total"] == len(ROWS)
    assert answer.name == "read_back"
    assert answer.response["rows"] == [[len(ROWS), ROWS[700]["amount"]]]
    assert "There are 1000 sales, the 700th of 703." in text_of(run.requests_of("writer")[0])
    assert [each.name for each in plugin.reports[-1].passes] == [
        "cast_narrative",
        "compact_results",
        "clear_tool_results",
        "fit_token_budget",
    ]
    assert plugin.result_reports[0].rows_shown == 3
    assert plugin.reports.totals().calls == len(run.requests)


async def test_of_two_plugins_the_first_does_the_work():
    """`adk web --extra_plugins` beside the app's own plugin reports nothing twice, and says what to remove."""
    first, second = ContextPackPlugin(), ContextPackPlugin("extra")
    with pytest.warns(ContextPackWarning, match="extra does nothing, since context_pack is a ContextPackPlugin"):
        run = await run_agent(team(), "How many?", plugins=[first, second])
    assert len(first.reports) == len(run.requests)
    assert [*second.reports, *second.result_reports] == []
    totals = [event.custom_metadata["adk_context_pack"] for event in run.events if event.custom_metadata]
    assert [each["tokens_without_pack"] for each in totals] == [each.tokens_without_pack for each in first.reports]


@pytest.mark.parametrize(("logs", "cost", "most_calls"), [((LOG[:33_000],) * 4, 1.1, 7), ((LOG,) * 3, 2.5, 10)])
async def test_who_reads_on_gets_more_and_later_all(logs, cost, most_calls):
    """Reading four logs whole takes two calls more and costs a tenth more. In a window too small for all it ends."""

    def read_logs(number: int) -> str:
        """Reads a log."""
        return logs[number]

    def answer(request):
        seen, pages = results_in(request, "read_logs"), results_in(request, "read_back")
        handle = str(seen and seen[-1].response).partition("handle='")[2][:11]
        begun = results_in(request)[-1].name == "read_back" if seen else False
        if handle and (not begun or pages[-1].response["next_offset"]):
            return call("read_back", handle=handle, **({"offset": pages[-1].response["next_offset"]} if begun else {}))
        return call("read_logs", number=len(seen)) if len(seen) < len(logs) else "Done."

    agent = LlmAgent(name="reader", model=ScriptedModel(answer=answer), tools=[read_logs])
    ours, none = [await run_agent(agent, "go", plugins=each) for each in ([ContextPackPlugin()], [])]
    sent, whole = (sum(len(text_of(request)) for request in run.requests) for run in (ours, none))
    assert len(ours.requests) <= most_calls
    assert sent <= cost * whole


@pytest.mark.parametrize(("words", "shortened"), [(16_000, [True, False, False, False]), (1_230, [False] * 4)])
async def test_texts_that_are_searched_each_time_stay_whole_where_that_is_cheaper(words, shortened):
    """With long instructions a search costs more than the text, and declaring `read_back` late more than a stub."""

    def answer(request):
        seen = results_in(request, "read_log")
        handle = str(seen and seen[-1].response).partition("handle='")[2][:11]
        if handle and results_in(request)[-1].name != "read_back":
            return call("read_back", handle=handle, search="line 77")
        return call("read_log", number=len(seen)) if len(seen) < 4 else "Done."

    def read_log(number: int) -> str:
        """Reads a log."""
        return f"{number}\n{LOG[:9_000]}"

    instruction = "Be brief. " * words
    agent = LlmAgent(name="reader", model=ScriptedModel(answer=answer), tools=[read_log], instruction=instruction)
    run = await run_agent(agent, "go", plugins=[ContextPackPlugin()])
    assert ["handle=" in str(each.response) for each in results_in(run.requests[-1], "read_log")] == shortened


ONE_PRICE = {"prices": Prices(input=1, cached=1)}


@pytest.mark.parametrize(("words", "settings", "early"), [
    (9, {}, ""), (9, {"read_back": "early"}, "ab"), (9_000, {}, "ab"), (900, {}, "b"), (9_000, ONE_PRICE, ""),
])  # fmt: skip
async def test_read_back_is_there_when_a_stub_names_it(words, settings, early):
    """It is declared with the first result that it opens, or from the first request on if the prefix is long.

    The second session of an agent that needed it in the first has it early even if that is shorter.
    """
    plugin = ContextPackPlugin(**settings)
    for session in "ab":
        run = await run_agent(analyst(instruction="Sum. " * words), "go", plugins=[plugin], session_id=session)
        first, second, *_ = run.requests
        assert first.tool_names == ["list_sales", "read_back"][: 1 + (session in early)]
        assert second.tool_names == ["list_sales", "read_back"]
        assert "read_back" in str(results_in(second)[0].response["_note"])


async def test_a_session_goes_on_as_it_began():
    """The process that goes on with it may know other sessions of the agent, and declares what was declared before."""
    fresh, wise = ContextPackPlugin(), ContextPackPlugin()
    await run_agent(analyst(instruction="Sum. " * 900), "go", plugins=[wise], session_id="known")
    agent = LlmAgent(name="analyst", model=ScriptedModel(), tools=[list_sales], instruction="Sum. " * 900)
    for first, second in ((fresh, wise), (wise, fresh)):
        begun = await run_agent(agent, "hi", plugins=[first])
        gone_on = await run_agent(agent, "hi", plugins=[second], session_service=begun.session_service)
        names = [request.tool_names for run in (begun, gone_on) for request in run.requests]
        assert names == [["list_sales", "read_back"][: 1 + (first is wise)]] * 2


async def test_a_long_text_gives_way_to_a_preview_that_can_be_read():
    """A log that is no table is kept whole under a handle, and read_back finds its one odd line."""

    def answer(request):
        if not results_in(request):
            return call("read_log")
        if found := results_in(request, "read_back"):
            return str(found[0].response)
        handle = results_in(request)[0].response["result"].partition("handle='")[2][:11]
        return call("read_back", handle=handle, search="needle")

    agent = LlmAgent(name="reader", model=ScriptedModel(answer=answer), tools=[read_log])
    run = await run_agent(agent, "go", plugins=[ContextPackPlugin()])
    assert "needle 4711" in run.answer
    assert len(text_of(run.requests[1])) < len(LOG) / 10


async def test_a_small_app_is_sent_what_it_would_be_sent_without():
    """Short prose and small results: requests are the same with and without the plugin."""

    def small() -> dict:
        """Gives little."""
        return {"rows": [1, 2, 3], "status": "ok"}

    def agent():
        answer = lambda request: "done" if results_in(request) else call("small", "id1")  # noqa: E731
        return LlmAgent(name="a", model=ScriptedModel(answer=answer), instruction="Be short.", tools=[small])

    bare = await run_agent(agent(), "one", "two")
    packed = await run_agent(agent(), "one", "two", plugins=[ContextPackPlugin()])
    assert [request.contents for request in packed.requests] == [request.contents for request in bare.requests]
    assert [request.tool_names for request in packed.requests] == [request.tool_names for request in bare.requests]


async def test_history_stays_within_the_window_and_can_be_searched():
    """Requests keep the budget while the session outgrows it; read_back is offered and finds the first turn."""

    def answer(request):
        if "find" not in request.contents[-1].parts[0].model_dump_json(exclude_none=True):
            return f"noted {len(request.contents)} " + "and so on " * 300
        return call("read_back", search="zebra")

    agent = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[list_sales])
    plugin = ContextPackPlugin(max_tokens=4000)
    messages = ["the word is zebra", *[f"go on {number}" for number in range(9)], "find it"]
    run = await run_agent(agent, *messages[:-1], plugins=[plugin])
    assert all(report.tokens_after <= 4000 for report in plugin.reports)
    assert "zebra" not in text_of(run.requests[-1])
    assert "read_back" in run.requests[-1].tool_names
    assert "read_back" in text_of(run.requests[-1])
    assert plugin.reports[-1].tokens_before > 4000


async def test_cleared_results_can_be_found_again():
    """The request that first has notes in place of results is the first that declares the tool that they name."""

    def answer(request):
        return "done" if request.contents[-1].parts[0].function_response else call("medium")

    def medium() -> dict:
        """Gives a medium result."""
        return {"text": "word " * 1000}

    agent = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[medium])
    run = await run_agent(agent, *"abcdef", plugins=[ContextPackPlugin(payloads=None)])
    shown = [["left_out" in each.response for each in results_in(request)] for request in run.requests]
    assert [any(each) for each in shown] == ["read_back" in request.tool_names for request in run.requests]
    assert not any(shown[0])
    assert shown[-1][:2] == [True, True]


async def test_everything_can_be_replaced():
    """Passes, caps, previews, read-back and store are settings; None or an empty list switches a part off."""
    plain = await run_agent(team(reads=False), "go", plugins=[ContextPackPlugin(passes=[], rows=None, payloads=None)])
    assert len(results_in(plain.requests_of("analyst")[-1])[0].response["rows"]) == len(ROWS)
    assert "For context" in text_of(plain.requests_of("writer")[0])
    plugin = ContextPackPlugin(
        passes=[StripForContext()], rows=CapRows(max_rows=3, facts=False), read_back=False, store="artifacts"
    )
    run = await run_agent(team(reads=False), "go", plugins=[plugin])
    shown = results_in(run.requests_of("analyst")[-1])[0].response
    assert len(shown["rows"]) == 3
    assert run.requests_of("analyst")[-1].tool_names == ["list_sales"]
    assert "read_back" not in str(shown)
    assert run.session.state[f"rows:list_sales:{shown['_handle']}"]["store"] == "ADK artifact"
    assert [each.name for each in plugin.reports[-1].passes] == ["strip_for_context"]


async def test_single_agents_have_settings_of_their_own_or_are_left_alone():
    """One agent with PackSettings, one with None, the others with the plugin's."""
    agents = {"analyst": PackSettings(rows=CapRows(stub_rows=7), passes=[]), "writer": None}
    plugin = ContextPackPlugin(agents=agents)
    run = await run_agent(team(reads=False), "go", plugins=[plugin])
    assert len(results_in(run.requests_of("analyst")[-1])[0].response["rows"]) == 7
    assert {report.agent for report in plugin.reports} == {"analyst"}
    assert "For context" in text_of(run.requests_of("writer")[0])
    assert plugin.settings_for("else").passes is None


class Watching(BasePlugin):
    """Another plugin, which counts what it is shown."""

    def __init__(self, name):
        super().__init__(name=name)
        self.seen = []

    async def before_model_callback(self, *, callback_context, llm_request):
        self.seen.append("before_model")

    async def after_model_callback(self, *, callback_context, llm_response):
        self.seen.append("after_model")

    async def after_tool_callback(self, *, tool, tool_args, tool_context, result):
        self.seen.append("after_tool")

    async def on_event_callback(self, *, invocation_context, event):
        self.seen.append("on_event")


async def test_callbacks_of_agents_and_other_plugins_still_run_and_stay_in_force():
    """Each of them is called as often as without the plugin; what an agent's own callbacks return is what counts."""
    seen = []

    def before_model(callback_context, llm_request):
        seen.append("before_model")

    def after_model(callback_context, llm_response):
        seen.append("after_model")
        if llm_response.content.parts[0].text:
            return LlmResponse(content=types.Content(role="model", parts=[types.Part(text="mine")]))
        return None

    def after_tool(tool, args, tool_context, tool_response):
        seen.append(len(tool_response["rows"]))
        return {"rows": tool_response["rows"], "seen_by": "me"}

    async def run_with(*plugins):
        seen.clear()
        callbacks = {
            "before_model_callback": before_model,
            "after_model_callback": after_model,
            "after_tool_callback": after_tool,
        }
        return await run_agent(analyst(reads=False, **callbacks), "go", plugins=plugins), list(seen)

    _, alone = await run_with()
    first, last = Watching("first"), Watching("last")
    run, packed = await run_with(first, ContextPackPlugin(), last)
    if not await stores_late():
        alone = [3 if entry == len(ROWS) else entry for entry in alone]
    assert packed == alone
    assert first.seen == last.seen
    assert set(first.seen) == {"before_model", "after_model", "after_tool", "on_event"}
    response = results_in(run.requests[-1])[0].response
    assert response["seen_by"] == "me"
    assert len(response["rows"]) <= 100
    assert run.answer == "mine"


async def test_another_plugin_may_answer_in_the_models_stead():
    """A plugin that returns a response, before or behind ours, has its way."""

    class Answering(BasePlugin):
        async def before_model_callback(self, *, callback_context, llm_request):
            return LlmResponse(content=types.Content(role="model", parts=[types.Part(text="from the cache")]))

    for plugins in ([Answering(name="a"), ContextPackPlugin()], [ContextPackPlugin(), Answering(name="a")]):
        assert (await run_agent(analyst(), "go", plugins=plugins)).answer == "from the cache"


async def test_trouble_of_the_plugins_own_is_logged_and_passes(monkeypatch, caplog):
    """Whatever breaks in a callback, requests and events go on as they are."""

    def broken(*_, **__):
        raise KeyError("payload 4711")

    plugin = ContextPackPlugin()
    monkeypatch.setattr(plugin, "settings_for", broken)
    with caplog.at_level(logging.ERROR, logger="adk_context_pack"):
        run = await run_agent(analyst(), "go", plugins=[plugin])
    assert run.answer == "I see 1000 rows."
    assert {"a request goes out as it is", "an event is stored as it is"} == {r.message for r in caplog.records}


class FakeLive(BaseLlmConnection):
    """A live connection that calls the tool and then ends the turn."""

    def __init__(self, seen):
        self.seen = seen

    async def send_history(self, history):
        self.seen.extend(history)

    async def send_content(self, content):
        self.seen.append(content)

    async def _send_content(self, content, **_):
        self.seen.append(content)

    async def send_realtime(self, blob):
        pass

    async def receive(self):
        part = types.Part(function_call=types.FunctionCall(name="read_log", id="live-1", args={}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))
        await asyncio.sleep(0.05)
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="done")]), turn_complete=True)
        await asyncio.sleep(30)

    async def close(self):
        pass


class LiveModel(ScriptedModel):
    """A model that can be talked to live."""

    seen: ClassVar[list] = []

    @asynccontextmanager
    async def connect(self, llm_request):
        yield FakeLive(self.seen)


@pytest.mark.filterwarnings("ignore")
async def test_in_live_mode_it_stands_aside_and_says_so_once(caplog):
    """A live run's results are whole, nothing is reported, and one line in the log says why."""
    plugin = ContextPackPlugin()
    agent = LlmAgent(name="a", model=LiveModel(), tools=[read_log])
    runner = InMemoryRunner(app=make_app(agent, plugins=[plugin]))
    await runner.session_service.create_session(app_name="app", user_id="u", session_id="s")
    queue = LiveRequestQueue()
    queue.send_content(types.Content(role="user", parts=[types.Part(text="go")]))
    responses = []
    with caplog.at_level(logging.INFO, logger="adk_context_pack"):
        stream = runner.run_live(
            user_id="u", session_id="s", live_request_queue=queue, run_config=RunConfig(response_modalities=["TEXT"])
        )
        async for event in stream:
            responses += event.get_function_responses()
            if event.turn_complete:
                queue.close()
                break
        await stream.aclose()
    assert [response.response for response in responses] == [{"result": LOG}]
    assert len(plugin.reports) == 0
    assert sum("live mode" in record.message for record in caplog.records) == 1


async def test_a_failure_while_results_are_made_smaller_leaves_them_whole(monkeypatch, caplog):
    """Whichever way a release lets results be made smaller, a failure in it leaves the result, and is logged."""

    async def broken(*_, **__):
        raise RuntimeError("broken reducer")

    monkeypatch.setattr(ResultReducer, "_reduced", broken)
    run = await run_agent(analyst(), "go", plugins=[ContextPackPlugin()])
    shown = results_in(run.requests[-1])[0].response["rows"]
    assert shown["csv"].splitlines()[1:] == [",".join(map(str, row.values())) for row in ROWS]
    assert "broken reducer" in caplog.text

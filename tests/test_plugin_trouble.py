"""ContextPackPlugin in trouble: nothing of ours ends a run, and in live mode it stands aside."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.agents.run_config import RunConfig
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from adk_context_pack import ContextPackPlugin, ContextPass
from adk_context_pack.tools.result_reducer import ResultReducer
from tests.support.plugin_apps import LOG, ROWS, analyst, list_sales, read_log
from tests.support.run import make_app, run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in


@dataclass(frozen=True, kw_only=True)
class Failing(ContextPass):
    """A pass that fails on every request."""

    def apply(self, request, call):
        raise RuntimeError("broken pass")


async def test_a_pass_that_is_told_to_raise_is_heard():
    """`on_error="raise"` is for somebody who wants to see the exception."""
    with pytest.raises(RuntimeError, match="broken pass"):
        await run_agent(analyst(), "go", plugins=[ContextPackPlugin(passes=[Failing(on_error="raise")])])


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


async def test_a_model_error_between_two_calls_ends_the_run_as_it_would_without():
    """The provider's exception reaches the caller unchanged."""
    answers = iter([call("list_sales"), ConnectionError("away")])
    agent = LlmAgent(name="a", model=ScriptedModel(answer=lambda request: next(answers)), tools=[list_sales])
    with pytest.raises(ConnectionError, match="away"):
        await run_agent(agent, "go", plugins=[ContextPackPlugin()])


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

    for name in ("reduce", "reduce_event"):
        monkeypatch.setattr(ResultReducer, name, broken)
    run = await run_agent(analyst(), "go", plugins=[ContextPackPlugin()])
    assert results_in(run.requests[-1])[0].response == {"rows": ROWS}
    assert "broken reducer" in caplog.text

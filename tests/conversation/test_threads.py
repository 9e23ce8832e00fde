"""Runs that share a session at the same time do not disturb each other."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from adk_context_pack import ContextPackPlugin, ContextPipeline, ModelCall
from adk_context_pack.passes.pipeline import leave_history
from tests.support.scripted_model import ScriptedModel, call

THREADS, MESSAGES = 8, 6
pytestmark = pytest.mark.usefixtures("switch_often")
KEY = {"app_name": "app", "user_id": "user", "session_id": "shared"}


class Recorder(BasePlugin):
    """Keeps each request as ADK built it, with the session's events at that time."""

    def __init__(self) -> None:
        super().__init__(name="recorder")
        self.requests: list[tuple[Any, ...]] = []

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        tools = {"config": llm_request.config.model_copy(deep=True), "tools_dict": dict(llm_request.tools_dict)}
        request = llm_request.model_copy(update={"contents": list(llm_request.contents), **tools})
        call = ModelCall.of(callback_context)
        events = list(call.events)
        self.requests.append((llm_request, request, call.agent_name, events, call.user_content))


def agent(name: str) -> LlmAgent:
    def look_up(city: str) -> dict:
        """Looks a city up."""
        return {"city": city, "notes": f"notes on {city} " * 60}

    def answer(request: Any) -> Any:
        last = request.contents[-1].parts[-1]
        return "Done." if last.function_response else call("look_up", city=str(last.text)[-12:])

    return LlmAgent(name=name, model=ScriptedModel(answer=answer), tools=[look_up])


def app_of(root: Any) -> tuple[Runner, Recorder, ContextPackPlugin, InMemorySessionService]:
    recorder, plugin, service = Recorder(), ContextPackPlugin(max_tokens=3_000), InMemorySessionService()
    app = App(name="app", root_agent=root, plugins=[recorder, plugin])
    return Runner(app=app, session_service=service), recorder, plugin, service


def assert_as_alone(recorder: Recorder, caplog: pytest.LogCaptureFixture) -> None:
    """Each request is what the same passes make of it in a process that has seen nothing else."""
    assert not [record for record in caplog.records if record.exc_info]
    plugin = ContextPackPlugin(max_tokens=3_000)
    for sent, built, name, events, message in recorder.requests:
        call = ModelCall(agent_name=name, events=events, user_content=message)
        settings = plugin.settings_for(name)
        passes = settings.passes_within(3_000, None)
        leave_history(passes, built, call)
        request = built.model_copy(update={"config": sent.config, "tools_dict": sent.tools_dict})
        alone, _ = ContextPipeline(passes).run(request, call)
        assert dumped(sent.contents) == dumped(alone.contents)


def dumped(contents: Any) -> list[Any]:
    return [content.model_dump(exclude_none=True) for content in contents]


@pytest.mark.slow
def test_eight_threads_on_one_session(caplog: pytest.LogCaptureFixture) -> None:
    """The synchronous runner in eight threads sends the requests that a process with nothing cached sends."""
    caplog.set_level(logging.ERROR, logger="adk_context_pack")
    runner, recorder, plugin, service = app_of(agent("worker"))
    asyncio.run(service.create_session(**KEY))

    def talk(number: int) -> None:
        for turn in range(MESSAGES):
            said = types.Content(role="user", parts=[types.Part(text=f"What of city {number}-{turn}?")])
            list(runner.run(user_id="user", session_id="shared", new_message=said))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(talk, range(THREADS)))
    assert len(recorder.requests) >= THREADS * MESSAGES
    assert len(plugin.reports) == len(recorder.requests)
    assert_as_alone(recorder, caplog)

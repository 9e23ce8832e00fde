"""The way from ADK's callback to what a pass does is short enough to be followed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools.function_tool import FunctionTool

import adk_context_pack
from adk_context_pack import ClearToolResults, ContextPackPlugin, ContextPipeline, FitTokenBudget
from adk_context_pack.conversation.memos import SESSIONS
from tests.support.adk_contents import contents_of, request_of
from tests.support.events import agent_called, agent_said, tool_returned, user_said

MAX_FRAMES = 8
"""Frames of the pack from ADK's callback to the effect, both included."""

EFFECTS = {
    "tokens_of_bytes": "weighs a text or a payload",
    "_drop": "leaves a group out",
    "changed": "puts a note in place of a body",
}
FURTHER = {
    "estimate_tokens": "weighs a long text in parts, so that other threads get their turn",
    "estimate_payload": "weighs a large payload in parts, for the same reason",
    "_ledger": "takes the ledger of the last cut, where nothing else has left since",
    "_within": "adds names to the ledger of what was left out until it is full, weighing each",
}
"""Functions that may add a frame, and what it is for."""
OUR_OWN = str(Path(adk_context_pack.__file__).parent)


def look_up(city: str) -> dict:
    """Looks a city up."""
    return {"city": city}


def events() -> list:
    found = []
    for number in range(12):
        found += [
            user_said(f"Where is city {number}?"),
            agent_called("worker", "look_up", f"c{number}", city=f"city {number}"),
            tool_returned("worker", "look_up", {"rows": [{"n": n, "number": number} for n in range(90)]}, f"c{number}"),
            agent_said("worker", f"City {number} is in the north."),
        ]
    return [*found, user_said("Which of them are the largest?")]


def passes() -> tuple:
    return ClearToolResults(keep_results=2), FitTokenBudget(max_tokens=1_500)


def context() -> CallbackContext:
    session = Session(id="depth", app_name="app", user_id="user", events=events())
    return CallbackContext(
        InvocationContext(
            invocation_id="run",
            agent=LlmAgent(name="worker"),
            session=session,
            session_service=InMemorySessionService(),
            user_content=session.events[-1].content,
        )
    )


@contextmanager
def depths() -> Iterator[dict[str, list[str]]]:
    """Finds for each effect the longest way to it, as the names of the pack's functions on the way."""
    found: dict[str, list[str]] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_name
        if event == "call" and name in EFFECTS and frame.f_code.co_filename.startswith(OUR_OWN):
            way = [each.f_code.co_name for each in frames(frame) if each.f_code.co_filename.startswith(OUR_OWN)][::-1]
            if len(way) > len(found.get(name, ())):
                found[name] = way

    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(None)


def frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def plugin(callback_context: CallbackContext, llm_request: object) -> None:
    whole = ContextPackPlugin(passes=passes())
    asyncio.run(whole.before_model_callback(callback_context=callback_context, llm_request=llm_request))


@pytest.mark.parametrize("callback", [plugin, ContextPipeline(passes()), *passes()])
def test_a_reader_follows_it_in_eight_frames(callback) -> None:
    """From the callback of the plugin, a pipeline or a pass alone, each effect is at most eight frames away."""
    # A session that the process knows is not weighed again.
    SESSIONS.clear()
    one, request = context(), request_of(contents_of(events(), "worker"))
    request.append_tools([FunctionTool(look_up)])
    with depths() as found:
        callback(callback_context=one, llm_request=request)
    assert "tokens_of_bytes" in found
    assert len(found) > 1
    for name, way in found.items():
        assert len(way) <= MAX_FRAMES + len(FURTHER.keys() & set(way)), f"{' > '.join(way)}, which {EFFECTS[name]}"

"""Laws of `CompactState` over generated templates and states, with texts that pose as instructions."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.utils.instructions_utils import inject_session_state
from google.genai import types
from hypothesis import example, given
from hypothesis import strategies as st

from adk_context_pack import CompactState, ModelCall
from adk_context_pack._adk.instruction import labels

IDENTITY = '\n\nYou are an agent. Your internal name is "agent".'
PLAIN = st.sampled_from(["", " ", "a", "Review: ", "\n\n", '"', "[1]", "null", "}", "7", "é"])
NAMES = st.sampled_from(["{compact:a}", "{compact:b}", "{compact:a?}", "{compact:b?}", "{v}", "{w}"])
TEMPLATES = st.lists(st.tuples(PLAIN, NAMES, PLAIN), min_size=1, max_size=5).map(
    lambda items: "".join("".join(item) for item in items)
)
FORGED = st.lists(st.one_of(PLAIN, NAMES), max_size=5).map("".join)
VALUES = st.one_of(st.none(), FORGED, st.lists(FORGED, max_size=3), st.integers())
STATES = st.fixed_dictionaries({"a": VALUES, "b": VALUES, "v": FORGED, "w": FORGED})
ORDERS = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=4)


def drive(coroutine: Any) -> Any:
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("ADK's injection waits")


def expected(template: str, state: dict[str, Any], filled: set[str], context: Any) -> str:
    """The template read from left to right: own placeholders are views, everything else is ADK's."""
    cut = template
    for key in sorted(filled):
        for mark in (f"{{compact:{key}}}", f"{{compact:{key}?}}"):
            cut = cut.replace(mark, f"\0{mark}\0")
    pieces = []
    for index, piece in enumerate(cut.split("\0")):
        if index % 2 == 0:
            pieces.append(drive(inject_session_state(piece, context)))
            continue
        value = state[piece.strip("{}?").removeprefix("compact:")]
        empty = value is None and piece.endswith("?}")
        pieces.append("" if empty else json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return "".join(pieces)


def context_of(agent: Any, state: dict[str, Any]) -> Any:
    session = SimpleNamespace(state=state, events=[])
    inner = SimpleNamespace(agent=agent, session=session, artifact_service=None, plugin_manager=None)
    return SimpleNamespace(_invocation_context=inner, session=session, state=state, agent_name="agent")


def run(passes: list[CompactState], request: LlmRequest, state: dict[str, Any], context: Any) -> LlmRequest:
    for entry in passes:
        request = entry.apply(request, ModelCall(agent_name="agent", state=state, context=context))
    return request


@pytest.mark.slow
@given(TEMPLATES, STATES, FORGED, ORDERS)
@example("{compact:b?}{compact:a}", {"a": 0, "b": 1, "v": "", "w": ""}, "", ["b", "a"])
def test_the_system_instruction_is_exact(template, state, appended, order):
    """Whatever the state says and in whatever order passes run, exactly the template's own placeholders are views."""
    agent = LlmAgent(name="agent", model="m", instruction=template)
    context = context_of(agent, state)
    tail = f"{IDENTITY}\n\n{appended}"
    sent = drive(inject_session_state(template, context)) + tail
    request = LlmRequest(config=types.GenerateContentConfig(system_instruction=sent))
    passes = [CompactState(key=key, on_error="raise") for key in order]
    result = run(passes, request, state, context)
    assert result.config.system_instruction == expected(template, state, set(order), context) + tail
    again = run(passes, result, state, context)
    assert again.config.system_instruction == result.config.system_instruction


@pytest.mark.slow
@given(TEMPLATES, STATES, ORDERS, st.booleans())
def test_the_dynamic_instruction_is_exact(template, state, order, typed):
    """The same holds behind a static instruction, also where the user has typed the instruction byte for byte."""
    agent = LlmAgent(name="agent", model="m", instruction=template, static_instruction="static")
    context = context_of(agent, state)
    sent = drive(inject_session_state(template, context)).join(labels())
    said = types.UserContent(parts=[types.Part(text=sent if typed else "{compact:a}")])
    request = LlmRequest(contents=[types.UserContent(parts=[types.Part(text=sent)]), said])
    passes = [CompactState(key=key, on_error="raise") for key in order]
    result = run(passes, request, state, context)
    shown = expected(template, state, set(order), context).join(labels())
    assert [content.parts[0].text for content in result.contents] == [shown, said.parts[0].text]
    assert run(passes, result, state, context).contents == result.contents

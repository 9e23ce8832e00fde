"""What is kept of sessions weighs what it states, and stays within its bound."""

from __future__ import annotations

import copy
import gc
import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.genai import types

from adk_context_pack import ContextPipeline, ModelCall, default_passes
from adk_context_pack.conversation.model_call import bytes_of, lent
from adk_context_pack.stores.byte_cache import ByteCache
from tests.benchmarks.workload import session as events_of
from tests.support.adk_contents import contents_of, request_of
from tests.support.events import agent_said, event, user_said

MB = 2**20


def tools(size: int) -> list[Event]:
    return list(events_of(size))


def talk(size: int) -> list[Event]:
    return [(user_said, agent_said)[n % 2](*(("worker",) * (n % 2)), f"Text {n} " * 40) for n in range(size)]


def parallel(size: int) -> list[Event]:
    found = []
    for number in range(size // 3):
        ids = [f"{number}-{each}" for each in range(6)]
        calls = [types.Part(function_call=types.FunctionCall(id=i, name="look", args={"n": i})) for i in ids]
        answers = [
            types.Part(function_response=types.FunctionResponse(id=i, name="look", response={"n": i})) for i in ids
        ]
        found += [user_said(f"Question {number}"), event("worker", *calls), event("worker", *answers)]
    return found


def use(cache: ByteCache, name: str, events: list[Event], agent: str = "worker", budget: int = 20_000) -> None:
    """One model call of a session in a run of its own."""
    loaded = copy.deepcopy(events)
    held = Session(id=name, app_name="app", user_id="user")
    with lent(ModelCall(agent_name=agent, session_id=name, events=loaded), held, cache) as call:
        ContextPipeline(default_passes(max_tokens=budget)).run(request_of(contents_of(loaded, agent)), call)


def taken_by(sessions: int, cache: ByteCache, *used: Any) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(sessions):
            use(cache, str(number), *used)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("build", [tools, talk, parallel])
@pytest.mark.parametrize("agent", ["worker", "writer"])
def test_a_session_weighs_what_it_states(build: Callable[[int], list[Event]], agent: str) -> None:
    """The weight of a session's memo is near what Python allocates for it, rather above than below."""
    events = build(400)
    cache = ByteCache(max_bytes=64 * MB)
    use(ByteCache(max_bytes=MB), "warm", events, agent)
    taken = taken_by(3, cache, events, agent)
    assert taken * 0.85 < cache.kept_bytes < taken * 1.7, (cache.kept_bytes, taken)


@pytest.mark.slow
def test_the_bound_holds_for_sessions_that_call_once() -> None:
    """Sessions that call once and never again take no more memory than the bound, however many they are."""
    cache, events = ByteCache(max_bytes=4 * MB), tools(200)
    use(cache, "warm", events)
    taken = taken_by(24, cache, events)
    assert cache.kept_bytes <= 4 * MB
    assert taken <= 5 * MB
    assert len(cache.sessions("app", "user")) > 2


def test_what_a_pass_of_the_users_own_keeps_is_weighed_as_it_says() -> None:
    """An object weighs what its `bytes` say, or itself alone, and a list that holds itself counts once."""
    ring: list[Any] = []
    ring.append(ring)
    memo = {"ring": ring, "own": SimpleNamespace(text="x" * 10**6), "says": SimpleNamespace(bytes=5_000)}
    assert 5_000 < bytes_of(memo) < 6_000

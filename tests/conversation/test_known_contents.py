"""What is kept from one model call of a run to the next changes no result."""

from __future__ import annotations

import copy
import gc
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack import (
    ClearToolResults,
    ContextPipeline,
    DropOldThoughts,
    FitTokenBudget,
    KeepNewestResult,
    ModelCall,
    default_passes,
)
from adk_context_pack.conversation.contents import ContentHashes, KnownContents, known_contents, read_events, shortened
from adk_context_pack.conversation.model_call import RunMemos
from adk_context_pack.conversation.outline import outline_of
from tests.support.adk_contents import contents_of, request_of
from tests.support.conversation import Conversation
from tests.support.conversations import conversations
from tests.support.events import agent_called, agent_said, tool_returned, user_said
from tests.support.requests import call_for, request_for

ORDERS = (
    default_passes(max_tokens=600),
    (ClearToolResults(keep_results=0, min_tokens=1, clear_args=True), FitTokenBudget(max_tokens=300, cut_to=0.8)),
    (KeepNewestResult(min_tokens=1), DropOldThoughts(), ClearToolResults(keep_results=1, min_tokens=1)),
)


def said(number: int, text: str) -> types.Content:
    return types.Content(role=("user", "model")[number % 2], parts=[types.Part(text=text)])


@pytest.mark.parametrize("few", [0, 1, 3, 90])
def test_what_a_cut_left_has_the_hashes_of_the_list_before(few: int) -> None:
    """A shorter list has the hash of each content, whether few or many were put before those that stayed."""
    before = [said(number, f"text {number}") for number in range(300)]
    added = [said(number, f"new {number}") for number in range(few)]
    after = [*added, *before[::3][:few], *before[200:]]
    call = ModelCall(agent_name="worker")
    known_contents(call, before)
    assert known_contents(call, after).hashes == list(map(ContentHashes().of, after))


def result_of(conversation: Conversation, pipeline: ContextPipeline, known: dict[str, Any] | None) -> Any:
    call = replace(conversation.call(), **(known or {"run_memo": {}, "session_memo": {}}))
    sent, report = pipeline.run(conversation.request(), call)
    dumped = [content.model_dump(exclude_none=True) for content in sent.contents]
    return dumped, report.categories_before, report.categories, report.tokens_before, report.tokens_after


@pytest.mark.slow
@given(
    conversation=conversations(max_turns=4), order=st.sampled_from(ORDERS), shuffle=st.randoms(use_true_random=False)
)
def test_a_call_gives_what_it_would_give_alone(conversation: Conversation, order: Any, shuffle: Any) -> None:
    """With what earlier calls found out, in the run or before, requests and reports are the same, in any order."""
    moments = list(conversation.moments())[-8:]
    alone = [result_of(moment, ContextPipeline(order), None) for moment in moments]
    known: dict[str, Any] = {"run_memo": {}, "session_memo": {}}
    pipeline = ContextPipeline(order)
    assert [result_of(moment, pipeline, known) for moment in moments] == alone
    known["run_memo"] = {}
    # Another run: the service gives copies of all events.
    loaded = [replace(moment, events=copy.deepcopy(moment.events)) for moment in moments]
    assert [result_of(moment, pipeline, known) for moment in loaded] == alone
    again = list(range(len(moments)))
    shuffle.shuffle(again)
    assert [result_of(moments[index], pipeline, known) for index in again] == [alone[index] for index in again]


def test_a_list_that_grew_in_place_is_met_again() -> None:
    """A callback between two passes may add to the very list that was met before."""
    call, contents = ModelCall(), [said(0, "one")]
    assert new_to(known_contents(call, contents)) == 1
    contents.append(said(1, "two"))
    assert new_to(known_contents(call, contents)) == 2


def test_nothing_said_is_held_beyond_a_run() -> None:
    """What is kept for the next run are hashes, counts and notes; no whole text or payload can be reached from it."""
    secret = "the secret " * 200
    events = [
        user_said(secret),
        agent_called("worker", "look", "c1", where=secret),
        tool_returned("worker", "look", {"rows": [{"a": secret}] * 9}, "c1"),
        agent_said("worker", secret),
        user_said("And now?"),
    ]
    session_memo: dict[Any, Any] = {}
    call = ModelCall(agent_name="worker", events=events, session_memo=session_memo)
    passes = (ClearToolResults(keep_results=0, min_tokens=1), FitTokenBudget(max_tokens=2000))
    ContextPipeline(passes).run(request_of(contents_of(events, "worker")), call)
    assert session_memo
    found, left = set(), [session_memo]
    while left:
        one = left.pop()
        if id(one) not in found and not isinstance(one, type | FunctionType | ModuleType):
            found.add(id(one))
            assert not isinstance(one, str) or "secret" not in one
            left += gc.get_referents(one)


def new_to(known: KnownContents) -> int:
    taken = []
    known.cache.grow("count", list, known.contents, lambda _, new: taken.extend(new))
    return len(taken)


def names(call: ModelCall, read: list[Event]) -> list[str]:
    def take(found: list[str], new: Sequence[Event]) -> None:
        read.extend(new)
        found.extend(event.content.parts[0].text for event in new)

    return list(read_events(call, "names", list, take))


def test_copies_of_the_same_events_are_the_same_past() -> None:
    """The next run has copies of all events, which need not be read again, save where events are held."""
    events, memo = [user_said("one"), user_said("two")], {}
    copies = copy.deepcopy(events)
    for holds in (False, True):
        found = []
        for past in (events, copies):
            call = ModelCall(events=past, session_memo=memo)
            found.append(read_events(call, "all", list, list.extend, holds_events=holds))
        assert (found[1][0] is copies[0]) == holds
        assert len(found[1]) == 2


def test_another_session_is_read_anew() -> None:
    """Other events, fewer of them, a window over them, or events without an id are another past."""
    memo: dict[object, object] = {}
    first = [user_said("one"), user_said("two")]
    assert names(ModelCall(events=first, session_memo=memo), []) == ["one", "two"]
    assert names(ModelCall(events=first[:1], session_memo=memo), []) == ["one"]
    assert names(ModelCall(events=[user_said("1"), user_said("2")], session_memo=memo), []) == ["1", "2"]
    assert names(ModelCall(events=[], session_memo=memo), []) == []
    unnamed = [user_said("one")]
    unnamed[0].id = ""
    assert names(ModelCall(events=unnamed, session_memo=memo), []) == ["one"]
    unnamed[0].content.parts[0].text = "other"
    assert names(ModelCall(events=unnamed, session_memo=memo), []) == ["other"]
    five = [user_said(str(number)) for number in range(5)]
    assert names(ModelCall(events=five[:4], session_memo=memo), []) == ["0", "1", "2", "3"]
    assert names(ModelCall(events=five[1:], session_memo=memo), []) == ["1", "2", "3", "4"]


async def test_a_run_is_forgotten_with_its_session() -> None:
    """Calls of a run share a memo, another run has another one, and it goes when ADK lets go of the session object."""
    memos = RunMemos()
    service = InMemorySessionService()
    made = await service.create_session(app_name="app", user_id="user")
    first = await service.get_session(app_name="app", user_id="user", session_id=made.id)
    second = await service.get_session(app_name="app", user_id="user", session_id=made.id)
    use(memos, first)["call"] = 1
    assert use(memos, first) == {"call": 1}
    assert use(memos, second) == {}
    assert len(memos._kept) == 2
    del first, second
    gc.collect()
    assert not memos._kept


def use(memos: RunMemos, one: Session) -> dict:
    with memos.lent(one) as memo:
        return memo


def test_contents_whose_results_are_shorter_share_an_outline():
    """Speakers, turns and calls of contents that differ in results alone are told once."""
    events = [user_said("Q"), agent_called("a", "read", "c1"), tool_returned("a", "read", {"rows": [1, 2]}, "c1")]
    request, call = request_for("a", events), call_for("a", events)
    shorter = shortened(request, list(request.contents), call, KeepNewestResult())
    assert outline_of(call, shorter.contents) is outline_of(call, request.contents)

"""What is kept from one model call of a run to the next changes no result."""

from __future__ import annotations

import copy
import gc
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

import pytest
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
from adk_context_pack.conversation.known_contents import ContentHashes, KnownContents, known_contents
from adk_context_pack.conversation.memos import GrowingCache
from tests.support.adk_contents import contents_of, request_of
from tests.support.conversation import Conversation
from tests.support.conversations import conversations
from tests.support.events import agent_called, agent_said, tool_returned, user_said

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
    assert known_contents(call, after).hashes == ContentHashes().of(after)


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
    """What is kept for the next run are hashes, counts and names; no text and no payload can be reached from it."""
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


def test_texts_last_for_one_run_and_one_list() -> None:
    """A dictionary for texts is the same for a list that grew, and empty for another list and for another run."""
    call, contents = ModelCall(), [said(0, "one")]
    known_contents(call, contents).texts("notes")["a"] = "text"
    longer = replace(call, memo={})
    assert known_contents(longer, [*contents, said(1, "two")]).texts("notes") == {"a": "text"}
    assert known_contents(replace(call, memo={}, run_memo={}), contents).texts("notes") == {}
    assert known_contents(replace(call, memo={}), [said(0, "other")]).texts("notes") == {}


def new_to(known: KnownContents) -> int:
    with known.growing("count", list) as (_, new):
        return len(new)


def known(cache: GrowingCache, contents: Sequence[types.Content]) -> KnownContents:
    return KnownContents(contents, ContentHashes().of(contents), cache, GrowingCache())

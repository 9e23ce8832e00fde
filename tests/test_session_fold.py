"""A session's events are read once in a run."""

from __future__ import annotations

from collections.abc import Iterable

from google.adk.events.event import Event

from adk_context_pack.model_call import ModelCall
from adk_context_pack.session_fold import fold_events
from tests.support.events import user_said


def names(call: ModelCall, read: list[Event]) -> list[str]:
    def take(state: list[str], events: Iterable[Event]) -> None:
        for event in events:
            read.append(event)
            state.append(event.content.parts[0].text)

    return list(fold_events(call, "names", list, take))


def test_only_what_came_since_is_read() -> None:
    """Later calls of a run read the events behind those that were read before, and know all of them."""
    events, read, run_memo = [user_said("one"), user_said("two")], [], {}
    assert names(ModelCall(events=events, run_memo=run_memo), read) == ["one", "two"]
    events.append(user_said("three"))
    assert names(ModelCall(events=events, run_memo=run_memo), read) == ["one", "two", "three"]
    assert names(ModelCall(events=list(events), run_memo=run_memo), read) == ["one", "two", "three"]
    assert len(read) == 3


def test_a_session_that_was_loaded_again_is_read_again() -> None:
    """Other event objects, or fewer of them, are another past."""
    run_memo: dict[object, object] = {}
    first = [user_said("one"), user_said("two")]
    assert names(ModelCall(events=first, run_memo=run_memo), []) == ["one", "two"]
    assert names(ModelCall(events=first[:1], run_memo=run_memo), []) == ["one"]
    assert names(ModelCall(events=[user_said("1"), user_said("2")], run_memo=run_memo), []) == ["1", "2"]
    assert names(ModelCall(events=[], run_memo=run_memo), []) == []

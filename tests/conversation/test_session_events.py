"""A session's events are read once in a run."""

from __future__ import annotations

import copy

from google.adk.events.event import Event

from adk_context_pack import ModelCall
from adk_context_pack.conversation.session_events import reading_events
from tests.support.events import user_said


def names(call: ModelCall, read: list[Event]) -> list[str]:
    with reading_events(call, "names", list) as (found, new):
        read += new
        found.extend(event.content.parts[0].text for event in new)
    return list(found)


def test_copies_of_the_same_events_are_the_same_past() -> None:
    """The next run has copies of all events, which need not be read again, save where events are held."""
    events, memos = [user_said("one"), user_said("two")], ({}, {})
    copies = copy.deepcopy(events)
    for holds in (False, True):
        found = []
        for given in (events, copies):
            call = ModelCall(events=given, session_memo=memos[0], run_memo=memos[1])
            with reading_events(call, "all", list, holds_events=holds) as (value, new):
                value.extend(new)
            found.append(value)
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

"""The index of what a session says: turns, authors, what is left out, and where it begins again."""

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.genai import types

from adk_context_pack.conversation.history_index import HistoryIndex
from tests.support.events import agent_called, agent_said, event, summary, tool_returned, user_said


def indexed(*events, leaves_out=()):
    index = HistoryIndex(leaves_out.__contains__)
    index.grow(events)
    return index


def shown(index):
    return [(entry.event, entry.agent, entry.kind, entry.tool, entry.turn) for entry in index.entries]


def test_each_entry_has_its_event_author_kind_tool_and_turn():
    """A turn starts with the user's words alone: not with an agent's, nor with a result that the user's side gave."""
    index = indexed(
        agent_said("a", "Welcome."),
        user_said("One?"),
        agent_called("a", "look", "c1", city="Oslo"),
        tool_returned("user", "look", {"rows": 3}, "c1"),
        agent_said("a", "Three."),
        user_said("Two?"),
        agent_said("b", "Four."),
    )
    assert shown(index) == [
        (0, "a", "said", "", 1),
        (1, "user", "said", "", 1),
        (2, "a", "called", "look", 1),
        (3, "user", "returned", "look", 1),
        (4, "a", "said", "", 1),
        (5, "user", "said", "", 2),
        (6, "b", "said", "", 2),
    ]
    assert index.turns == 2


def test_what_is_left_out_has_no_entry():
    """Calls and results of tools that are left out, thoughts, summaries and empty events are not indexed."""
    index = indexed(
        agent_called("a", "secret", "c1"),
        tool_returned("a", "secret", {"a": 1}, "c1"),
        event("a", types.Part(text="hm", thought=True)),
        summary("so far", 0.0, 1.0, timestamp=2.0),
        Event(author="a"),
        agent_said("a", "said"),
        leaves_out=("secret", ""),
    )
    assert shown(index) == [(5, "a", "said", "", 1)]
    assert not index.rewound


def test_it_grows_by_what_is_new():
    """Events are read once, and a list that ends earlier, or begins otherwise, is another session's."""
    events = [user_said("one"), agent_said("a", "two"), user_said("three")]
    index = indexed(*events[:2])
    assert index.begins(events)
    assert index.begins(events[:2])
    assert not index.begins(events[:1])
    assert not index.begins([user_said("one"), *events[1:]])
    assert not index.begins([events[0], agent_said("a", "two"), events[2]])
    before = index.bytes
    index.grow(events)
    index.grow(events)
    assert [entry.event for entry in index.entries] == [0, 1, 2]
    assert index.bytes > before
    assert index.begins(events)
    assert not index.begins(events[:2])
    assert indexed().begins(events)


def test_a_rewind_is_seen():
    """A rewind among the events makes the index say so."""
    if "rewind_before_invocation_id" not in EventActions.model_fields:
        return
    rewind = Event(author="user", actions=EventActions(rewind_before_invocation_id="i1"))
    assert indexed(user_said("one"), rewind).rewound

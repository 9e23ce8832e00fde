"""DropOldThoughts: what was thought in finished turns goes, signatures stay."""

import pytest
from google.genai import types

from adk_context_pack import DropOldThoughts
from tests.support.adk_contents import request_of
from tests.support.events import call_part, event, result_part, user_said
from tests.support.requests import applied, call_for, request_for

THOUGHT = types.Part(text="Let me see.", thought=True)
SIGNED = types.Part(text="Signed.", thought=True, thought_signature=b"sig")


def turn(number):
    signed_call = call_part("t", {"n": number}, f"adk-{number}")
    signed_call.thought_signature = b"call-sig"
    return [
        user_said(f"Q{number}"),
        event("a", THOUGHT, SIGNED, signed_call),
        event("a", result_part("t", {"x": 1}, f"adk-{number}"), role="user"),
        event("a", THOUGHT, types.Part(text=f"A{number}")),
    ]


def thoughts(request):
    return [[part.text for part in content.parts if part.thought] for content in request.contents]


def test_never_leaves_a_content_empty_or_touches_idle_requests():
    """A content of nothing but thoughts stays, and a request without old thoughts comes back as it is."""
    only = [user_said("Q"), event("a", THOUGHT, types.Part(text="", thought_signature=b"s")), user_said("R")]
    assert all(content.parts for content in applied(DropOldThoughts(), "a", only).contents)
    raw = request_for("a", turn(1))
    assert DropOldThoughts().apply(raw, call_for("a", turn(1))) is raw


def test_fewer_turns_than_are_kept_lose_nothing():
    """As long as there are no more turns than keep their thoughts, the request is the same object."""
    events = [*turn(1), *turn(2)]
    raw = request_for("a", events)
    for keep_turns in (2, 3, 50):
        assert DropOldThoughts(keep_turns=keep_turns).apply(raw, call_for("a", events)) is raw


@pytest.mark.parametrize("other", [{"function_call": types.FunctionCall(name="t")}, {"thought_signature": b"s"}])
def test_a_thought_that_is_also_something_else_stays(other):
    """A part with a thought's text and a call or a signature is not dropped."""
    both = types.Part(text="So I call it.", thought=True, **other)
    events = [user_said("Q1"), event("a", both, types.Part(text="A1")), user_said("Q2")]
    assert thoughts(applied(DropOldThoughts(), "a", events)) == [[], ["So I call it."], []]


@pytest.mark.parametrize(
    ("parts", "left"),
    [
        ([THOUGHT], [THOUGHT]),
        ([THOUGHT, THOUGHT], [THOUGHT, THOUGHT]),
        ([THOUGHT, types.Part(text="A")], ["A"]),
        ([types.Part(text="A"), THOUGHT, types.Part(text="B")], ["A", "B"]),
        ([SIGNED, THOUGHT], [SIGNED]),
        ([types.Part(text="A")], ["A"]),
    ],
)
def test_what_is_left_of_a_content(parts, left):
    """Thoughts go where something else is left; a content that loses nothing is the same object, and is not counted."""
    events = [user_said("Q"), event("a", *parts), event("a", THOUGHT, types.Part(text="A")), user_said("R")]
    # ADK leaves out contents of nothing but thoughts, which other callers may send.
    raw, call = request_of([each.content for each in events]), call_for("a", events)
    result = DropOldThoughts().apply(raw, call)
    wanted = [types.Part(text=part) if isinstance(part, str) else part for part in left]
    assert result.contents[1].parts == wanted
    lost = len(left) < len(parts)
    assert (result.contents[1] is raw.contents[1]) is not lost
    assert call.notes == [f"dropped the thoughts of {1 + lost} contents"]

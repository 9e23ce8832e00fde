"""Contents are known again by a hash."""

from __future__ import annotations

import copy
from decimal import Decimal

from google.genai import types
from hypothesis import given

from adk_context_pack.content_marks import ContentMarks
from tests.support.conversation import Conversation
from tests.support.conversations import conversations


@given(conversations())
def test_copies_have_the_same_marks(conversation: Conversation) -> None:
    """ADK's contents of another run are known again, whatever their payloads hold."""
    contents, loaded = conversation.contents(), copy.deepcopy(conversation).contents()
    dumped = [content.model_dump() for content in contents]
    marks, again = ContentMarks().of(contents), ContentMarks().of(loaded)
    for one, other, mark, same in zip(dumped, [each.model_dump() for each in loaded], marks, again, strict=True):
        assert mark == same or repr(one) != repr(other)


def test_payloads_that_no_format_holds() -> None:
    """A value that is not JSON's own is marked by how it is sent, and told from another one."""
    odd = [{"n": Decimal("1.1")}, {"n": Decimal("1.2")}, {"n": {1}}, {"n": object}]
    contents = [
        types.Content(
            role="user", parts=[types.Part(function_response=types.FunctionResponse(name="f", response=each))]
        )
        for each in odd
    ]
    assert len(set(ContentMarks().of(contents))) == len(odd)
    assert ContentMarks().of(contents) == ContentMarks().of(contents)


def test_payloads_of_the_newest_call_are_held_and_no_others() -> None:
    """The payloads of a call serve the next one, and are let go when a call does not have them."""
    marks, payload = ContentMarks(), {"rows": list(range(9))}
    part = types.Part(function_response=types.FunctionResponse(name="f", response={}))
    part.function_response.response = payload
    content = types.Content(role="user", parts=[part])
    marks.of([content])
    marks.next_call()
    assert marks._before[id(payload)] is payload
    marks.of([content])
    marks.next_call()
    marks.next_call()
    assert not marks._before
    assert not marks._marks

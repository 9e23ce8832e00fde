"""What ADK's memory tools put into a request, made smaller: best memories first, each with who said it and when."""

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack.conversation.recalled import holds_preloaded, slim_loaded, slim_preloaded
from adk_context_pack.conversation.tokens import TokenMeter
from tests.support.events import result_part


def memory(*texts, author="ann", time="2026-01-02"):
    parts = [{"text": text, "thought": None, "inline_data": None} for text in texts]
    return {"content": {"parts": parts, "role": "user"}, "author": author, "timestamp": time, "custom_metadata": {}}


def slim(query, memories):
    """Keeps all, and shows what it was given."""
    return [f"{query}/{one.author}/{one.time}/{one.text}" for one in memories]


def content(*parts):
    return types.Content(role="user", parts=list(parts))


def loaded(*contents):
    return slim_loaded(LlmRequest(contents=list(contents)), slim, TokenMeter())


@pytest.mark.parametrize(
    "response",
    [
        {},
        {"memories": []},
        {"memories": "none"},
        {"memories": [5, {"content": None}, {"content": {"parts": None}}, {"content": {"parts": [{"text": ""}]}}]},
        {"error": "no service"},
        {"memories": [{"content": {"parts": [{"text": "a"}]}}]},
    ],
)
def test_what_stays_as_it_is(response):
    """A result without memories, or one that would not get smaller, is the very same object."""
    result = content(result_part("load_memory", response))
    if response == {"memories": [{"content": {"parts": [{"text": "a"}]}}]}:
        (found,) = slim_loaded(LlmRequest(contents=[result]), lambda *_: ["b" * 500], TokenMeter())
    else:
        (found,) = loaded(result)
    assert found is result
    assert found.parts[0].function_response.name == "load_memory"


def test_other_parts_of_a_content_stay():
    """Beside a result that shrinks, words and results of other tools are the same objects."""
    other, words = result_part("look", {"memories": [memory("z")]}), types.Part(text="hi")
    (found,) = loaded(content(other, result_part("load_memory", {"memories": [memory("x")]}), words))
    assert found.parts[0] is other
    assert found.parts[2] is words
    assert found.parts[1].function_response.response == {"memories": ["/ann/2026-01-02/x"]}


def test_preloaded_memories_are_ranked():
    """Entries have their time, and lines without one are entries as well. What is around them stays."""
    text = "Before.\n<PAST_CONVERSATIONS>\nTime: T1\nann: one\n  more\nTime: T2\nbo: two\n</PAST_CONVERSATIONS>\nAfter."
    taken = []

    def first(query, memories):
        taken.extend((query, one.time, one.author, one.text) for one in memories)
        return [memories[0].text]

    found = slim_preloaded(text, "q", first)
    assert taken == [("q", "T1", "", "ann: one\n  more"), ("q", "T2", "", "bo: two")]
    assert found == "Before.\n<PAST_CONVERSATIONS>\nann: one\n  more\n</PAST_CONVERSATIONS>\nAfter."
    plain = "<PAST_CONVERSATIONS>\nann: one\nbo: two\n</PAST_CONVERSATIONS>"
    assert slim_preloaded(plain, "q", lambda _, memories: [memories[1].text]) == plain.replace("ann: one\n", "")


@pytest.mark.parametrize(
    ("contents", "instruction", "is_held"),
    [
        ([], "<PAST_CONVERSATIONS>\nx", True),
        ([content(types.Part(text="see <PAST_CONVERSATIONS>"))], None, True),
        ([content(types.Part(text="past"))], "past", False),
        ([types.Content(role="user")], None, False),
    ],
)
def test_where_memories_were_put(contents, instruction, is_held):
    """Memories are found in the instruction and in the contents."""
    assert holds_preloaded(contents, instruction) is is_held

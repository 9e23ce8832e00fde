"""Notes in the place of results: what they say of any body."""

import pytest

from adk_context_pack._json import json_text
from adk_context_pack.conversation.clearing import KEY, is_note, is_shorter, note_length, result_note


def test_a_body_that_is_no_dict_has_its_beginning_and_no_handle():
    """Of a long text the note tells how it began; there is no handle to tell."""
    text = "Oslo is the capital of Norway. " * 20
    note = result_note("look_up", text, 150, findable=False)
    assert is_note(note)
    assert note["began"] == text[:100]
    assert "handle" not in note


def test_a_handle_is_found_beside_or_within_a_result():
    """The handle of a stored result stays in its note, wherever the stub had it; one that is no handle does not."""
    for response in ({"handle": "h1", "rows": []}, {"payload": {"handle": "h1"}, "n": 1}):
        assert result_note("query", response, 5, findable=True)["handle"] == "h1"
    for response in ({"handle": 7}, {"handle": "x" * 101}, {"payload": ["handle"]}):
        assert "handle" not in result_note("query", response, 5, findable=True)


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        ({KEY: "x"}, True),
        ({KEY: "x" * 2_000}, True),
        ({KEY: "x" * 2_001}, False),
        ({KEY: "x" * 1_000, "was": "y" * 1_000}, True),
        ({KEY: "x" * 1_000, "was": "y" * 1_001}, False),
        ({KEY: "x", "n": 7, "list": ["y" * 96]}, True),
        ({KEY: "x", "list": ["y" * 97]}, False),
        ({"was": "y", KEY: "x"}, False),
        ({}, False),
        ([KEY], False),
        (None, False),
    ],
)
def test_what_is_a_note(payload, found):
    """A note begins with its key, has at most 2,000 characters of texts, and nothing else that is long."""
    assert is_note(payload) is found


def test_a_note_is_no_longer_than_what_it_replaces():
    """As many characters are allowed, and one more is not."""
    assert is_shorter({"a": "xy"}, {"a": "12"})
    assert not is_shorter({"a": "xyz"}, {"a": "12"})
    note = {"a": "x" * 10, "bc": ""}
    assert note_length(note) >= len(json_text(note))
    assert note_length(note) == 1 + 10 + 2 + 8 + 2 + 0 + 0 + 8

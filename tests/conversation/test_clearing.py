"""Notes in the place of results: what they say of any body."""

from adk_context_pack.conversation.clearing import is_note, result_note


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

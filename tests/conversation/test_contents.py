"""Contents compared, measured and copied."""

from google.genai import types

from adk_context_pack.conversation.contents import MEDIA_REMOVED, changed, copies_of, spoken

PICTURE = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"png"))
OTHER = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"other"))


def content(*parts, role="user"):
    return types.Content(role=role, parts=[types.Part(text=part) if isinstance(part, str) else part for part in parts])


def test_what_is_said_is_the_same_without_the_media():
    """A reference in the place of a picture changes no hash. Words do, and so does their place."""
    shown = spoken(content("see", PICTURE))
    assert spoken(content("see", f"{MEDIA_REMOVED}image]")) == shown
    assert spoken(content("look", PICTURE)) != shown
    assert spoken(content(PICTURE, "see")) != shown
    assert spoken(content("see")) != shown
    assert spoken(types.Content(role="user")) == spoken(content())


def test_exact_copies_come_first():
    """Copies are yielded newest first, then contents that share the texts alone. A model's words are no copy."""
    message = content("a", PICTURE)
    contents = [content("a", OTHER), message, content("a", PICTURE, role="model"), content("b"), content("a", PICTURE)]
    contents += [content("a", types.Part(function_call=types.FunctionCall(name="f")))]
    assert list(copies_of(contents, message)) == [4, 1, 5, 0]


def test_a_changed_copy_leaves_the_original():
    """The copy is a model like any other: equal to one that was built so, dumped with what was set."""
    before = types.Part(text="x")
    after = changed(before, "thought", value=True)
    assert after == types.Part(text="x", thought=True)
    assert after.model_dump(exclude_unset=True) == {"text": "x", "thought": True}
    assert before.thought is None
    assert before.model_fields_set == {"text"}

"""Contents compared, measured and copied."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from decimal import Decimal

import pytest
from google.genai import types
from hypothesis import given

from adk_context_pack.conversation.clearing import _is_smaller, result_note
from adk_context_pack.conversation.contents import KEY, REMOVED, ContentHashes, changed, copies_of, is_note
from adk_context_pack.conversation.model_call import GrowingCache
from adk_context_pack.conversation.outline import spoken
from tests.support.conversation import Conversation
from tests.support.conversations import conversations

PICTURE = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"png"))
OTHER = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"other"))


def content(*parts, role="user"):
    return types.Content(role=role, parts=[types.Part(text=part) if isinstance(part, str) else part for part in parts])


def test_what_is_said_is_the_same_without_the_media():
    """A reference in the place of a picture changes no hash. Words do, and so does their place."""
    shown = spoken(content("see", PICTURE))
    assert spoken(content("see", f"{REMOVED}image]")) == shown
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


@pytest.mark.slow
@given(conversations())
def test_copies_have_the_same_hashes(conversation: Conversation) -> None:
    """ADK's contents of another run are known again, whatever their payloads hold."""
    contents, loaded = conversation.contents(), copy.deepcopy(conversation).contents()
    dumped = [content.model_dump() for content in contents]
    hashes, again = of_all(contents), of_all(loaded)
    for one, other, mark, same in zip(dumped, [each.model_dump() for each in loaded], hashes, again, strict=True):
        assert mark == same or repr(one) != repr(other)


def test_payloads_that_no_format_holds() -> None:
    """A value that is not JSON's own is marked by how it is sent, and told from another one."""
    odd = [{"n": Decimal("1.1")}, {"n": Decimal("1.2")}, {"n": {1}}, {"n": object}]
    contents = list(map(result, odd))
    assert len(set(of_all(contents))) == len(odd)
    assert of_all(contents) == of_all(contents)


def of_all(contents: list[types.Content], hashes: ContentHashes | None = None) -> list[int]:
    return list(map((hashes or ContentHashes()).of, contents))


def result(payload: object) -> types.Content:
    response = types.FunctionResponse(name="f", response={})
    response.response = payload
    return types.Content(role="user", parts=[types.Part(function_response=response)])


def test_every_kind_of_part_tells_contents_apart() -> None:
    """Two contents that differ in one field of one part, in their order or in their role have different hashes."""
    calls = (("f", "1", {"a": 1}), ("g", "1", {"a": 1}), ("f", "2", {"a": 1}), ("f", "1", {"a": 2}))
    parts = [
        *(types.Part(text=text) for text in "xy"),
        *(types.Part(inline_data=types.Blob(mime_type=kind, data=data.encode())) for kind, data in ("a1", "a2", "b1")),
        *(types.Part(file_data=types.FileData(mime_type=kind, file_uri=uri)) for kind, uri in ("au", "av", "bu")),
        *(types.Part(executable_code=types.ExecutableCode(code=code, language="PYTHON")) for code in "ab"),
        *(types.Part(code_execution_result=types.CodeExecutionResult(output=text)) for text in "ab"),
        *(types.Part(function_call=types.FunctionCall(name=name, id=key, args=args)) for name, key, args in calls),
        result({"a": 1}).parts[0],
    ]
    contents = [types.Content(role="user", parts=[part]) for part in parts]
    contents += [types.Content(role="model", parts=parts[:1]), types.Content(role="user", parts=parts[:2])]
    contents += [
        types.Content(role="user", parts=parts[1::-1]),
        types.Content(role="user"),
        types.Content(role="model"),
    ]
    contents += [types.Content(role="user", parts=parts[1::5])]
    assert len(set(of_all(contents))) == len(contents)


def test_a_body_that_is_no_dict_has_its_beginning():
    """Of a long text the note tells how it began."""
    text = "Oslo is the capital of Norway. " * 20
    note = result_note(text, 1_000)
    assert is_note(note)
    assert note["began"] == text[:100]


@pytest.mark.parametrize(("payload", "found"), [
    ({KEY: "x"}, True), ({KEY: "x" * 2_000}, True), ({KEY: "x" * 2_001}, False),
    ({KEY: "x" * 1_000, "was": "y" * 1_000}, True), ({KEY: "x" * 1_000, "was": "y" * 1_001}, False),
    ({KEY: "x", "n": 7, "list": ["y" * 96]}, True), ({KEY: "x", "list": ["y" * 97]}, False),
    ({"was": "y", KEY: "x"}, False), ({}, False), ([KEY], False), (None, False),
])  # fmt: skip
def test_what_is_a_note(payload, found):
    """A note begins with its key, has at most 2,000 characters of texts, and nothing else that is long."""
    assert is_note(payload) is found


def test_a_note_is_no_longer_than_what_it_replaces():
    """As many characters are allowed, and one more is not."""
    for note, is_right in (({"a": "xy"}, True), ({"a": "é€"}, True), ({"a": "xyz"}, False)):
        assert _is_smaller(note, 1, {"a": "12"}, 2) is is_right
    assert not _is_smaller({"a": "xy"}, 2, {"a": "12"}, 2)


def add(cache: GrowingCache, numbers: list[int], fail_at: int | None = None) -> list[int]:
    def take(found: list[int], new: Sequence[int]) -> None:
        for number in new:
            if number == fail_at:
                raise ValueError(number)
            found.append(number)

    return cache.grow("all", list[int], numbers, take)


def test_a_value_that_failed_halfway_is_forgotten() -> None:
    """Where the body raises, the next call starts over, and takes in no item twice."""
    cache: GrowingCache = GrowingCache()
    add(cache, [1])
    with pytest.raises(ValueError, match="3"):
        add(cache, [1, 2, 3], fail_at=3)
    assert cache.peek("all") is None
    assert add(cache, [1, 2, 3]) == [1, 2, 3]

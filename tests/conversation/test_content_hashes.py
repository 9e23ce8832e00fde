"""Contents are known again by a hash."""

from __future__ import annotations

import copy
import itertools
from decimal import Decimal

import pytest
from google.genai import types
from hypothesis import given

from adk_context_pack.conversation import known_contents
from adk_context_pack.conversation.known_contents import ContentHashes
from tests.support.conversation import Conversation
from tests.support.conversations import conversations


@pytest.mark.slow
@given(conversations())
def test_copies_have_the_same_hashes(conversation: Conversation) -> None:
    """ADK's contents of another run are known again, whatever their payloads hold."""
    contents, loaded = conversation.contents(), copy.deepcopy(conversation).contents()
    dumped = [content.model_dump() for content in contents]
    hashes, again = ContentHashes().of(contents), ContentHashes().of(loaded)
    for one, other, mark, same in zip(dumped, [each.model_dump() for each in loaded], hashes, again, strict=True):
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
    assert len(set(ContentHashes().of(contents))) == len(odd)
    assert ContentHashes().of(contents) == ContentHashes().of(contents)


def test_payloads_of_calls_long_past_are_not_held() -> None:
    """A payload serves the calls after it, and passes that make new ones at each call fill no memory."""
    hashes, kept = ContentHashes(), result({"rows": list(range(9))})
    for number in range(3000):
        hashes.next_call()
        hashes.of([kept, *(result({"note": (number, each)}) for each in range(5))])
    assert len(hashes._payloads) == len(hashes._hashes) < 300
    assert hashes.of([kept]) == ContentHashes().of([kept])


def test_a_payload_is_hashed_once(monkeypatch) -> None:
    """The same object in the next call's copy of a content is known by its identity."""
    hashed = []
    monkeypatch.setattr(known_contents, "payload_hash", lambda value: hashed.append(value) or 1)
    hashes, content = ContentHashes(), result({"rows": [1]})
    for _ in range(3):
        hashes.next_call()
        hashes.of([content])
    assert len(hashed) == 1


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
    assert len(set(ContentHashes().of(contents))) == len(contents)


def test_every_part_counts_wherever_it_stands() -> None:
    """Contents of one, two or three parts have the same hash only where all of their parts are the same."""
    parts = [
        types.Part(text="a"),
        types.Part(text="b"),
        types.Part(function_call=types.FunctionCall(name="f", args={"x": 1})),
        types.Part(function_response=types.FunctionResponse(name="f", response={"y": 1})),
        types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png")),
        types.Part(file_data=types.FileData(file_uri="gs://a/b", mime_type="image/png")),
    ]
    lists = [list(chosen) for length in (1, 2, 3) for chosen in itertools.product(parts, repeat=length)]
    contents = [types.Content(role=role, parts=chosen) for chosen in lists for role in ("user", "model")]
    hashes = ContentHashes()
    assert len(set(hashes.of(contents))) == len(contents) == 2 * (6 + 36 + 216)

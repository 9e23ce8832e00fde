"""The generator of conversations really makes what the laws are to be tried on."""

from __future__ import annotations

import logging
from collections import Counter

import pytest
from google.genai import types
from hypothesis import HealthCheck, given, seed, settings

from tests.support import postgres, relay
from tests.support.conversation import Conversation
from tests.support.conversations import CONFIRMATION, conversations
from tests.support.provider_rules import CHECKERS, gemini_problems, lost_signatures, new_problems


@pytest.mark.slow
def test_the_generator_makes_every_kind_that_it_promises(caplog):
    """Over a few fixed seeds, each kind of event, block, part and request turns up."""
    caplog.set_level(logging.ERROR)
    seen: Counter[str] = Counter()
    for number in range(8):

        @seed(number)
        @settings(max_examples=400, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(conversations())
        def look(conversation: Conversation) -> None:
            seen.update({name: int(bool(found)) for name, found in kinds_of(conversation).items()})

        look()
        if all(seen.values()):
            break
    assert [name for name, count in seen.items() if not count] == []


def kinds_of(conversation: Conversation) -> dict[str, object]:
    """What there may be in a conversation and in the request of its moment, and whether it is there."""
    events, contents = conversation.events, conversation.contents()
    calls = [call for event in events for call in event.get_function_calls()]
    results = [result for event in events for result in event.get_function_responses()]
    ids, answered = Counter(call.id for call in calls if call.id), {result.id for result in results}
    typed = [event.content for event in events if event.author == "user"]
    parts = [part for content in contents for part in content.parts or ()]
    payloads = [str(part.function_response.response) for part in parts if part.function_response]
    texts = [part.text or "" for part in parts]
    said = [[part.text or "" for part in content.parts or ()] for content in contents if content in typed]
    blocks = [[part.text or "" for part in content.parts or ()] for content in contents if content not in typed]
    forms = relay.PREAMBLES.values()
    relays = [block for block in blocks if block and block[0] in forms]
    following = list(zip(events, events[1:], events[2:], strict=False))
    ids_of = [
        ([c.id for c in a.get_function_calls()], [r.id for r in b.get_function_responses()]) for a, b, _ in following
    ]
    return {
        **{f"relay in the {form} format": any(r[0] == text for r in relays) for form, text in relay.PREAMBLES.items()},
        "relay of several parts": any(len(block) > 2 for block in relays),
        "relayed thought": any("] thought:" in text for block in relays for text in block),
        "relay typed by the user": any(len(block) > 1 and block[0] in forms for block in said),
        "relay typed as one text": any(block and block[0].startswith(f"{f}\n[") for block in said for f in forms),
        "parallel calls": any(len(event.get_function_calls()) > 1 for event in events),
        "call without an id": any(call.id is None for call in calls),
        "call with an id of the model's": any(call.id and not call.id.startswith("adk-") for call in calls),
        "call id used twice": any(count > 1 for count in ids.values()),
        "call without a result": set(ids) - answered,
        "result without a call": answered - set(ids) - {None},
        "results out of order": any(a != b and sorted(map(str, a)) == sorted(map(str, b)) for a, b in ids_of),
        "results in several events": any(
            len(a.get_function_calls()) > 1 and len(b.get_function_responses()) == 1 and c.get_function_responses()
            for a, b, c in following
        ),
        "long-running call": any(event.long_running_tool_ids for event in events),
        "result posted back by the user": any(e.author == "user" and e.get_function_responses() for e in events),
        "approval": any(call.name == CONFIRMATION for call in calls),
        "transfer": any(event.actions.transfer_to_agent for event in events),
        "author that is no agent": any(event.author and "\n" in event.author for event in events),
        "event without an author": any(not event.author for event in events),
        "event without content": any(event.content is None for event in events),
        "content with parts None": any(event.content and event.content.parts is None for event in events),
        "content with no parts": any(event.content and event.content.parts == [] for event in events),
        "tool name that is no identifier": any("-" in (call.name or "") for call in calls),
        "name that is not ascii": any(not (event.author or "").isascii() for event in events),
        "rewind": any(event.actions.rewind_before_invocation_id for event in events),
        "summary": any(event.actions.compaction for event in events),
        "branch": any(event.branch for event in events),
        "dynamic instruction": conversation.dynamic is not None,
        "include_contents none": conversation.settings["include"] == "none",
        "request without contents": not contents,
        "request that ends in a model turn": contents and contents[-1].role == "model",
        "media": any(part.inline_data or part.file_data for part in parts),
        "code": any(part.executable_code or part.code_execution_result for part in parts),
        "thought with a signature": any(part.thought and part.thought_signature for part in parts),
        "call with a signature": any(part.function_call and part.thought_signature for part in parts),
        "payload that is no literal": any("Status.OK" in payload or "nan" in payload for payload in payloads),
        "marker in a payload": any(relay.END in payload for payload in payloads),
        "odd characters": all(any(odd in text for text in texts) for odd in "\ud83d\u2028\r\0")
        or "\0" in "".join(texts),
        "empty part": any(part.text == "" for part in parts),
        "huge text": any(len(text) > 10_000 for text in (*texts, *payloads)),
    }


def test_what_is_missing_is_named(monkeypatch):
    """A machine without PostgreSQL, or without its driver, is told which of them it lacks."""
    monkeypatch.setattr(postgres, "find_spec", lambda driver: object())
    monkeypatch.setattr(postgres, "postgres_folder", lambda: None)
    assert "PostgreSQL is not installed" in postgres.missing()
    monkeypatch.setattr(postgres, "find_spec", lambda driver: None)
    assert "asyncpg, which is not installed" in postgres.missing()


@pytest.mark.parametrize(("value", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_a_check_that_cannot_be_made_fails_in_ci(monkeypatch, value, outcome):
    """Skipped at home, failed where `CI` is set."""
    monkeypatch.setenv("CI", value)
    with pytest.raises(outcome, match="no server"):
        postgres.skip_or_fail("no server")


def user(*texts: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text) for text in texts])


def model(*texts: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text) for text in texts])


def calls(*ids: str | None, signature: bytes | None = None) -> types.Content:
    parts = [types.Part(function_call=types.FunctionCall(id=i, name=f"tool_{i}", args={})) for i in ids]
    parts[0].thought_signature = signature
    return types.Content(role="model", parts=parts)


def results(*ids: str | None) -> types.Content:
    parts = [types.Part(function_response=types.FunctionResponse(id=i, name=f"tool_{i}", response={})) for i in ids]
    return types.Content(role="user", parts=parts)


GOOD = [user("hi"), calls("a", "b"), results("a", "b"), calls("c"), results("c"), model("so"), user("and?")]


@pytest.mark.parametrize("check", CHECKERS.values(), ids=CHECKERS)
def test_a_proper_conversation_has_no_problem(check):
    """Parallel calls, sequential calls and texts in order are refused by nobody."""
    assert check(GOOD) == []
    assert check([user("quoted"), user("hi")]) == []


BAD = {
    "nothing": ([], "gemini openai anthropic"),
    "model first": ([model("so"), user("hi")], "gemini anthropic"),
    "model last": ([user("hi"), model("so")], "gemini openai anthropic"),
    "call first": ([calls("a"), results("a")], "gemini anthropic"),
    "call after model": ([user("hi"), model("so"), calls("a"), results("a")], "gemini"),
    "call without result": ([user("hi"), calls("a"), user("and?")], "gemini openai anthropic"),
    "one of two results": ([user("hi"), calls("a", "b"), results("a")], "gemini openai anthropic"),
    "result without call": ([user("hi"), results("a")], "gemini openai anthropic"),
    "result after another turn": ([user("hi"), calls("a"), user("wait"), results("a")], "gemini openai anthropic"),
    "result of an unknown id": ([user("hi"), calls("a"), results("x")], "gemini openai anthropic"),
    "no ids": ([user("hi"), calls(None), results(None)], "openai anthropic"),
    "a reused id": ([user("hi"), calls("a"), results("a"), calls("a"), results("a")], "anthropic"),
    "two results of one call": ([user("hi"), calls("a"), results("a", "a")], "gemini openai anthropic"),
    "a content without parts": (
        [user("hi"), types.Content(role="model", parts=[]), user("and?")],
        "gemini openai anthropic",
    ),
    "parts that are None": ([user("hi"), types.Content(role="model"), user("and?")], "gemini openai anthropic"),
    "an empty text": ([user("")], "gemini openai anthropic"),
    "an empty part": ([types.Content(role="user", parts=[types.Part()])], "gemini openai"),
    "an unknown role": ([types.Content(role="tool", parts=[types.Part(text="hi")])], "gemini"),
    "a result beside text": (
        [user("hi"), calls("a"), types.Content(role="user", parts=[*results("a").parts, types.Part(text="and")])],
        "gemini",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_each_rule_bites(case):
    """Every provider that refuses a shape has something to say about it, the others have not."""
    contents, refusing = BAD[case]
    assert {name for name, check in CHECKERS.items() if check(contents)} == set(refusing.split())


def test_missing_signatures_are_found_in_the_current_turn_only():
    """The first call of each step since the user's last message needs its signature where the model signs."""
    old = [user("hi"), calls("a"), results("a"), model("so")]
    now = [user("and?"), calls("b", "c", signature=b"s"), results("b", "c"), calls("d"), results("d")]
    assert gemini_problems([*old, *now]) == []
    assert gemini_problems([*old, *now], signatures=True) == ["the call of tool_d lacks its thought signature"]


def test_a_lost_signature_is_noticed():
    """A call that stands in both requests must keep its signature; one that went is nobody's loss."""
    before = [user("hi"), calls("a", signature=b"s"), results("a")]
    assert lost_signatures(before, before) == []
    assert lost_signatures(before, [user("hi")]) == []
    assert lost_signatures(before, [user("hi"), calls("a"), results("a")])


def test_problems_that_were_there_before_are_not_new():
    """What came in broken may go out broken in the same way; what is broken now counts for each provider."""
    broken = [model("so"), user("hi"), calls("a"), user("and?")]
    assert new_problems(broken, broken) == []
    assert new_problems(broken, broken[1:]) == []
    assert new_problems(GOOD, GOOD[1:])
    assert any(problem.startswith("openai") for problem in new_problems(GOOD, [*GOOD[:2], *GOOD[3:]]))

"""The generator of conversations really makes what the laws are to be tried on."""

from __future__ import annotations

import logging
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.support import relay
from tests.support.conversation import Conversation
from tests.support.conversations import CONFIRMATION, conversations


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

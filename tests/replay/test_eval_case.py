"""Eval sets: both forms of recorded steps become the session that they tell of."""

import json

from adk_context_pack.replay.recordings import recorded_in

CALL = {"name": "look_up", "args": {"city": "Oslo"}, "id": "c1"}
RESULT = {"name": "look_up", "response": {"rows": [1, 2]}, "id": "c1"}


def text(role, said):
    return {"role": role, "parts": [{"text": said}]}


def case(eval_id, data, **more):
    turn = {
        "invocation_id": "run",
        "user_content": text("user", "Where is Oslo?"),
        "final_response": text("model", "In Norway."),
        "intermediate_data": data,
    }
    return {"eval_id": eval_id, "conversation": [turn], **more}


def read(folder, *cases):
    path = folder / "set.evalset.json"
    path.write_text(json.dumps({"eval_set_id": "set", "eval_cases": cases}), encoding="utf-8")
    return list(recorded_in(str(path)))


def told(session):
    kinds = []
    for event in session.events:
        (part,) = event.content.parts
        kind = "call" if part.function_call else "result" if part.function_response else part.text
        kinds.append((event.author, event.content.role, kind))
    return kinds


def test_tool_uses_and_responses(tmp_path):
    """In the older form each call has its result behind it, and all is one agent's."""
    data = {"tool_uses": [CALL], "tool_responses": [RESULT], "intermediate_responses": [["scout", [{"text": "hm"}]]]}
    given = {"app_name": "guide", "user_id": "u", "state": {"a": 1}}
    (found,) = read(tmp_path, case("one", data, session_input=given))
    assert told(found) == [
        ("user", "user", "Where is Oslo?"),
        ("guide", "model", "call"),
        ("guide", "user", "result"),
        ("scout", "model", "hm"),
        ("scout", "model", "In Norway."),
    ]
    assert (found.id, found.app_name, found.state) == ("one", "guide", {"a": 1})
    assert {event.invocation_id for event in found.events} == {"run"}


def test_camel_case_and_several_cases(tmp_path):
    """Camel case is read as well; a case without a conversation gets its line and the next one is read."""
    turn = {"userContent": text("user", "Hello"), "finalResponse": text("model", "Hi.")}
    cases = [{"evalId": "empty", "conversation": []}, {"evalId": "two", "conversation": [turn]}]
    path = tmp_path / "set.evalset.json"
    path.write_text(json.dumps({"evalSetId": "set", "evalCases": cases}), encoding="utf-8")
    broken, found = recorded_in(str(path))
    assert "number 1" in str(broken)
    assert "empty holds no recorded conversation" in str(broken)
    assert told(found) == [("user", "user", "Hello"), ("agent", "model", "Hi.")]


def test_invocation_events(tmp_path):
    """In the newer form each step names its author, where this ADK knows that form."""
    steps = [
        {"author": "scout", "content": {"role": "model", "parts": [{"function_call": CALL}]}},
        {"author": "scout", "content": {"parts": [{"function_response": RESULT}]}},
        {"author": "writer", "content": text("model", "I write.")},
    ]
    (found,) = read(tmp_path, case("one", {"invocation_events": steps}))
    assert told(found)[1:] == [
        ("scout", "model", "call"),
        ("scout", "user", "result"),
        ("writer", "model", "I write."),
        ("writer", "model", "In Norway."),
    ]


def test_steps_without_words_results_or_an_end(tmp_path):
    """A call without a recorded result, a step without content and a turn without an answer stay as they are."""
    turn = {
        "user_content": text("user", "Where?"),
        "intermediate_data": {"tool_uses": [CALL, CALL], "tool_responses": [RESULT]},
    }
    steps = [{"author": "scout", "content": None}, {"author": "scout", "content": text("model", "hm")}]
    newest = case("newer", {"invocation_events": steps})
    older, newer = read(tmp_path, {"eval_id": "older", "conversation": [turn]}, newest)
    assert [kind for _, _, kind in told(older)] == ["Where?", "call", "result", "call"]
    assert [(author, kind) for author, _, kind in told(newer)][1:] == [("scout", "hm"), ("scout", "In Norway.")]

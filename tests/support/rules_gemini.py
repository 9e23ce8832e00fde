"""What Gemini refuses about the order and the pairing of contents, as pure checkers.

Sources:

* Gemini, order of turns: "function call turn comes immediately after a user turn or after a function response turn"
  (github.com/google-gemini/gemini-cli issues 11814, 26956), "function response turn comes immediately after a
  function call turn" (github.com/langchain-ai/langchain issue 27799), "the number of function response parts is equal
  to the number of function call parts" (gemini-cli issues 16415, 5443), "function_call part which can not be mixed
  with function_response parts" (github.com/googleapis/python-genai issue 81).
* Gemini, empty things, a result that shares its content with text, and a request that ends on a model turn:
  github.com/envoyproxy/ai-gateway pull request 2686 (all four reproduced on Vertex AI), "contents.parts must not be
  empty" (github.com/langchain-ai/langchain-google issue 691), "contents is not specified" (the same, issue 1393),
  "Please use a valid role: user, model" (github.com/ShishirPatil/gorilla pull request 768).
* Gemini, thought signatures: https://ai.google.dev/gemini-api/docs/thought-signatures. In the current turn the first
  call of each step must carry the signature that the model gave it; the further calls of a parallel step have none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from google.genai import types

from tests.support.rule_message import Contents, Message, role_of


def gemini_problems(contents: Contents, *, signatures: bool = False) -> list[str]:
    """What Gemini refuses about `contents`.

    Args:
        contents: the request's contents.
        signatures: whether the model is one that signs its thoughts, so that calls of the current turn need theirs.
    """
    if not contents:
        return ["there is no content"]
    problems = [problem for content in contents for problem in _shape_problems(content)]
    if role_of(contents[0]) == "model":
        problems.append("the first turn is the model's")
    for index, content in enumerate(contents):
        before = contents[index - 1] if index else None
        after = contents[index + 1] if index + 1 < len(contents) else None
        problems += _gemini_call_problems(before, content, after)
        problems += _gemini_result_problems(before, content)
    if role_of(contents[-1]) == "model":
        problems.append("the last turn is the model's")
    return problems + (_unsigned_calls(contents) if signatures else [])


def _shape_problems(content: types.Content) -> Iterator[str]:
    if content.role not in ("user", "model", None):
        yield f"the role {content.role!r} is unknown"
    if not content.parts:
        yield "a content without parts"
    for part in content.parts or ():
        if not part.model_fields_set - {"thought"} or (part.text == "" and not part.thought_signature):
            yield "an empty part"


def _gemini_call_problems(
    before: types.Content | None, content: types.Content, after: types.Content | None
) -> Iterator[str]:
    calls = Message("model", content.parts or []).calls
    if not calls:
        return
    names = ", ".join(call.name or "" for call in calls)
    results = Message("user", (after.parts if after else None) or []).results
    if role_of(content) == "user":
        yield f"the call of {names} stands in a user turn"
    if before is not None and role_of(before) == "model":
        yield f"the call of {names} follows a model turn"
    if not results:
        yield f"the call of {names} is not followed by its result"
        return
    if len(results) != len(calls):
        yield f"the call of {names} is followed by another number of results"
    called = Counter(call.id for call in calls)
    strange = [result.name for result in results if result.id is not None and result.id not in called]
    if strange or not {result.name for result in results} <= {call.name for call in calls}:
        yield f"the call of {names} is followed by results of other calls"


def _gemini_result_problems(before: types.Content | None, content: types.Content) -> Iterator[str]:
    message = Message("user", content.parts or [])
    if not message.results:
        return
    names = ", ".join(result.name or "" for result in message.results)
    if not Message("model", (before.parts if before else None) or []).calls:
        yield f"the result of {names} follows no call"
    if message.calls:
        yield f"the result of {names} shares its content with calls"
    if len(message.results) + len(message.calls) != len(message.parts):
        yield f"the result of {names} shares its content with other parts"


def _unsigned_calls(contents: Contents) -> list[str]:
    start = next((i for i in range(len(contents) - 1, -1, -1) if _starts_turn(contents[i])), 0)
    steps = [next((part for part in content.parts or () if part.function_call), None) for content in contents[start:]]
    return [
        f"the call of {part.function_call.name} lacks its thought signature"
        for part in steps
        if part and part.function_call and not part.thought_signature
    ]


def _starts_turn(content: types.Content) -> bool:
    return role_of(content) == "user" and not any(part.function_response for part in content.parts or ())

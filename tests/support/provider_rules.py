"""What Gemini, OpenAI and Anthropic refuse about the order and the pairing of contents, as pure checkers.

Each checker takes a request's contents and gives one sentence for each thing that the provider would answer with a
400. The sentences name tools and ids but no positions, so that the sentences of a request before and after a pass can
be compared: `new_problems(before, after)` is what the pass alone is to blame for.

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
* OpenAI: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'"
  (github.com/BerriAI/litellm issue 28995), "messages with role 'tool' must be a response to a preceding message with
  'tool_calls'" (github.com/microsoft/promptflow pull request 3130). A final assistant message is accepted by OpenAI
  itself and refused by compatible servers; it counts as a problem here.
* Anthropic: "`tool_use` ids were found without `tool_result` blocks immediately after" (github.com/aliasrobotics/cai
  issue 182, with "text content blocks must be non-empty"), "unexpected `tool_use_id` found in `tool_result` blocks"
  (github.com/anthropics/claude-code issue 18947); results stand before any text of their message
  (https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls). Messages of one role in a row are
  joined, ids must be unique, the first message is the user's, and newer models refuse a final assistant message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from google.genai import types

Contents = Sequence[types.Content]


def new_problems(before: Contents, after: Contents) -> list[str]:
    """The problems that `after` has and `before` had not, each with the provider's name."""
    found = [
        f"{provider}: {problem}"
        for provider, check in CHECKERS.items()
        for problem in (Counter(check(after)) - Counter(check(before))).elements()
    ]
    return found + lost_signatures(before, after)


def lost_signatures(before: Contents, after: Contents) -> list[str]:
    """Calls and texts that stand in both, with a thought signature in `before` and without it in `after`."""
    signed = Counter(_body(part) for part in _parts(before) if part.thought_signature)
    bare = Counter(_body(part) for part in _parts(before) if not part.thought_signature)
    bare_now = Counter(_body(part) for part in _parts(after) if not part.thought_signature)
    return [f"the thought signature of {body!r} is lost" for body in (bare_now - bare) if body in signed]


def gemini_problems(contents: Contents, *, signatures: bool = False) -> list[str]:
    """What Gemini refuses about `contents`.

    Args:
        contents: the request's contents.
        signatures: whether the model is one that signs its thoughts, so that calls of the current turn need theirs.
    """
    if not contents:
        return ["there is no content"]
    problems = [problem for content in contents for problem in _shape_problems(content)]
    if _role(contents[0]) == "model":
        problems.append("the first turn is the model's")
    for index, content in enumerate(contents):
        before = contents[index - 1] if index else None
        after = contents[index + 1] if index + 1 < len(contents) else None
        problems += _gemini_call_problems(before, content, after)
        problems += _gemini_result_problems(before, content)
    if _role(contents[-1]) == "model":
        problems.append("the last turn is the model's")
    return problems + (_unsigned_calls(contents) if signatures else [])


def openai_problems(contents: Contents) -> list[str]:
    """What OpenAI and compatible servers refuse about `contents`, once they are chat messages."""
    messages = list(_chat_messages(contents))
    if not messages:
        return ["there is no message"]
    problems = []
    open_ids: Counter[str | None] = Counter()
    for message in messages:
        if message.role != "tool" and open_ids:
            problems += [f"call {call_id!r} has no tool message right after it" for call_id in open_ids.elements()]
            open_ids.clear()
        problems += _chat_problems(message, open_ids)
    problems += [f"call {call_id!r} has no tool message right after it" for call_id in open_ids.elements()]
    if messages[-1].role == "assistant":
        problems.append("the last message is the assistant's")
    return problems


def anthropic_problems(contents: Contents) -> list[str]:
    """What Anthropic refuses about `contents`, once contents of one role in a row are one message."""
    if not contents:
        return ["there is no message"]
    messages = [
        _Message(role=role, parts=list(_parts(group)))
        for role, group in ((role, list(group)) for role, group in groupby(contents, key=_role))
    ]
    problems = [] if messages[0].role == "user" else ["the first message is the assistant's"]
    ids = Counter(call.id for message in messages for call in message.calls)
    problems += [f"call id {call_id!r} is used more than once" for call_id, count in ids.items() if count > 1]
    nobody = _Message(role="user")
    for before, message, after in zip([nobody, *messages], messages, [*messages[1:], nobody], strict=False):
        problems += _anthropic_pairing(before, message, after)
        problems += ["an empty text block" for part in message.parts if part.text is not None and not part.text.strip()]
        problems += [] if message.parts else ["a message without blocks"]
    if messages[-1].role != "user":
        problems.append("the last message is the assistant's")
    return problems


CHECKERS: dict[str, Callable[[Contents], list[str]]] = {
    "gemini": gemini_problems,
    "openai": openai_problems,
    "anthropic": anthropic_problems,
}


@dataclass
class _Message:
    role: str
    parts: list[types.Part] = field(default_factory=list)

    @property
    def calls(self) -> list[types.FunctionCall]:
        return [part.function_call for part in self.parts if part.function_call]

    @property
    def results(self) -> list[types.FunctionResponse]:
        return [part.function_response for part in self.parts if part.function_response]


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
    calls = _Message("model", content.parts or []).calls
    if not calls:
        return
    names = ", ".join(call.name or "" for call in calls)
    results = _Message("user", (after.parts if after else None) or []).results
    if _role(content) == "user":
        yield f"the call of {names} stands in a user turn"
    if before is not None and _role(before) == "model":
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
    message = _Message("user", content.parts or [])
    if not message.results:
        return
    names = ", ".join(result.name or "" for result in message.results)
    if not _Message("model", (before.parts if before else None) or []).calls:
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
    return _role(content) == "user" and not any(part.function_response for part in content.parts or ())


def _chat_messages(contents: Contents) -> Iterator[_Message]:
    # As LiteLLM and ADK translate: a content's results become tool messages, what else it holds a message of its own.
    for content in contents:
        results = [part for part in content.parts or () if part.function_response]
        others = [part for part in content.parts or () if not part.function_response and not part.thought]
        yield from (_Message("tool", [part]) for part in results)
        if others or not results:
            yield _Message("assistant" if _role(content) == "model" else "user", others)


def _chat_problems(message: _Message, open_ids: Counter[str | None]) -> Iterator[str]:
    for call in message.calls:
        open_ids[call.id] += 1
        if not call.id:
            yield f"the call of {call.name} has no id"
    for result in message.results:
        if not open_ids[result.id]:
            yield f"the result of {result.name} with id {result.id!r} answers no call right before it"
        open_ids[result.id] -= 1
        if open_ids[result.id] <= 0:
            del open_ids[result.id]
    if not any(part.model_fields_set and part.text != "" for part in message.parts):
        yield f"an empty {message.role} message"


def _anthropic_pairing(before: _Message, message: _Message, after: _Message) -> Iterator[str]:
    leading = [part.function_response for part in after.parts[: _count_leading_results(after)]]
    answers = Counter(_tie(result) for result in leading if result)
    for call in message.calls:
        if not call.id:
            yield f"the call of {call.name} has no id"
        answers[_tie(call)] -= 1
        if answers[_tie(call)] < 0:
            yield f"call {call.id!r} of {call.name} has no result at the start of the next message"
    asked = Counter(call.id for call in before.calls)
    for result in message.results:
        if not asked[result.id]:
            yield f"the result of {result.name} with id {result.id!r} answers no call of the message before"
    for result_id, count in Counter(result.id for result in message.results).items():
        if count > max(1, asked[result_id]):
            yield f"call {result_id!r} has {count} results"


def _tie(part: types.FunctionCall | types.FunctionResponse) -> str:
    """What ties a result to its call: the id, or the tool's name where ADK has taken the ids away."""
    return part.id or f"of {part.name}"


def _count_leading_results(message: _Message) -> int:
    return next((i for i, part in enumerate(message.parts) if not part.function_response), len(message.parts))


def _role(content: types.Content) -> str:
    return "model" if content.role == "model" else "user"


def _parts(contents: Contents) -> Iterator[types.Part]:
    return (part for content in contents for part in content.parts or ())


def _body(part: types.Part) -> str:
    if part.function_call:
        return f"{part.function_call.name}({part.function_call.args})"
    return part.text or repr(part.model_dump(exclude={"thought_signature"}, exclude_none=True))

"""What Gemini, OpenAI and Anthropic refuse about the order and the pairing of contents, as pure checkers.

Each checker takes a request's contents and gives one sentence for each thing that the provider would answer with a
400. The sentences name tools and ids but no positions, so that the sentences of a request before and after a pass can
be compared: `new_problems(before, after)` is what the pass alone is to blame for.

The rules and their sources stand with each provider's checker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile

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
    signed = Counter(_body(part) for part in parts_of(before) if part.thought_signature)
    bare = Counter(_body(part) for part in parts_of(before) if not part.thought_signature)
    bare_now = Counter(_body(part) for part in parts_of(after) if not part.thought_signature)
    return [f"the thought signature of {body!r} is lost" for body in (bare_now - bare) if body in signed]


def _body(part: types.Part) -> str:
    if part.function_call:
        return f"{part.function_call.name}({part.function_call.args})"
    return part.text or repr(part.model_dump(exclude={"thought_signature"}, exclude_none=True))


@dataclass
class Message:
    """A role and parts."""

    role: str
    parts: list[types.Part] = field(default_factory=list)

    @property
    def calls(self) -> list[types.FunctionCall]:
        return [part.function_call for part in self.parts if part.function_call]

    @property
    def results(self) -> list[types.FunctionResponse]:
        return [part.function_response for part in self.parts if part.function_response]


def role_of(content: types.Content) -> str:
    return "model" if content.role == "model" else "user"


def parts_of(contents: Contents) -> Iterator[types.Part]:
    return (part for content in contents for part in content.parts or ())


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


def _chat_messages(contents: Contents) -> Iterator[Message]:
    # As LiteLLM and ADK translate: a content's results become tool messages, what else it holds a message of its own.
    for content in contents:
        results = [part for part in content.parts or () if part.function_response]
        others = [part for part in content.parts or () if not part.function_response and not part.thought]
        yield from (Message("tool", [part]) for part in results)
        if others or not results:
            yield Message("assistant" if role_of(content) == "model" else "user", others)


def _chat_problems(message: Message, open_ids: Counter[str | None]) -> Iterator[str]:
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


def anthropic_problems(contents: Contents) -> list[str]:
    """What Anthropic refuses about `contents`, once contents of one role in a row are one message."""
    if not contents:
        return ["there is no message"]
    messages = [
        Message(role=role, parts=list(parts_of(group)))
        for role, group in ((role, list(group)) for role, group in groupby(contents, key=role_of))
    ]
    problems = [] if messages[0].role == "user" else ["the first message is the assistant's"]
    ids = Counter(call.id for message in messages for call in message.calls)
    problems += [f"call id {call_id!r} is used more than once" for call_id, count in ids.items() if count > 1]
    nobody = Message(role="user")
    for before, message, after in zip([nobody, *messages], messages, [*messages[1:], nobody], strict=False):
        problems += _anthropic_pairing(before, message, after)
        problems += ["an empty text block" for part in message.parts if part.text is not None and not part.text.strip()]
        problems += [] if message.parts else ["a message without blocks"]
    if messages[-1].role != "user":
        problems.append("the last message is the assistant's")
    return problems


def _anthropic_pairing(before: Message, message: Message, after: Message) -> Iterator[str]:
    leading = takewhile(lambda answer: answer is not None, (part.function_response for part in after.parts))
    answers = Counter(map(_tie, leading))
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
    said = (i for i, content in enumerate(contents) if role_of(content) == "user")
    start = max((i for i in said if not any(part.function_response for part in contents[i].parts or ())), default=0)
    steps = [next((part for part in content.parts or () if part.function_call), None) for content in contents[start:]]
    return [
        f"the call of {part.function_call.name} lacks its thought signature"
        for part in steps
        if part and part.function_call and not part.thought_signature
    ]


CHECKERS: dict[str, Callable[[Contents], list[str]]] = {
    "gemini": gemini_problems,
    "openai": openai_problems,
    "anthropic": anthropic_problems,
}

"""What Anthropic refuses about messages, as a pure checker.

Sources:

* Anthropic: "`tool_use` ids were found without `tool_result` blocks immediately after" (github.com/aliasrobotics/cai
  issue 182, with "text content blocks must be non-empty"), "unexpected `tool_use_id` found in `tool_result` blocks"
  (github.com/anthropics/claude-code issue 18947); results stand before any text of their message
  (https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls). Messages of one role in a row are
  joined, ids must be unique, the first message is the user's, and newer models refuse a final assistant message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from google.genai import types

from tests.support.rule_message import Contents, Message, parts_of, role_of


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


def _count_leading_results(message: Message) -> int:
    return next((i for i, part in enumerate(message.parts) if not part.function_response), len(message.parts))

"""What OpenAI and compatible servers refuse about messages, as a pure checker.

Sources:

* OpenAI: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'"
  (github.com/BerriAI/litellm issue 28995), "messages with role 'tool' must be a response to a preceding message with
  'tool_calls'" (github.com/microsoft/promptflow pull request 3130). A final assistant message is accepted by OpenAI
  itself and refused by compatible servers; it counts as a problem here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.support.rule_message import Contents, Message, role_of


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

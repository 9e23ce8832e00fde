"""The chat completions API, as strict as OpenAI's and, for the last message, as the strictest that are compatible.

The wording and its sources: see `tests/support/rules_openai.py`; also github.com/dapr/dapr-agents issue 145
(unknown ids), github.com/agno-agi/agno issue 5116 (the same id twice), and for a last message of the assistant's
github.com/BerriAI/litellm on Mistral ("Expected last role User or Tool …").
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

Json = dict[str, Any]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONGEST_ID = 40
_NO_CALL = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
_NO_RESULT = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: {ids}"
)


class StrictOpenAI:
    """One server's worth of the API."""

    _numbers = itertools.count(1)

    def serves(self, path: str) -> bool:
        return path.split("?", maxsplit=1)[0].endswith("/chat/completions")

    def streams(self, body: Json, path: str) -> bool:
        return bool(body.get("stream"))

    def error(self, message: str) -> Json:
        return {"error": {"message": message, "type": "invalid_request_error", "param": "messages", "code": None}}

    def refusal(self, body: Json) -> str | None:
        messages = body.get("messages")
        if not messages:
            return "Invalid 'messages': empty array. Expected an array with minimum length 1."
        found = itertools.chain(_tools(body), *itertools.starmap(_shape, enumerate(messages)), _order(messages))
        return next(found, None)

    def read(self, body: Json) -> LlmRequest:
        messages = body["messages"]
        system = "\n".join(_text(message) for message in messages if message["role"] in ("system", "developer"))
        names = [tool["function"]["name"] for tool in body.get("tools", ())]
        config = types.GenerateContentConfig(system_instruction=system or None)
        config.tools = [types.Tool(function_declarations=[types.FunctionDeclaration(name=name) for name in names])]
        config.response_schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
        called = {c["id"]: c["function"]["name"] for message in messages for c in message.get("tool_calls") or ()}
        contents = []
        for is_tool, group in itertools.groupby(messages, key=lambda message: message["role"] == "tool"):
            if is_tool:
                parts = [_result(message, called) for message in group]
                contents.append(types.Content(role="user", parts=parts))
            else:
                contents += [_content(message) for message in group if message["role"] in ("user", "assistant")]
        return LlmRequest(contents=contents, config=config)

    def reply(self, content: types.Content, body: Json, path: str) -> list[Any]:
        text = "".join(part.text for part in content.parts or () if part.text)
        calls = [
            {
                "id": f"call_{next(self._numbers)}",
                "type": "function",
                "function": {"name": part.function_call.name, "arguments": json.dumps(part.function_call.args or {})},
            }
            for part in content.parts or ()
            if part.function_call
        ]
        message = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
        sent = len(json.dumps(body))
        usage = {"prompt_tokens": sent // 4, "completion_tokens": 9, "total_tokens": sent // 4 + 9}
        head = {"id": "chat", "created": 1, "model": body["model"]}
        finish = "tool_calls" if calls else "stop"
        if not self.streams(body, path):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return [{**head, "object": "chat.completion", "choices": [choice], "usage": usage}]
        message["tool_calls"] = [{"index": i, **call} for i, call in enumerate(calls)]
        head["object"] = "chat.completion.chunk"
        return [
            {**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            {**head, "choices": [], "usage": usage},
            "[DONE]",
        ]


def _tools(body: Json) -> Iterator[str]:
    if body.get("tools") == []:
        yield "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead."
    names = [tool["function"]["name"] for tool in body.get("tools") or ()]
    for name in names:
        if not _NAME.fullmatch(name):
            yield "Invalid 'tools[0].function.name': string does not match pattern. Expected '^[a-zA-Z0-9_-]+$'."
        if names.count(name) > 1:
            yield f"Invalid 'tools': function names must be unique, but {name!r} is not."


def _shape(index: int, message: Json) -> Iterator[str]:
    role = message.get("role")
    place = f"messages[{index}]"
    if role not in ("system", "developer", "user", "assistant", "tool"):
        yield f"Invalid value: {role!r}. Supported values are: 'system', 'assistant', 'user', 'function', and 'tool'."
    calls = message.get("tool_calls")
    if calls is not None and not calls:
        yield f"Invalid '{place}.tool_calls': empty array. Expected an array with minimum length 1."
    for call in calls or ():
        yield from _call_shape(place, call)
    content = message.get("content")
    if content is None and not calls:
        yield f"Invalid value for 'content': expected a string, got null. ({place})"
    if content == [] or (content == "" and role != "tool" and not calls):
        yield f"Invalid '{place}.content': it is empty."
    for part in content if isinstance(content, list) else ():
        if part.get("type") == "text" and not part.get("text"):
            yield f"Invalid '{place}.content': a text part is empty."
    if role == "tool" and not message.get("tool_call_id"):
        yield "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'."


def _call_shape(place: str, call: Json) -> Iterator[str]:
    if not call.get("id"):
        yield f"Missing required parameter: '{place}.tool_calls[0].id'."
    elif len(call["id"]) > _LONGEST_ID:
        yield f"Invalid '{place}.tool_calls[0].id': string too long. Expected a string with maximum length 40."
    if not _NAME.fullmatch(call["function"].get("name") or ""):
        yield f"Invalid '{place}.tool_calls[0].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'."
    if not isinstance(call["function"].get("arguments"), str):
        yield f"Invalid type for '{place}.tool_calls[0].function.arguments': expected a string."


def _order(messages: list[Json]) -> Iterator[str]:
    waiting: list[str] = []
    answered: set[str] = set()
    for message in messages:
        if message["role"] != "tool":
            if waiting:
                yield _NO_RESULT.format(ids=", ".join(waiting))
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
            answered = set()
            if len(set(waiting)) < len(waiting):
                yield f"Invalid parameter: Duplicate value for 'tool_calls' id in {waiting}."
            continue
        call_id = message["tool_call_id"]
        if call_id in answered:
            yield f"Invalid parameter: Duplicate value for 'tool_call_id' of '{call_id}'."
        elif not waiting and not answered:
            yield _NO_CALL
        elif call_id not in waiting:
            yield f"Invalid parameter: 'tool_call_id' of '{call_id}' not found in 'tool_calls' of previous message."
        else:
            waiting.remove(call_id)
            answered.add(call_id)
    if waiting:
        yield _NO_RESULT.format(ids=", ".join(waiting))
    if messages[-1]["role"] not in ("user", "tool"):
        yield f"Expected last role User or Tool (or Assistant with prefix True) but got {messages[-1]['role']}"


def _text(message: Json) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _content(message: Json) -> types.Content:
    parts = [types.Part(text=text)] if (text := _text(message)) else []
    for call in message.get("tool_calls") or ():
        args = json.loads(call["function"]["arguments"])
        parts.append(
            types.Part(function_call=types.FunctionCall(id=call["id"], name=call["function"]["name"], args=args))
        )
    return types.Content(role="model" if message["role"] == "assistant" else "user", parts=parts)


def _result(message: Json, called: dict[str, str]) -> types.Part:
    call_id = message["tool_call_id"]
    response = types.FunctionResponse(id=call_id, name=called[call_id], response=result_of(_text(message)))
    return types.Part(function_response=response)


def result_of(text: str) -> Json:
    """A result as it stood in the request: the object that its JSON text says, or the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return {"result": text}
    return value if isinstance(value, dict) else {"result": value}

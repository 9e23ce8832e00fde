"""The interactions API of Google's and the responses API of OpenAI's, which keep what they were sent and answered.

A request names the interaction that it goes on from, and its tokens are those of the whole chain. What is refused: an
interaction that nobody made, and a result whose call is neither in the chain nor in the request, or is answered twice.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

Json = dict[str, Any]


class KeptChains:
    """One server's worth of both APIs; `counted` is how many tokens each request had with its chain, oldest first."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._kept: dict[str, list[Json]] = {}
        self.counted: list[int] = []

    def serves(self, path: str) -> bool:
        return path.split("?", maxsplit=1)[0].endswith(("/interactions", "/responses"))

    def streams(self, body: Json, path: str) -> bool:
        return bool(body.get("stream"))

    def error(self, message: str) -> Json:
        return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": 400}}

    def refusal(self, body: Json) -> str | None:
        before = _previous(body)
        if before is not None and before not in self._kept:
            return f"Previous response with id '{before}' not found."
        if not body.get("input"):
            return "Missing required parameter: 'input'."
        calls, results = set(), set()
        for item in self._chain(body):
            if item["type"] == "function_call":
                calls.add(_id(item))
            elif "function" in item["type"]:
                if _id(item) not in calls:
                    return f"No tool call found for function call output with call_id {_id(item)}."
                if _id(item) in results:
                    return f"Duplicate output for call_id {_id(item)}."
                results.add(_id(item))
        return f"No tool output found for function call {min(missing)}." if (missing := calls - results) else None

    def read(self, body: Json) -> LlmRequest:
        return LlmRequest(contents=[_content(item) for item in self._chain(body)])

    def reply(self, content: types.Content, body: Json, path: str) -> list[Any]:
        tokens = len(json.dumps([self._chain(body), body.get("tools"), _instruction(body)])) // 4
        self.counted.append(tokens)
        made = [self._item(part, path) for part in content.parts or ()]
        key = f"made_{next(self._numbers)}"
        self._kept[key] = [*self._chain(body), *made]
        answer = {"id": key, "model": body["model"], "status": "completed", "created": "2026-01-01T00:00:00Z"}
        if "/interactions" not in path:
            usage = {"input_tokens": tokens, "output_tokens": 9, "total_tokens": tokens + 9}
            details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
            head = {"object": "response", "created_at": 1, "parallel_tool_calls": True, "tool_choice": "auto"}
            return [{**answer, **head, "created": None, "tools": [], "output": made, "usage": {**usage, **details}}]
        usage = {"total_input_tokens": tokens, "total_output_tokens": 9, "total_tokens": tokens + 9}
        # Newer clients read steps, and older ones outputs.
        flat = [each for item in made for each in item.get("content", [item])]
        return [{**answer, "updated": answer["created"], "usage": usage, "steps": made, "outputs": flat}]

    def _chain(self, body: Json) -> list[Json]:
        # A call that comes along with its result is the one that is kept.
        kept = self._kept.get(_previous(body) or "", [])
        known = {_id(item) for item in kept if item["type"] == "function_call"}
        return [*kept, *(each for each in _items(body) if each["type"] != "function_call" or _id(each) not in known)]

    def _item(self, part: types.Part, path: str) -> Json:
        number = next(self._numbers)
        google = "/interactions" in path
        if part.function_call is None:
            text = {"type": "text" if google else "output_text", "text": part.text, "annotations": []}
            own = (
                {"type": "model_output"} if google else {"type": "message", "role": "assistant", "id": f"msg_{number}"}
            )
            return {**own, "content": [text], "status": "completed"}
        call = {"type": "function_call", "id": f"call_{number}", "name": part.function_call.name}
        args = part.function_call.args or {}
        more = {"arguments": args} if google else {"arguments": json.dumps(args), "call_id": f"call_{number}"}
        return {**call, **more}


def _previous(body: Json) -> str | None:
    return body.get("previous_interaction_id") or body.get("previous_response_id")


def _instruction(body: Json) -> str | None:
    return body.get("system_instruction") or body.get("instructions")


def _items(body: Json) -> Iterator[Json]:
    """The items of a request, those of the turns of an older client included."""
    for item in body["input"]:
        if "role" in item and "type" not in item:
            said = "model_output" if item["role"] == "model" else "user_input"
            for each in item["content"]:
                yield {"type": said, "content": [each]} if each["type"] == "text" else each
        else:
            yield item


def _id(item: Json) -> str:
    return str(item.get("call_id") or item.get("id"))


def _content(item: Json) -> types.Content:
    is_said = item["type"] == "model_output" or item.get("role") == "assistant"
    if item["type"] == "function_call":
        part = types.Part(function_call=types.FunctionCall(id=_id(item), name=item["name"]))
    elif "function" in item["type"]:
        result = {"result": item.get("result") or item.get("output")}
        part = types.Part(function_response=types.FunctionResponse(id=_id(item), name="tool", response=result))
    else:
        text = item["content"]
        part = types.Part(text=text if isinstance(text, str) else "".join(each["text"] for each in text))
        return types.Content(role="model" if is_said else "user", parts=[part])
    return types.Content(role="model" if part.function_call else "user", parts=[part])

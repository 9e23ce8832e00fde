"""The interactions API of Google's and the responses API of OpenAI's, which keep what they were sent and answered.

A request names the interaction that it goes on from, and its tokens are those of the whole chain. What is refused: an
interaction that nobody made, and results that do not answer the calls in the chain and the request, each one once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from tests.providers.strict_openai import StrictOpenAI

Json = dict[str, Any]


class KeptChains(StrictOpenAI):
    """One server's worth of both APIs; `counted` is how many tokens each request had with its chain, oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[str, list[Json]] = {}
        self.counted: list[int] = []

    def serves(self, path: str) -> bool:
        return path.split("?", maxsplit=1)[0].endswith(("/interactions", "/responses"))

    def refusal(self, body: Json) -> str | None:
        before = _previous(body)
        if before is not None and before not in self._kept:
            return f"Previous response with id '{before}' not found."
        if not body.get("input"):
            return "Missing required parameter: 'input'."
        found: dict[bool, list[str]] = {True: [], False: []}
        for item in self._chain(body):
            if "function" in item["type"]:
                found[item["type"] == "function_call"].append(_id(item))
        return None if found[True] == found[False] else f"Tool outputs {found[False]} for calls {found[True]}."

    def read(self, body: Json) -> LlmRequest:
        return LlmRequest(contents=[_content(item) for item in self._chain(body)])

    def reply(self, content: types.Content, body: Json, path: str) -> list[Any]:
        read = [self._chain(body), *map(body.get, ("tools", "system_instruction", "instructions"))]
        self.counted.append(tokens := len(json.dumps(read)) // 4)
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
            said = {"type": "text" if google else "output_text", "text": part.text, "annotations": []}
            kind = "model_output" if google else "message"
            return {"type": kind, "role": "assistant", "id": f"msg_{number}", "content": [said], "status": "completed"}
        key, args = f"call_{number}", part.function_call.args or {}
        given = args if google else json.dumps(args)
        return {"type": "function_call", "id": key, "call_id": key, "name": part.function_call.name, "arguments": given}


def _previous(body: Json) -> str | None:
    return body.get("previous_interaction_id") or body.get("previous_response_id")


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
    if item["type"] == "function_call":
        return types.ModelContent(types.Part.from_function_call(name=item["name"], args={}))
    if "function" in item["type"]:
        result = {"result": item.get("result") or item.get("output")}
        return types.UserContent(types.Part.from_function_response(name="tool", response=result))
    text = item["content"] if isinstance(item["content"], str) else "".join(each["text"] for each in item["content"])
    is_said = item["type"] == "model_output" or item.get("role") == "assistant"
    return types.ModelContent(text) if is_said else types.UserContent(text)

"""The messages API, as strict as Anthropic's newer models are.

The wording and its sources: see `tests/support/rules_anthropic.py`; also github.com/trycua/cua issue 524 (ids that are
not unique).
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from tests.providers.strict_openai import result_of

Json = dict[str, Any]
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NO_RESULT = (
    "messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
_NO_CALL = (
    "messages.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {ids}. "
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
_PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message."


class StrictAnthropic:
    """One server's worth of the API."""

    _numbers = itertools.count(1)

    def serves(self, path: str) -> bool:
        return path.split("?", maxsplit=1)[0].endswith("/v1/messages")

    def streams(self, body: Json, path: str) -> bool:
        return bool(body.get("stream"))

    def error(self, message: str) -> Json:
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}

    def refusal(self, body: Json) -> str | None:
        messages = body.get("messages")
        if not messages:
            return "messages: at least one message is required"
        shapes = itertools.chain(_frame(body), *itertools.starmap(_shape, enumerate(messages)))
        if (wrong := next(shapes, None)) is not None:
            return wrong
        return next(_order(_joined(messages)), None)

    def read(self, body: Json) -> LlmRequest:
        system = body.get("system") or ""
        system = system if isinstance(system, str) else "\n".join(block["text"] for block in system)
        names = [tool["name"] for tool in body.get("tools", ())]
        config = types.GenerateContentConfig(system_instruction=system or None)
        config.tools = [types.Tool(function_declarations=[types.FunctionDeclaration(name=name) for name in names])]
        blocks = [block for message in body["messages"] for block in _blocks(message)]
        called = {block["id"]: block["name"] for block in blocks if block["type"] == "tool_use"}
        contents = [
            types.Content(
                role="model" if message["role"] == "assistant" else "user",
                parts=[_part(block, called) for block in _blocks(message)],
            )
            for message in body["messages"]
        ]
        return LlmRequest(contents=contents, config=config)

    def reply(self, content: types.Content, body: Json, path: str) -> list[Any]:
        blocks = [self._block(part) for part in content.parts or ()]
        stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
        message = {
            "id": f"msg_{next(self._numbers)}", "type": "message", "role": "assistant", "model": body["model"],
            "content": blocks, "stop_reason": stop, "stop_sequence": None,
            "usage": {"input_tokens": len(json.dumps(body)) // 4, "output_tokens": 9},
        }  # fmt: skip
        return _stream(message) if self.streams(body, path) else [message]

    def _block(self, part: types.Part) -> Json:
        if part.function_call is None:
            return {"type": "text", "text": part.text}
        call_id = f"toolu_{next(self._numbers)}"
        return {
            "type": "tool_use",
            "id": call_id,
            "name": part.function_call.name,
            "input": part.function_call.args or {},
        }


def _stream(message: Json) -> list[Json]:
    entries: list[Json] = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}]
    for index, block in enumerate(message["content"]):
        is_text = block["type"] == "text"
        start = {**block, "text": ""} if is_text else {**block, "input": {}}
        given = {"type": "input_json_delta", "partial_json": json.dumps(block.get("input"))}
        delta = {"type": "text_delta", "text": block["text"]} if is_text else given
        entries += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    return [*entries, {"type": "message_delta", "delta": end, "usage": message["usage"]}, {"type": "message_stop"}]


def _frame(body: Json) -> Iterator[str]:
    if not isinstance(body.get("max_tokens"), int):
        yield "max_tokens: Field required"
    if "system" in body and not isinstance(body["system"], str | list):
        yield "system: Input should be a valid list"
    if any(not block.get("text") for block in body.get("system") or () if isinstance(block, dict)):
        yield "system: text content blocks must be non-empty"
    names = [tool["name"] for tool in body.get("tools") or ()]
    if len(set(names)) < len(names):
        yield "tools: Tool names must be unique."
    used = any(block["type"].startswith("tool_") for message in body["messages"] for block in _blocks(message))
    if used and not names:
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools"


def _shape(index: int, message: Json) -> Iterator[str]:
    if message.get("role") not in ("user", "assistant"):
        yield f"messages.{index}.role: Input should be 'user' or 'assistant'"
    if not message.get("content"):
        yield f"messages.{index}: all messages must have non-empty content except for the optional final assistant"
    for place, block in enumerate(_blocks(message)):
        at = f"messages.{index}.content.{place}"
        if block["type"] == "text" and not block.get("text"):
            yield "messages: text content blocks must be non-empty"
        elif block["type"] == "text" and not block["text"].strip():
            yield "messages: text content blocks must contain non-whitespace text"
        for field, role in (("tool_use.id", "assistant"), ("tool_result.tool_use_id", "user")):
            kind, key = field.split(".")
            if block["type"] != kind:
                continue
            if message["role"] != role:
                yield f"{at}: `{kind}` blocks can only be in `{role}` messages"
            if not _ID.fullmatch(block.get(key) or ""):
                yield f"{at}.{field}: String should match pattern '^[a-zA-Z0-9_-]+$'"


def _order(messages: list[Json]) -> Iterator[str]:
    if messages[0]["role"] != "user":
        yield 'messages: first message must use the "user" role'
    ids = [block["id"] for message in messages for block in message["content"] if block["type"] == "tool_use"]
    if len(set(ids)) < len(ids):
        yield "messages: `tool_use` ids must be unique"
    nobody: Json = {"content": []}
    for place, (before, message, after) in enumerate(
        zip([nobody, *messages], messages, [*messages[1:], nobody], strict=False)
    ):
        leading = itertools.takewhile(lambda block: block["type"] == "tool_result", after["content"])
        answered = {block["tool_use_id"] for block in leading}
        called = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        if missing := [call_id for call_id in called if call_id not in answered]:
            yield _NO_RESULT.format(place=place, ids=", ".join(missing))
        yield from _results(place, before, message)
    if messages[-1]["role"] != "user":
        yield _PREFILL


def _results(place: int, before: Json, message: Json) -> Iterator[str]:
    asked = {block["id"] for block in before["content"] if block["type"] == "tool_use"}
    results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
    if strange := [result for result in results if result not in asked]:
        yield _NO_CALL.format(place=f"{place}.content.0", ids=", ".join(strange))
    if len(set(results)) < len(results):
        yield "each tool_use must have a single result. Found multiple `tool_result` blocks"


def _joined(messages: list[Json]) -> list[Json]:
    groups = itertools.groupby(messages, key=lambda message: message["role"])
    return [{"role": role, "content": [b for message in group for b in _blocks(message)]} for role, group in groups]


def _blocks(message: Json) -> list[Json]:
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _part(block: Json, called: dict[str, str]) -> types.Part:
    if block["type"] == "tool_use":
        call = types.FunctionCall(id=block["id"], name=block["name"], args=block["input"])
        return types.Part(function_call=call)
    if block["type"] == "tool_result":
        content = block.get("content") or ""
        text = content if isinstance(content, str) else "".join(entry.get("text", "") for entry in content)
        call_id = block["tool_use_id"]
        return types.Part(
            function_response=types.FunctionResponse(id=call_id, name=called[call_id], response=result_of(text))
        )
    return types.Part(text=block.get("text") or block.get("thinking") or "")

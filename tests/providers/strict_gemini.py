"""The Gemini API, `generateContent` and `streamGenerateContent`, as strict as Google's.

It hands out a thought signature with the first call of each step and wants it back, unchanged and on that call, as
long as the turn lasts. A model whose name starts with `gemini-3` gives its calls ids, others give none.

The wording and its sources: see `tests/support/provider_rules.py`; for contents and parts that are empty also
github.com/genkit-ai/genkit issue 3816, for the last turn github.com/songquanpeng/one-api issue 836, for signatures
github.com/google-gemini/gemini-cli issue 26682.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

Json = dict[str, Any]
_DATA = {"text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode", "codeExecutionResult"}
_CALL_AFTER = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
_RESULT_AFTER = "Please ensure that function response turn comes immediately after a function call turn."
_COUNTS = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
_MIXED = "Please ensure that function response parts are not mixed with function call or other parts."
_LAST = "Please ensure that multiturn requests ends with a user role or a function response."
_UNSIGNED = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance. Additional data, function call "
    "`default_api:{name}` , position {position}. Please refer to "
    "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
)


class StrictGemini:
    """One server's worth of the API; it remembers the signatures that it handed out."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._signed: dict[bytes, Json] = {}

    def serves(self, path: str) -> bool:
        return re.search(r"/models/[^/]+:(stream)?generateContent", path, re.IGNORECASE) is not None

    def streams(self, body: Json, path: str) -> bool:
        return ":stream" in path

    def error(self, message: str) -> Json:
        return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}

    def refusal(self, body: Json) -> str | None:
        contents = body.get("contents")
        if not contents:
            return "* GenerateContentRequest.contents: contents is not specified"
        system = [body["systemInstruction"]] if "systemInstruction" in body else []
        return next(
            itertools.chain(
                _shapes("system_instruction", system), _shapes("contents", contents), _order(contents),
                self._signatures(contents),
            ),
            None,
        )  # fmt: skip

    def read(self, body: Json) -> LlmRequest:
        system = "\n".join(part.get("text", "") for part in body.get("systemInstruction", {}).get("parts", ()))
        config = types.GenerateContentConfig(system_instruction=system or None)
        names = [f["name"] for tool in body.get("tools", ()) for f in tool.get("functionDeclarations", ())]
        config.tools = [types.Tool(function_declarations=[types.FunctionDeclaration(name=name) for name in names])]
        config.response_schema = _schema(body.get("generationConfig", {}))
        return LlmRequest(contents=[_content(entry) for entry in body["contents"]], config=config)

    def reply(self, content: types.Content, body: Json, path: str) -> list[Any]:
        with_ids = "/gemini-3" in path
        parts = [json.loads(part.model_dump_json(by_alias=True, exclude_none=True)) for part in content.parts or ()]
        called = [part for part in parts if "functionCall" in part]
        for part in called:
            part["functionCall"].pop("id", None)
            if with_ids:
                part["functionCall"]["id"] = f"gemini_{next(self._numbers)}"
        if called:
            self._sign(called[0])
            parts = [{"text": "I think about what to call.", "thought": True}, *parts]
        sent = len(json.dumps(body))
        usage = {"promptTokenCount": sent // 4, "candidatesTokenCount": 9, "totalTokenCount": sent // 4 + 9}
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        return [{"candidates": [candidate], "usageMetadata": usage, "modelVersion": "strict"}]

    def _sign(self, part: Json) -> None:
        signature = f"signature {next(self._numbers)} \xfb\xff".encode("latin-1")
        self._signed[signature] = part["functionCall"]
        part["thoughtSignature"] = base64.b64encode(signature).decode()

    def _signatures(self, contents: list[Json]) -> Iterator[str]:
        said = (i for i, one in enumerate(contents) if _role(one) == "user" and not _of(one, "functionResponse"))
        turn = max(said, default=0)
        for position, content in enumerate(contents):
            calls = [part for part in content["parts"] if "functionCall" in part]
            for part in content["parts"]:
                signature = part.get("thoughtSignature")
                if signature is None:
                    continue
                signed = self._signed.get(base64.b64decode(signature.replace("-", "+").replace("_", "/")))
                call = part.get("functionCall", {})
                if signed is None or any((signed.get(key) or {}) != (call.get(key) or {}) for key in ("name", "args")):
                    yield "Corrupted thought signature."
            if position > turn and calls and "thoughtSignature" not in calls[0]:
                yield _UNSIGNED.format(name=calls[0]["functionCall"].get("name"), position=position + 1)


def _shapes(field: str, contents: list[Json]) -> Iterator[str]:
    for i, content in enumerate(contents):
        if field == "contents" and content.get("role", "user") not in ("user", "model"):
            yield "Please use a valid role: user, model."
        if not content.get("parts"):
            yield f"* GenerateContentRequest.{field}[{i}].parts: contents.parts must not be empty."
        for j, part in enumerate(content.get("parts") or ()):
            place = f"GenerateContentRequest.{field}[{i}].parts[{j}]"
            if len(_DATA & part.keys()) != 1:
                yield f"* {place}.data: required oneof field 'data' must have one initialized field"
            if part.get("text") == "" and "thoughtSignature" not in part:
                yield f"Unable to submit request because it must have a text parameter. Add one and try again: {place}"
            for kind in ("functionCall", "functionResponse"):
                if kind in part and not part[kind].get("name"):
                    yield f"* {place}.{kind}.name: Name cannot be empty."


def _order(contents: list[Json]) -> Iterator[str]:
    if _role(contents[0]) == "model" and not _of(contents[0], "functionCall"):
        yield "Please ensure that multiturn requests start with a user role."
    for i, content in enumerate(contents):
        calls, results = _of(content, "functionCall"), _of(content, "functionResponse")
        before = contents[i - 1] if i else {"role": "model", "parts": []}
        after = contents[i + 1] if i + 1 < len(contents) else {"parts": []}
        if calls:
            if _role(content) != "model" or _role(before) != "user":
                yield _CALL_AFTER
            yield from _answered(calls, _of(after, "functionResponse"))
        if results:
            if not _of(before, "functionCall"):
                yield _RESULT_AFTER
            if _role(content) == "model" or len(results) != len(content["parts"]):
                yield _MIXED
    if _role(contents[-1]) == "model":
        yield _LAST


def _answered(calls: list[Json], results: list[Json]) -> Iterator[str]:
    if len(calls) != len(results):
        yield _COUNTS
    elif Counter(call["name"] for call in calls) != Counter(result["name"] for result in results):
        yield "Please ensure that the names of function responses match those of the function calls."
    elif Counter(call.get("id") for call in calls) != Counter(result.get("id") for result in results):
        yield "Please ensure that the ids of function responses match those of the function calls."


def _of(content: Json, kind: str) -> list[Json]:
    return [part[kind] for part in content["parts"] if kind in part]


def _role(content: Json) -> str:
    return content.get("role") or "user"


def _content(entry: Json) -> types.Content:
    # In JSON mode, so that base64 becomes bytes.
    return types.Content.model_validate_json(json.dumps(entry))


def _schema(config: Json) -> Any:
    return config.get("responseSchema") or config.get("responseJsonSchema")

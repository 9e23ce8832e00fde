"""Makes smaller what ADK's own memory tools put into a request."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types
from pydantic import BaseModel

from adk_context_pack._adk.known_tools import kind_in
from adk_context_pack.conversation.contents import changed
from adk_context_pack.conversation.recalled import Memory, ranked_lines
from adk_context_pack.conversation.tokens import TokenMeter

_PRELOADED = re.compile(r"(<PAST_CONVERSATIONS>\n)(.*)(\n</PAST_CONVERSATIONS>)", re.DOTALL)
_ENTRY = re.compile(r"^(?:Time: (?P<time>[^\n]*)\n)(?P<text>.*?)(?=\nTime: |\Z)", re.DOTALL | re.MULTILINE)

Slim = Callable[[str, Sequence[Memory]], list[str]]
"""From a query and memories to the lines that fit the budget, best first."""


def slim_by(meter: TokenMeter, max_tokens: int) -> Slim:
    """Returns the function that ranks memories within `max_tokens`."""
    return lambda query, memories: ranked_lines(query, memories, max_tokens=max_tokens, meter=meter)


def holds_preloaded(contents: Sequence[types.Content], instruction: object) -> bool:
    """Returns whether ADK's `PreloadMemoryTool` has put memories into a request."""
    texts = [part.text for content in contents for part in content.parts or () if part.text]
    return any("<PAST_CONVERSATIONS>" in text for text in (*texts, str(instruction or "")))


def slim_preloaded(text: str, query: str, slim: Slim) -> str:
    """Returns a text in which the memories that `PreloadMemoryTool` wrote are the best ones, within the budget."""

    def ranked(match: re.Match[str]) -> str:
        entries = [Memory(one["text"], "", one["time"]) for one in _ENTRY.finditer(match[2])]
        lines = slim(query, entries or [Memory(line) for line in match[2].splitlines()])
        kept = "\n".join(lines)
        return f"{match[1]}{kept}{match[3]}" if len(kept) < len(match[2]) else match[0]

    return _PRELOADED.sub(ranked, text)


def slim_loaded(request: LlmRequest, slim: Slim, meter: TokenMeter) -> list[types.Content]:
    """Returns a request's contents, in which each result of `load_memory` holds its best memories.

    Each result depends on itself and its own call alone, so that it stays as it was sent.
    """
    queries: deque[str] = deque()
    found = []
    for content in request.contents or ():
        parts = [
            _slim_part(part, queries, slim, meter) if _loads(part, request.tools_dict) else part
            for part in content.parts or ()
        ]
        same = all(new is old for new, old in zip(parts, content.parts or (), strict=True))
        found.append(content if same else changed(content, "parts", parts))
    return found


def _slim_part(part: types.Part, queries: deque[str], slim: Slim, meter: TokenMeter) -> types.Part:
    if (call := part.function_call) is not None:
        queries.append(str((call.args or {}).get("query", "")))
    result = part.function_response
    if result is None:
        return part
    query = queries.popleft() if queries else ""
    memories = _memories(result.response)
    if not memories:
        return part
    response = {"memories": slim(query, memories)}
    if meter.payload(response) >= meter.payload(_plain(result.response)):
        return part
    return changed(part, "function_response", changed(result, "response", response))


def _loads(part: types.Part, tools: Mapping[str, Any] | None) -> bool:
    said = part.function_call or part.function_response
    return said is not None and kind_in(tools, said.name) == "memory"


def _memories(response: Any) -> list[Memory]:
    plain = _plain(response)
    entries = plain.get("memories") if isinstance(plain, dict) else None
    found = []
    for entry in entries if isinstance(entries, list) else ():
        parts = ((entry.get("content") or {}).get("parts") or []) if isinstance(entry, dict) else []
        if text := "\n".join(part["text"] for part in parts if isinstance(part, dict) and part.get("text")):
            found.append(Memory(text, entry.get("author") or "", entry.get("timestamp") or ""))
    return found


def _plain(response: Any) -> Any:
    """Returns a response as plain data, without the `result` that ADK puts around values other than dicts."""
    if isinstance(response, dict) and set(response) == {"result"}:
        response = response["result"]
    return response.model_dump(mode="json") if isinstance(response, BaseModel) else response

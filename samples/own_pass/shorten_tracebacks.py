"""A pass of one's own: of a traceback in a tool's result, the model sees the last line."""

from dataclasses import dataclass
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import ContextPass, ModelCall

START = "Traceback (most recent call last):"


@dataclass(frozen=True, kw_only=True)
class ShortenTracebacks(ContextPass):
    """Leaves of each traceback what came before it and its last line. Same in, same out: no cost to the cache."""

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """The request with shorter results, or the very same one."""
        contents = [_content(content) for content in request.contents]
        changed = sum(new is not old for new, old in zip(contents, request.contents, strict=True))
        if not changed:
            return request
        call.note(f"shortened tracebacks in {changed} contents")
        return request.model_copy(update={"contents": contents})


def _content(content: types.Content) -> types.Content:
    parts = [_part(part) for part in content.parts or ()]
    same = all(new is old for new, old in zip(parts, content.parts or (), strict=True))
    return content if same else content.model_copy(update={"parts": parts})


def _part(part: types.Part) -> types.Part:
    result = part.function_response
    short = {key: _shortened(value) for key, value in ((result and result.response) or {}).items()}
    if result is None or short == (result.response or {}):
        return part
    return part.model_copy(update={"function_response": result.model_copy(update={"response": short})})


def _shortened(value: Any) -> Any:
    before, found, trace = value.partition(START) if isinstance(value, str) else ("", "", "")
    return before + trace.rstrip().rpartition("\n")[2] if found else value

"""Removes the thoughts of finished turns."""

from __future__ import annotations

from dataclasses import dataclass

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.outline import outline_of
from adk_context_pack.errors import positive
from adk_context_pack.passes.context_pass import ContextPass


@dataclass(frozen=True, kw_only=True)
class DropOldThoughts(ContextPass):
    """Removes the agent's thoughts of finished turns, and keeps what it said and did.

    A thought with a signature stays, since the provider wants it back unchanged. A turn that holds nothing but thoughts
    stays as well.

    Args:
        keep_turns: the number of newest turns that keep their thoughts. 1 means the running turn alone.

    Cost to the prompt cache: when a turn begins, everything behind the first removed thought misses the cache once.
    With `ClearToolResults(keep_results=0)`, that is the same miss.
    """

    cuts_history = True
    keep_turns: int = 1

    def __post_init__(self) -> None:
        """Checks the settings."""
        super().__post_init__()
        positive(self, "keep_turns", self.keep_turns)

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` without old thoughts, or the same object if there are none."""
        contents = request.contents or []
        if not any(map(_thinks, contents)):
            return request
        turns = outline_of(call, contents).turns
        if len(turns) < self.keep_turns:
            return request
        end = turns[-self.keep_turns]
        rebuilt = [*map(_without_thoughts, contents[:end]), *contents[end:]]
        changed = sum(new is not old for new, old in zip(rebuilt, contents, strict=True))
        if not changed:
            return request
        call.note(f"dropped the thoughts of {changed} contents")
        return request.model_copy(update={"contents": rebuilt})


def _thinks(content: types.Content) -> bool:
    return content.role == "model" and any(_is_old_thought(part) for part in content.parts or ())


def _is_old_thought(part: types.Part) -> bool:
    used = part.function_call or part.function_response
    return bool(part.thought) and part.text is not None and not part.thought_signature and used is None


def _without_thoughts(content: types.Content) -> types.Content:
    parts = content.parts or []
    kept = [part for part in parts if not _is_old_thought(part)] if _thinks(content) else parts
    return content.model_copy(update={"parts": kept}) if kept and len(kept) < len(parts) else content

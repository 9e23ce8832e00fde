"""Brings what the app's memory knows about the user's message before the model."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.known_tools import ToolKind
from adk_context_pack._adk.releases import invocation_of
from adk_context_pack.conversation.contents import changed, texts_of
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.recalled import (
    Slim,
    block_of,
    holds_preloaded,
    memories_of,
    new_memories,
    ranked_lines,
    slim_by,
    slim_loaded,
    slim_preloaded,
)
from adk_context_pack.conversation.tokens import Counter, TokenMeter, valid_counter
from adk_context_pack.errors import positive
from adk_context_pack.passes.context_pass import ContextPass, logger
from adk_context_pack.stores.byte_cache import ByteCache

_MAX_KEPT_BLOCKS = 50


class Recalled(NamedTuple):
    """The passages recalled for one message.

    Attributes:
        invocation: ADK's id of the run.
        message: the texts of the user's message.
        block: the text that stands before it. Empty if nothing was recalled.
    """

    invocation: str
    message: tuple[str | None, ...]
    block: str


# The passages recalled for a session are kept, so that a block stays where it was sent and the cached prefix with it.
_RECALLED: ByteCache[tuple[Recalled, ...]] = ByteCache(max_bytes=16 * 2**20)


@dataclass(frozen=True, kw_only=True)
class RecallMemory(ContextPass):
    """Asks the app's memory service once a turn, and puts the best passages right before the newest user message.

    The query is the user's message. The answer is ranked by its words, then in the order of the service. What the
    session says itself, or an earlier turn recalled, is not shown again. The passages are fenced and attributed.

    The service is asked before the passes run, so that this pass is pure over what it answered. Without a memory
    service, or where it fails or takes too long, the request stays as it is. The log names a failure. What ADK's own
    memory tools put in (results of `load_memory`, preloaded memory) is ranked and kept within the same budget, without
    empty fields.

    Put it last, behind the passes that cut history.

    Args:
        max_tokens: the budget of one turn's passages in tokens.
        max_seconds: how long the service may take.
        counter: a tokenizer of your own, from text to tokens. Without one, tokens are estimated.

    Raises:
        SettingError: a setting that cannot work.

    Cost to the prompt cache: none while the process runs. A block stays before its message, and new ones come behind
    what was already sent. A restarted process no longer shows the blocks of earlier turns.
    """

    shortens: ClassVar[Collection[ToolKind]] = frozenset[ToolKind]({"memory"})

    max_tokens: int = 1000
    max_seconds: float = 2.0
    counter: Counter | None = None

    def __post_init__(self) -> None:
        """Checks the settings."""
        super().__post_init__()
        positive(self, "max_tokens", self.max_tokens)
        valid_counter(self, self.counter)

    async def __call__(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:  # type: ignore[override]
        """ADK's `before_model_callback`, which asks the memory service first."""
        await self.prepare(callback_context, llm_request)
        super().__call__(callback_context, llm_request)

    async def prepare(self, context: CallbackContext, request: LlmRequest) -> None:
        """Asks the memory service for the user's message of this turn, once."""
        message = context.user_content
        query = _words(message)
        service = getattr(invocation_of(context), "memory_service", None)
        if message is None or not query or service is None:
            return
        key = _key(context)
        # A session that was deleted and made again under its id has nothing of the runs before.
        runs = {event.invocation_id for event in context.session.events}
        earlier = tuple(one for one in _RECALLED.get(key) or () if one.invocation in runs)
        if any(one.invocation == context.invocation_id for one in earlier):
            return
        block = ""
        try:
            # ADK preloads the answer to the same question.
            if not _preloaded(request):
                response = await asyncio.wait_for(
                    service.search_memory(app_name=key[0], user_id=key[1], query=query), self.max_seconds
                )
                block = self._block(query, response, context, earlier)
        except Exception:
            if self.on_error == "raise":
                raise
            logger.exception("memory could not be asked; nothing is recalled in this turn")
        # A service that failed is not asked again in this turn.
        kept = (*earlier, Recalled(context.invocation_id, texts_of(message), block))[-_MAX_KEPT_BLOCKS:]
        _RECALLED.put(key, kept, sum(len(one.block) + 200 for one in kept))

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` with what was recalled before the messages that it was recalled for."""
        meter = TokenMeter(counter=self.counter)
        blocks = _RECALLED.get(_key(call.context)) if call.context is not None else None
        slimmed = slimmed_memory(request, slim_by(meter, self.max_tokens), meter, call)
        return with_recalled(slimmed, [one for one in blocks or () if one.block], call)

    def _block(self, query: str, response: Any, context: CallbackContext, earlier: Sequence[Recalled]) -> str:
        events = context.session.events
        said = (part.text for event in events for part in (event.content.parts if event.content else None) or ())
        shown = [one.block for one in earlier]
        memories = new_memories(memories_of(response), (text for text in said if text), shown)
        meter = TokenMeter(counter=self.counter)
        room = self.max_tokens - meter.text(block_of([]))
        lines = ranked_lines(query, memories, max_tokens=room, meter=meter)
        return block_of(lines) if lines else ""


def slimmed_memory(request: LlmRequest, slim: Slim, meter: TokenMeter, call: ModelCall) -> LlmRequest:
    """Returns `request` with what ADK's own memory tools put in made smaller, or `request` itself."""
    contents = list(request.contents or ())
    found = slim_loaded(request, slim, meter)
    if _preloaded(request):
        query = _words(call.user_content)
        found = [_slim_texts(content, query, slim) for content in found]
        instruction = request.config.system_instruction if request.config else None
        if isinstance(instruction, str) and (shorter := slim_preloaded(instruction, query, slim)) != instruction:
            request = request.model_copy(
                update={"config": request.config.model_copy(update={"system_instruction": shorter})}
            )
    if all(new is old for new, old in zip(found, contents, strict=True)):
        return request
    return request.model_copy(update={"contents": found})


def _slim_texts(content: types.Content, query: str, slim: Slim) -> types.Content:
    texts = [slim_preloaded(part.text, query, slim) if part.text else None for part in content.parts or ()]
    if content.role != "user" or all(
        new in {None, part.text} for new, part in zip(texts, content.parts or (), strict=True)
    ):
        return content
    parts = [
        part if new in {None, part.text} else changed(part, "text", new)
        for new, part in zip(texts, content.parts or (), strict=True)
    ]
    return changed(content, "parts", parts)


def _preloaded(request: LlmRequest) -> bool:
    return holds_preloaded(request.contents or (), request.config.system_instruction if request.config else None)


def _words(message: types.Content | None) -> str:
    return "\n".join(text for text in texts_of(message) if text).strip() if message is not None else ""


def with_recalled(request: LlmRequest, recalled: Sequence[Recalled], call: ModelCall) -> LlmRequest:
    """Returns `request` with each block before the message that it was recalled for, or `request` itself.

    A block whose message left the request is left out.
    """
    contents = list(request.contents or ())
    at, put = len(contents), 0
    for one in reversed(recalled):
        at = next(
            (n for n in range(at - 1, -1, -1) if contents[n].role == "user" and texts_of(contents[n]) == one.message),
            -1,
        )
        if at < 0:
            break
        if at > 0 and texts_of(contents[at - 1]) == (one.block,):
            continue
        contents.insert(at, types.Content(role="user", parts=[types.Part(text=one.block)]))
        put += 1
    if not put:
        return request
    call.note(f"showed what memory knows before {put} messages")
    return request.model_copy(update={"contents": contents})


def _key(context: CallbackContext) -> tuple[str, str, str]:
    session = context.session
    return session.app_name, session.user_id, session.id

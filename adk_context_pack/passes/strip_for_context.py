"""The For-context stripper: other agents' tool logs leave the request, what they said stays."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import ClassVar

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.releases import QUOTE_BEGIN, QUOTE_END, isolation_scope_of, live_events, typed_in
from adk_context_pack.conversation.contents import said_in, same_texts, text_length, text_part, texts_of, user_content
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.errors import counted, names
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.relays.relayed_blocks import RelayedBlock, RelayedPart, find_relayed, summary_blocks

LEFT_OUT = f"{QUOTE_BEGIN}left out{QUOTE_END}"
"""The text that replaces a removed block between two turns. It never changes, since that would break the cached prefix,
and is as short as possible, since a whole relayed call may have as few as 75 characters in the plain format."""


@dataclass(frozen=True, kw_only=True)
class StripForContext(ContextPass):
    """Removes the tool calls and results of other agents that ADK relays to this one, and keeps what they said.

    Blobs, files, code and code results stay. The fence and ADK's preamble stay around everything that stays. A block
    with nothing left is removed. Providers refuse a model turn that is first, last, or right before another one. If the
    block prevented that, a short fenced note (`NOTE`) takes its place. A block that is smaller than the note stays. If
    a request begins with a removed block, as for an agent with `include_contents='none'`, the user's message that led
    to it takes its place.

    The pass only touches blocks that the session's events prove to be a relay. It never touches what a user typed, a
    compaction summary, or a dynamic instruction.

    Args:
        keep_agents: agents whose blocks stay whole.
        keep_tools: tools whose calls and results stay, whichever agent used them.
        keep_said: False removes what the others said, attached and thought as well.

    Cost to the prompt cache: none. Each block is judged by itself, so the part already sent does not change when the
    session grows.
    """

    keep_agents: Collection[str] = field(default=())
    keep_tools: Collection[str] = field(default=())
    keep_said: bool = True
    _checks: ClassVar = {"keep_agents": names, "keep_tools": names}

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` without other agents' tool logs, or the same object if there are none."""
        blocks = find_relayed(request.contents, call)
        kept = {block.position: parts for block in blocks if len(parts := self._kept(block)) < len(block.parts)}
        if not kept:
            return request
        contents = _rebuild(request.contents, kept, _missing_message(request.contents, kept, blocks[0], call))
        if contents == request.contents:
            return request
        removed = sum(len(block.parts) - len(kept[block.position]) for block in blocks if block.position in kept)
        call.note(f"removed {counted(removed, 'relayed part')} in {counted(len(kept), 'block')}")
        return request.model_copy(update={"contents": contents})

    def _kept(self, block: RelayedBlock) -> list[RelayedPart]:
        if block.event.author in self.keep_agents:
            return block.parts
        logs, tools = ("call", "result"), self.keep_tools
        return [one for one in block.parts if (said_in(one.source)[1] in tools if one.kind in logs else self.keep_said)]


def _rebuild(
    contents: Sequence[types.Content], kept: dict[int, list[RelayedPart]], message: types.Content | None
) -> list[types.Content]:
    rebuilt: list[types.Content] = []
    for index, content in enumerate(contents):
        if index not in kept:
            rebuilt.append(content)
        elif kept[index]:
            parts = [(content.parts or [])[0], *(part.part for part in kept[index])]
            rebuilt.append(content.model_copy(update={"parts": parts}))
        elif message is not None:
            rebuilt.append(message)
            message = None
        elif not rebuilt or rebuilt[-1].role == "model":
            # Only the contents before it decide, so that the next event changes nothing.
            rebuilt.append(content if text_length(content) <= len(LEFT_OUT) else user_content([text_part(LEFT_OUT)]))
    return rebuilt


def _missing_message(
    contents: Sequence[types.Content], kept: dict[int, list[RelayedPart]], first: RelayedBlock, call: ModelCall
) -> types.Content | None:
    """Returns the user's message that led to the first block, if that is removed and the request begins with it.

    A dynamic instruction before the block does not count, since nobody said it. A compaction summary before the block
    already covers the message. For an isolated task, the task's input counts as the user's message. Only earlier events
    are read, so that no later event changes what was sent.
    """
    # ADK puts the input of an isolated task (2.x) first, without a user message.
    if kept.get(first.position, first.parts) or isolation_scope_of(call.context) is not None:
        return None
    before = takewhile(lambda event: event is not first.event, live_events(call.events))
    typed = [said for said in typed_in(before) if said.parts and not any(part.function_response for part in said.parts)]
    known = {texts_of(content) for content in typed} | summary_blocks(call.events)
    if any(content.role == "model" or texts_of(content) in known for content in contents[: first.position]):
        return None
    message = typed[-1] if typed else call.user_content
    texts = texts_of(message) if message is not None else ()
    # Providers refuse empty texts. ADK passes on a user's empty text, but this pass must not put one in.
    if message is None or not texts or any(text is not None and not text.strip() for text in texts):
        return None
    if not typed and any(content.role == "user" and same_texts(content, message) for content in contents):
        return None
    return user_content([part.model_copy() for part in message.parts or ()])

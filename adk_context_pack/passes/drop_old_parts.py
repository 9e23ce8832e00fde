"""Removes parts of a request: media and thoughts of earlier turns, and tool logs that ADK relays from other agents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from operator import is_not
from typing import Any, ClassVar

from adk_context_pack._adk import Event, LlmRequest, types
from adk_context_pack._adk.known_tools import offers
from adk_context_pack._adk.releases import QUOTE_BEGIN, QUOTE_END, isolation_scope_of, live_events, typed_in
from adk_context_pack.conversation import contents as messages
from adk_context_pack.conversation.contents import changed, mapped, said_in, text_part, texts_of, user_content
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.outline import outline_of
from adk_context_pack.conversation.relayed_blocks import RelayedBlock, RelayedPart, find_relayed, summary_blocks
from adk_context_pack.errors import at_least, counted, must, names, positive
from adk_context_pack.passes.context_pass import ContextPass

_NOTE_KEY = "_media"


@dataclass(frozen=True, kw_only=True)
class DropOldMedia(ContextPass):
    """Removes media (`inline_data`, `file_data`) of earlier turns, and leaves a short reference to each.

    It looks at what users sent, at what tools returned, and at what ADK relays of other agents. The reference gives the
    MIME type, the bytes if ADK knows them, and the name. If ADK has saved the part as an artifact by the end of its
    turn, the reference names the artifact, and `load_artifacts` if the agent has that tool. The newest user message
    and media that the model made itself stay. The session keeps all of it.

    Put it behind passes that compare contents with the session (relays, `RecallMemory`), and before `ClearToolResults`.

    Args:
        keep_turns: the number of newest turns that keep their media. 1 means the running turn alone.
        min_bytes: smaller inline media stay, in bytes. Files that are given by their address have no size here and go.
        keep_types: MIME types that stay, such as "application/pdf", or "image/*" for all of a kind.

    Cost to the prompt cache: when a turn begins, everything behind the first removed part misses the cache once. The
    words of a reference stay the same from then on.
    """

    cuts_history = True
    keep_turns: int = 1
    min_bytes: int = 1_024
    keep_types: Collection[str] = ()
    _checks: ClassVar = {"keep_turns": positive, "min_bytes": partial(at_least, minimum=0), "keep_types": names}

    def __post_init__(self) -> None:
        super().__post_init__()
        for each in self.keep_types:
            must("/" in each, self, "keep_types", each, "made of MIME types such as 'image/png' or 'image/*'")

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` with references in the place of old media, or the same object if there are none."""
        contents = request.contents or []
        holding = [index for index, content in enumerate(contents) if any(map(self._media_of, content.parts or ()))]
        if not holding:
            return request
        outline = outline_of(call, contents)
        if len(outline.turns) < self.keep_turns:
            return request
        saved, rebuilt = _saved_before(call.events), list(contents)
        message = next(messages.copies_of(contents, call.user_content), None)
        for index in holding:
            is_old = index < outline.turns[-self.keep_turns] and index != message
            is_fixed = outline.voices[index] == "fixed" and index not in outline.answering
            if is_old and contents[index].role != "model" and not is_fixed:
                turns_after = sum(start > index for start in outline.turns)
                known = saved[-turns_after] if turns_after <= len(saved) else ()
                can_load = offers(request.tools_dict, "load_artifacts")
                rebuilt[index] = mapped(contents[index], partial(self._reference_for, saved=known, can_load=can_load))
        if not (gone := sum(map(is_not, rebuilt, contents))):
            return request
        call.note(f"removed the media of {counted(gone, 'content')}")
        return request.model_copy(update={"contents": rebuilt})

    def _reference_for(self, part: types.Part, *, saved: Collection[str], can_load: bool) -> types.Part:
        if not (media := self._media_of(part)):
            return part
        notes = [messages.media_reference(one, saved, can_load=can_load) for one in media]
        if (result := part.function_response) is None:
            return text_part(notes[0])
        kept = [one for one in result.parts or () if not any(_media(one) is gone for gone in media)]
        if _NOTE_KEY in (result.response or {}):
            return part
        response = {**(result.response or {}), _NOTE_KEY: notes}
        smaller = result.model_copy(update={"response": response, "parts": kept or None})
        return part.model_copy(update={"function_response": smaller})

    def _media_of(self, part: types.Part) -> list[Any]:
        """Returns the media in a part, or in the result that it holds, that may go."""
        if part.function_response is not None:
            inner: Sequence[Any] = getattr(part.function_response, "parts", None) or ()
        else:
            # A thought and its signature belong together, and so does whatever else is signed.
            inner = () if part.thought or part.thought_signature else (part,)
        return [media for one in inner if (media := _media(one)) is not None and self._may_go(media)]

    def _may_go(self, media: Any) -> bool:
        mime_type, data = str(media.mime_type or ""), getattr(media, "data", None)
        if mime_type in self.keep_types or f"{mime_type.partition('/')[0]}/*" in self.keep_types:
            return False
        return bool(getattr(media, "file_uri", None)) if data is None else len(data) >= self.min_bytes


def _saved_before(events: Iterable[Event]) -> list[Collection[str]]:
    """Returns the artifacts of a session before each of its turns. What is saved later never changes a reference."""
    found, names = list[Collection[str]](), frozenset[str]()
    for event in events:
        if event.author == "user" and not event.get_function_responses():
            found.append(names)
        if event.actions.artifact_delta:
            names = names.union(event.actions.artifact_delta)
    return found


def _media(part: Any) -> Any:
    return part.inline_data if part.inline_data is not None else part.file_data


@dataclass(frozen=True, kw_only=True)
class DropOldThoughts(ContextPass):
    """Removes the agent's thoughts of finished turns, and keeps what it said and did.

    A thought with a signature stays, since the provider wants it back unchanged, and so does a turn of thoughts alone.

    Args:
        keep_turns: the number of newest turns that keep their thoughts. 1 means the running turn alone.

    Cost to the prompt cache: when a turn begins, everything behind the first removed thought misses the cache once.
    With `ClearToolResults(keep_results=0)`, that is the same miss.
    """

    cuts_history = True
    keep_turns: int = 1
    _checks: ClassVar = {"keep_turns": positive}

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` without old thoughts, or the same object if there are none."""
        contents = request.contents or []
        turns = outline_of(call, contents).turns
        end = turns[-self.keep_turns] if len(turns) >= self.keep_turns else 0
        rebuilt = [*map(_without_thoughts, contents[:end]), *contents[end:]]
        if not (gone := sum(map(is_not, rebuilt, contents))):
            return request
        call.note(f"dropped the thoughts of {counted(gone, 'content')}")
        return request.model_copy(update={"contents": rebuilt})


def _without_thoughts(content: types.Content) -> types.Content:
    parts = content.parts or ()
    kept = [each for each in parts if not each.thought or each.thought_signature or said_in(each)[0] != "text"]
    return changed(content, "parts", kept) if content.role == "model" and 0 < len(kept) < len(parts) else content


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

    Cost to the prompt cache: none. Each block is judged by itself, so what was sent never changes.
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
            is_short = messages.text_length(content) <= len(LEFT_OUT)
            rebuilt.append(content if is_short else user_content([text_part(LEFT_OUT)]))
    return rebuilt


def _missing_message(
    contents: Sequence[types.Content], kept: dict[int, list[RelayedPart]], first: RelayedBlock, call: ModelCall
) -> types.Content | None:
    """Returns the user's message that led to the first block, if that is removed and the request begins with it."""
    # A dynamic instruction before the block does not count, since nobody said it. A compaction summary before the block
    # already covers the message. ADK puts the input of an isolated task (2.x) first, which counts as the message. Only
    # earlier events are read, so that no later event changes what was sent.
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
    if not typed and any(content.role == "user" and messages.same_texts(content, message) for content in contents):
        return None
    return user_content([part.model_copy() for part in message.parts or ()])

"""Fills one view into the instructions of a request, and into nothing else.

The exact way: ADK's own code fills the template in once more, cut at the slots, and the result is found in the
request where ADK put it; so text that came in through `{some_state}` is known to be no slot. Where it is not there
(the state or the instruction changed in between, or an instruction is a function), `_loose` reads what can still be
read for certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.instruction import (
    LABEL_BEGIN,
    LABEL_END,
    elide,
    global_instructions,
    identity_of,
    inject,
    static_texts,
)
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.views.loose import Region, loose_spans
from adk_context_pack.views.state_view import View
from adk_context_pack.views.template import Block, Filling, Piece, Slot, Span, find_block, match_at, my_slots, parse


@dataclass(frozen=True, slots=True)
class Declared:
    """One instruction as the app declared it.

    Attributes:
        pieces: the template cut at its slots; None for a function, whose text is known only from the request.
        follower: what ADK writes after it, where that is known.
        literal: ADK fills nothing into it.
    """

    pieces: tuple[Piece, ...] | None
    follower: str = ""
    literal: bool = False

    @property
    def may_have_slots(self) -> bool:
        """Whether there is something to fill in, as far as it can be known beforehand."""
        return self.pieces is None or bool(my_slots(self.pieces))


def declare(source: Any, view: View, follower: str = "") -> Declared | None:
    """What the app declared as one instruction, or None for nothing."""
    if isinstance(source, str):
        return Declared(parse(source, view.key, view.output_key), follower) if source else None
    return Declared(None, follower) if callable(source) else None


def declare_system(context: CallbackContext, agent: Any, view: View) -> list[Declared]:
    """The instructions that ADK puts into the system instruction, in their order."""
    found = [declare(source, view) for source in global_instructions(context, agent)]
    if getattr(agent, "static_instruction", None):
        found += [Declared((text,), literal=True) for text in static_texts(agent)]
    else:
        found.append(declare(getattr(agent, "instruction", None), view, identity_of(agent)))
    return [entry for entry in found if entry is not None]


def fill_system(
    texts: Sequence[str], entries: Sequence[Declared], view: View, call: ModelCall, identity: str
) -> list[str]:
    """The texts of a system instruction with the view in their slots.

    Args:
        texts: the system instruction; one text, unless a callback has made parts of it.
        entries: what the app declared, in order; tools and planners add their own texts after it.
        view: what to fill in.
        call: the model call.
        identity: the line that ADK puts after the last instruction.
    """
    sent = [_as_sent(entry, call) for entry in entries]
    known = [_known_blocks(text, entries, sent, view) for text in texts]
    regions = [_region(text, blocks, identity) for text, blocks in zip(texts, known, strict=True)]
    spans = [[span for block in blocks.values() for span in block.spans if span.slot.mine] for blocks in known]
    for index, entry in enumerate(entries):
        if not any(index in blocks for blocks in known):
            loose = loose_spans(regions, entry.pieces, view, call)
            spans = [[*found, *more] for found, more in zip(spans, loose, strict=True)]
    return [_filled(text, found, view) for text, found in zip(texts, spans, strict=True)]


def _known_blocks(
    text: str, entries: Sequence[Declared], sent: Sequence[tuple[Piece, ...] | None], view: View
) -> dict[int, Block]:
    blocks: dict[int, Block] = {}
    filling = Filling(view.stale, view.text, view.missing)
    cursor = 0
    for index, pieces in enumerate(sent):
        follower = entries[index].follower
        block = find_block(text, pieces, filling, cursor=cursor, follower=follower) if pieces else None
        if block:
            blocks[index] = block
            cursor = min(block.end + 2, len(text))
    return blocks


def _region(text: str, blocks: Mapping[int, Block], identity: str) -> Region:
    end = text.find(identity, max((block.end for block in blocks.values()), default=0))
    return Region(text, 0, len(text) if end < 0 else end, tuple(blocks.values()))


def fill_dynamic(text: str, entry: Declared, view: View, call: ModelCall, *, any_view: bool) -> str | None:
    """The instruction that ADK put among the contents, with the view in its slots; None if `text` is not it."""
    pieces = _as_sent(entry, call)
    if pieces is None or not is_labelled(text):
        return None
    whole = (LABEL_BEGIN, *(elide(piece) if isinstance(piece, str) else piece for piece in pieces), LABEL_END)
    filling = Filling(elide(view.stale), elide(view.text), view.missing, any_view)
    found = match_at(text, 0, whole, filling, end=len(text))
    return found and _filled(text, [span for span in found.spans if span.slot.mine], view.elided())


def fill_dynamic_loosely(text: str, entry: Declared, view: View, call: ModelCall) -> str:
    """Like `fill_dynamic`, for an instruction whose exact text is not known."""
    region = Region(text, len(LABEL_BEGIN), len(text) - len(LABEL_END), ())
    (spans,) = loose_spans([region], entry.pieces, view, call)
    return _filled(text, spans, view.elided())


def is_labelled(text: str) -> bool:
    """Whether a text stands within what ADK writes around a dynamic instruction; true where it writes nothing."""
    return text.startswith(LABEL_BEGIN) and text.endswith(LABEL_END)


def _as_sent(entry: Declared, call: ModelCall) -> tuple[Piece, ...] | None:
    if entry.pieces is None or entry.literal or call.context is None:
        return entry.pieces
    filled: list[Piece] = []
    for piece in entry.pieces:
        sent = piece if isinstance(piece, Slot) else inject(piece, call.context)
        if sent is None:
            return None
        filled.append(sent)
    return tuple(piece for piece in filled if piece != "")


def _filled(text: str, spans: Iterable[Span], view: View) -> str:
    pieces: list[str] = []
    done = 0
    for span in sorted(set(spans), key=lambda span: span.start):
        if span.start >= done:
            pieces += (text[done : span.start], view.of(span.slot))
            done = span.end
    return "".join((*pieces, text[done:]))


def with_dynamic(request: LlmRequest, agent: Any, view: View, call: ModelCall) -> list[types.Content]:
    """The request's contents with the view in the agent's dynamic instruction; the same list where nothing changes."""
    entry = declare(agent.instruction, view) if getattr(agent, "static_instruction", None) else None
    if entry is None or not entry.may_have_slots:
        return request.contents
    found = _exact(request, entry, view, call) or _loose(request, entry, view, call)
    if found is None or found[1] == _lone_text(request.contents[found[0]]):
        return request.contents
    return _replaced(request.contents, *found)


def _exact(request: LlmRequest, entry: Declared, view: View, call: ModelCall) -> tuple[int, str] | None:
    if entry.pieces is None:
        return None
    for any_view in (False, True):
        for index in chain(_standing(request), _elsewhere(request, call)):
            filled = fill_dynamic(_lone_text(request.contents[index]), entry, view, call, any_view=any_view)
            if filled is not None:
                return index, filled
    return None


def _loose(request: LlmRequest, entry: Declared, view: View, call: ModelCall) -> tuple[int, str] | None:
    for index in _standing(request):
        text = _lone_text(request.contents[index])
        # The first one is ADK's even where a user has written the same; a lone one may be the user's.
        if text and is_labelled(text) and (not _is_users(text, call) or _is_repeated(text, request)):
            return index, fill_dynamic_loosely(text, entry, view, call)
    return None


def _standing(request: LlmRequest) -> Iterator[int]:
    """Where ADK can have put the instruction, the likeliest place first."""
    contents = request.contents
    front = min(getattr(request, "_static_instruction_prefix_end_index", None) or 0, len(contents))
    start = len(contents)
    while start > front and _is_plain_user(contents[start - 1]):
        start -= 1
    yield from range(front)
    yield from range(start, len(contents))


def _elsewhere(request: LlmRequest, call: ModelCall) -> Iterator[int]:
    """Every other place, newest first: a callback may have moved contents; what a user wrote is none of them."""
    for index in range(len(request.contents) - 1, -1, -1):
        content = request.contents[index]
        if _is_plain_user(content) and not _is_users(_lone_text(content), call):
            yield index


def _is_plain_user(content: types.Content) -> bool:
    return content.role == "user" and not any(part.function_response for part in content.parts or ())


def _lone_text(content: types.Content) -> str:
    parts = content.parts or []
    return (parts[0].text or "") if len(parts) == 1 else ""


def _is_users(text: str, call: ModelCall) -> bool:
    if call.user_content and text == _lone_text(call.user_content):
        return True
    return any(event.author == "user" and event.content and text == _lone_text(event.content) for event in call.events)


def _is_repeated(text: str, request: LlmRequest) -> bool:
    return sum(text == _lone_text(content) for content in request.contents) > 1


def _replaced(contents: list[types.Content], index: int, text: str) -> list[types.Content]:
    content = contents[index]
    part = (content.parts or [types.Part()])[0].model_copy(update={"text": text})
    return [*contents[:index], content.model_copy(update={"parts": [part]}), *contents[index + 1 :]]

"""Fills one view into the instructions of a request, and into nothing else.

The exact way: ADK's own code fills in the template once more, cut at the slots, and the result is found in the request
where ADK put it. Text that came from `{some_state}` is therefore never taken for a slot. If the result is not there
because state or instruction changed in between, or because an instruction is a function, only what can be read for
certain is filled in. For a template, the plain text around each slot must occur in the instruction exactly as often as
in the template. Otherwise the slots are left alone, with a line in the log. For a function, each placeholder is a slot
unless it came with a text from state or from the user's message. (A state value that is the bare placeholder and
nothing else cannot be told apart from one.)
"""

from __future__ import annotations

import json
import marshal
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.instruction import (
    elide,
    global_instructions,
    identity_of,
    inject,
    labels,
    static_prefix_end,
    static_texts,
)
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.errors import warn_once
from adk_context_pack.views.state_view import View
from adk_context_pack.views.template import (
    PREFIX,
    Block,
    Filling,
    Piece,
    Slot,
    Span,
    find_block,
    match_at,
    my_slots,
    occurrences,
    parse,
    placeholders,
)


class Region(NamedTuple):
    """The part of a text that must hold an instruction, and the blocks in it that are known to be something else."""

    text: str
    start: int
    end: int
    known: tuple[Block, ...]

    def places(self, part: str) -> list[int]:
        """Finds `part` within the region."""
        found = occurrences(self.text, part, self.start)
        return [at for at in found if at + len(part) <= self.end and self.is_open(at, at + len(part))]

    def is_open(self, start: int, end: int) -> bool:
        """Tells whether no known block lies between `start` and `end`."""
        return all(end <= block.start or start >= block.end for block in self.known)


def loose_spans(
    regions: Sequence[Region], pieces: tuple[Piece, ...] | None, view: View, call: ModelCall
) -> list[list[Span]]:
    """For each region the slots to fill in, of a template's pieces or, for None, of a function's text."""
    if pieces is None:
        return [_in_function_text(region, view, call) for region in regions]
    spans: list[list[Span]] = [[] for _ in regions]
    for slot, expected in Counter(my_slots(pieces)).items():
        filled = view.stale if slot.stored else slot.text
        places = [region.places(slot.before + filled + slot.after) if filled else [] for region in regions]
        if sum(map(len, places)) == expected:
            for found, starts in zip(spans, places, strict=True):
                found.extend(Span(at, at + len(filled), slot) for at in (start + len(slot.before) for start in starts))
        elif sum(len(region.places(slot.before + view.of(slot) + slot.after)) for region in regions) < expected:
            warn_once(
                f"{call.agent_name}: {slot.text} cannot be told from other text of the request, so it is left as it is"
            )
    return spans


def _in_function_text(region: Region, view: View, call: ModelCall) -> list[Span]:
    found = placeholders(region.text, view.key, region.start, region.end)
    spans = [span for span in found if region.is_open(span.start, span.end)]
    if not spans:
        return []
    # A text that is the whole instruction is one, wherever it is kept and whoever has typed it as well.
    whole = region.text[region.start : region.end].strip()
    foreign = {part for text in _foreign_texts(call, PREFIX + view.key) for part in _forms(text)} - {whole}
    foreign.add(view.text)
    hidden = [(at, at + len(part)) for part in foreign if PREFIX + view.key in part for at in region.places(part)]
    return [span for span in spans if not any(start <= span.start < end for start, end in hidden)]


def _forms(text: str) -> Iterator[str]:
    """Yields a text of the state as an instruction may show it: as it is, or within JSON."""
    bare = text.startswith("{") and text.endswith("}") and text.count("{") == 1
    if not bare:
        yield text
    yield json.dumps(text, ensure_ascii=False)[0 if bare else 1 : None if bare else -1]
    yield repr(text)


def _foreign_texts(call: ModelCall, needle: str) -> Iterator[str]:
    for part in (call.user_content.parts if call.user_content else None) or ():
        if part.text and needle in part.text:
            yield part.text
    stack: list[tuple[Any, int]] = [(value, 0) for value in call.state.values() if _may_hold(value, needle)]
    while stack:
        value, depth = stack.pop()
        if isinstance(value, str):
            if needle in value:
                yield value
        elif depth < _MAX_DEPTH:
            members = value.values() if isinstance(value, Mapping) else value
            if isinstance(value, Mapping | list | tuple):
                stack += ((member, depth + 1) for member in members)


def _may_hold(value: Any, needle: str) -> bool:
    # Writing a value out in C and searching the bytes takes a tenth of walking it, and most values hold no placeholder.
    try:
        return needle.encode("utf-8", "surrogatepass") in marshal.dumps(value, 2)
    except ValueError:
        return True


_MAX_DEPTH = 20


@dataclass(frozen=True, slots=True)
class Declared:
    """One instruction as the app declared it.

    Attributes:
        pieces: the template cut at its slots, or None for a function, whose text is known only from the request.
        follower: the text that ADK writes after it, if that is known.
        literal: whether ADK leaves it as it is.
    """

    pieces: tuple[Piece, ...] | None
    follower: str = ""
    literal: bool = False

    @property
    def may_have_slots(self) -> bool:
        """True unless the template is known to have no slot."""
        return self.pieces is None or bool(my_slots(self.pieces))


def declare(source: Any, view: View, follower: str = "") -> Declared | None:
    """Returns one instruction as the app declared it, or None if there is none."""
    if isinstance(source, str):
        return Declared(parse(source, view.key, view.output_key), follower) if source else None
    return Declared(None, follower) if callable(source) else None


def declare_system(context: CallbackContext, agent: Any, view: View) -> list[Declared]:
    """Returns the instructions that ADK puts into the system instruction, in order."""
    found = [declare(source, view) for source in global_instructions(context, agent)]
    if getattr(agent, "static_instruction", None):
        found += [Declared((text,), literal=True) for text in static_texts(agent)]
    else:
        found.append(declare(getattr(agent, "instruction", None), view, identity_of(agent)))
    return [entry for entry in found if entry is not None]


def fill_system(
    texts: Sequence[str], entries: Sequence[Declared], view: View, call: ModelCall, identity: str
) -> list[str]:
    """Returns the texts of a system instruction with the view in their slots.

    Args:
        texts: the system instruction. It is one text, unless a callback has split it into parts.
        entries: the instructions that the app declared, in order. Tools and planners add their own texts after them.
        view: the view to fill in.
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
    """Fills the view into the instruction that ADK put among the contents. Returns None if `text` is not it."""
    pieces = _as_sent(entry, call)
    if pieces is None or not is_labelled(text):
        return None
    begin, end = labels()
    whole = (begin, *(elide(piece) if isinstance(piece, str) else piece for piece in pieces), end)
    filling = Filling(elide(view.stale), elide(view.text), view.missing, any_view)
    found = match_at(text, 0, whole, filling, end=len(text))
    return found and _filled(text, [span for span in found.spans if span.slot.mine], view.elided())


def is_labelled(text: str) -> bool:
    """Tells whether a text has ADK's markers of a dynamic instruction. Releases without markers match any text."""
    begin, end = labels()
    return text.startswith(begin) and text.endswith(end)


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
    """Fills the view into the agent's dynamic instruction. Returns the same list if nothing changes."""
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
        # If the user wrote the same text, the first copy is still ADK's. A single copy may be the user's.
        if (
            text
            and is_labelled(text)
            and (not _is_users(text, call) or sum(text == _lone_text(each) for each in request.contents) > 1)
        ):
            begin, end = labels()
            region = Region(text, len(begin), len(text) - len(end), ())
            (spans,) = loose_spans([region], entry.pieces, view, call)
            return index, _filled(text, spans, view.elided())
    return None


def _standing(request: LlmRequest) -> Iterator[int]:
    """Yields the places where ADK can have put the instruction, the likeliest first."""
    contents = request.contents
    front = min(static_prefix_end(request), len(contents))
    start = len(contents)
    while start > front and _is_plain_user(contents[start - 1]):
        start -= 1
    yield from range(front)
    yield from range(start, len(contents))


def _elsewhere(request: LlmRequest, call: ModelCall) -> Iterator[int]:
    """Yields all other places, newest first, since a callback may have moved contents. Skips what a user wrote."""
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


def _replaced(contents: list[types.Content], index: int, text: str) -> list[types.Content]:
    content = contents[index]
    part = (content.parts or [types.Part()])[0].model_copy(update={"text": text})
    return [*contents[:index], content.model_copy(update={"parts": [part]}), *contents[index + 1 :]]

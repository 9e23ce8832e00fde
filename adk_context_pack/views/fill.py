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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.instruction import (
    BRACES,
    elide,
    global_instructions,
    identity_of,
    inject,
    labels,
    static_prefix_end,
    static_texts,
)
from adk_context_pack._json import json_text
from adk_context_pack.conversation.ledger import scalars
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.voices import Voices
from adk_context_pack.errors import warn_once
from adk_context_pack.views.template import (
    PREFIX,
    Pieces,
    Slot,
    View,
    find_block,
    match_at,
    occurrences,
    parse,
    slots_in,
)

Span = tuple[int, int, Slot]
"""Where a slot of the view begins and ends in a text."""


@dataclass(frozen=True)
class Declared:
    """One instruction as the app declared it.

    Attributes:
        pieces: the template cut at its slots, or None for a function, whose text is known only from the request.
        context: the context that ADK fills it in with, or None if ADK leaves it as it is.
        follower: the text that ADK writes after it, if that is known.
    """

    pieces: Pieces | None
    context: CallbackContext | None = None
    follower: str = ""

    @classmethod
    def of(cls, source: Any, view: View, context: CallbackContext, follower: str = "") -> Iterator[Declared]:
        """Yields an instruction, if there is one."""
        if source and isinstance(source, str):
            yield cls(parse(source, view.output_key), context, follower)
        elif callable(source):
            yield cls(None)

    @cached_property
    def sent(self) -> Pieces:
        """The pieces with the state that ADK filled in, or nothing if that is not known."""
        pieces, context = self.pieces or (), self.context
        if context is None:
            return pieces
        # Only on demand, since ADK may load artifacts.
        filled = [piece if isinstance(piece, Slot) else inject(piece, context) for piece in pieces]
        return () if None in filled else tuple(piece for piece in filled if piece is not None)

    def may_have(self, view: View) -> bool:
        """True unless the template is known to have no slot of the view."""
        return self.pieces is None or any(map(view.owns, self.pieces))


class Region(NamedTuple):
    """The beginning of a text that must hold an instruction, and the known blocks in it, by their instruction."""

    text: str
    end: int
    blocks: Mapping[int, list[int]]

    def places(self, part: str) -> list[int]:
        """Finds `part` within the region."""
        return [at for at in occurrences(self.text, part) if self.is_open(at, at + len(part))]

    def is_open(self, start: int, end: int) -> bool:
        """Tells whether the region has no known block between `start` and `end`."""
        return end <= self.end and all(end <= block[0] or start >= block[-1] for block in self.blocks.values())


def with_system(
    request: LlmRequest, agent: Any, view: View, call: ModelCall, context: CallbackContext
) -> types.GenerateContentConfig:
    """Fills the view into the system instruction. Returns the same config if nothing changes."""
    entries = [entry for source in global_instructions(context, agent) for entry in Declared.of(source, view, context)]
    if getattr(agent, "static_instruction", None):
        entries += [Declared((text,)) for text in static_texts(agent)]
    else:
        entries += Declared.of(getattr(agent, "instruction", None), view, context, identity_of(agent))
    if not any(entry.may_have(view) for entry in entries):
        return request.config
    texts: list[str] = []
    _mapped(request.config.system_instruction, texts.append)
    # A callback may have split it into parts. No part has as many of these in a row, and a view has none.
    between = "\n\n" + "\0" * (1 + max((text.count("\0") for text in texts), default=0)) + "\n\n"
    text = between.join(texts)
    region = _region(text, entries, view, identity_of(agent))
    spans: list[Span] = []
    for index, entry in enumerate(entries):
        if block := region.blocks.get(index):
            spans += _spans(entry.sent, block, view)
        else:
            spans += loose_spans(region, entry.pieces, view, call)
    filled = _filled(text, spans, view)
    if filled == text:
        return request.config
    rest = iter(filled.split(between))
    instruction = _mapped(request.config.system_instruction, lambda _: next(rest))
    return request.config.model_copy(update={"system_instruction": instruction})


def _mapped(instruction: Any, change: Callable[[str], Any]) -> Any:
    """Returns a system instruction of any form in the same form, with what `change` returns for each text."""
    if isinstance(instruction, str):
        return change(instruction)
    if isinstance(instruction, types.Part):
        return instruction.model_copy(update={"text": _mapped(instruction.text, change)})
    if isinstance(instruction, types.Content):
        return instruction.model_copy(update={"parts": _mapped(instruction.parts, change)})
    return [_mapped(item, change) for item in instruction] if isinstance(instruction, list) else instruction


def _region(text: str, entries: Sequence[Declared], view: View, identity: str) -> Region:
    blocks: dict[int, list[int]] = {}
    cursor = 0
    for index, entry in enumerate(entries):
        if any(entry.sent) and (block := find_block(text, entry.sent, view, cursor, entry.follower)):
            blocks[index] = block
            cursor = min(block[-1] + 2, len(text))
    # Tools and planners add their own texts after the line that ADK puts after the last instruction.
    end = text.find(identity, max((block[-1] for block in blocks.values()), default=0))
    return Region(text, len(text) if end < 0 else end, blocks)


def _spans(pieces: Pieces, block: Sequence[int], view: View) -> list[Span]:
    places = zip(pieces, block, block[1:], strict=False)
    return [(start, end, piece) for piece, start, end in places if view.owns(piece)]


def loose_spans(region: Region, pieces: Pieces | None, view: View, call: ModelCall) -> list[Span]:
    """Returns the slots in a region to fill in, of a template's pieces or, for None, of a function's text."""
    if pieces is None:
        return _in_function_text(region, view, call)
    spans: list[Span] = []
    # The plain text around a slot goes up to the nearest brace expression.
    around = zip(pieces, pieces[1:], pieces[2:], strict=False)
    found = (
        (BRACES.split(str(led))[-1], slot, BRACES.split(str(after))[0])
        for led, slot, after in around
        if view.owns(slot)
    )
    for (led, slot, after), expected in Counter(found).items():
        held = view.unfilled(slot)
        places = region.places(led + held + after) if held else []
        if len(places) == expected:
            spans += ((at + len(led), at + len(led) + len(held), slot) for at in places)
        elif len(region.places(led + view.of(slot) + after)) < expected:
            warn_once(
                f"{call.agent_name}: {slot.text} cannot be told from other text of the request, so it is left as it is"
            )
    return spans


def _in_function_text(region: Region, view: View, call: ModelCall) -> list[Span]:
    mark = PREFIX + view.key
    whole = region.text[: region.end]
    spans = [span for span in slots_in(whole, mark) if region.is_open(*span[:2])]
    if not spans:
        return []
    # A text that equals the whole instruction counts as the instruction, even if a user typed it.
    foreign = {part for text in _foreign_texts(call) for part in _forms(text)} - {whole.strip()} | {view.text}
    hidden = [(at, at + len(part)) for part in foreign if mark in part for at in region.places(part)]
    return [span for span in spans if not any(start <= span[0] < end for start, end in hidden)]


def _forms(text: str) -> Iterator[str]:
    """Yields a text of the state as an instruction may show it: as it is, or within JSON."""
    bare = text.startswith("{") and text.endswith("}") and text.count("{") == 1
    if not bare:
        yield text
    yield json.dumps(text, ensure_ascii=False)[0 if bare else 1 : None if bare else -1]
    yield repr(text)


def _foreign_texts(call: ModelCall) -> Iterator[str]:
    """Yields the texts of the user's message and of the state that may hold a placeholder."""
    yield from (part.text or "" for part in (call.user_content.parts if call.user_content else None) or ())
    # Writing a value out takes a fraction of walking it, and most values hold no placeholder.
    written = (json_text(value) for value in call.state.values())
    leaves = (str(leaf) for text in written if PREFIX in text for leaf in scalars(json.loads(text)))
    yield from (leaf for leaf in leaves if PREFIX in leaf)


def _filled(text: str, spans: Iterable[Span], view: View) -> str:
    pieces: list[str] = []
    done = 0
    for start, end, slot in sorted(set(spans)):
        if start >= done:
            pieces += (text[done:start], view.of(slot))
            done = end
    return "".join((*pieces, text[done:]))


def with_dynamic(
    request: LlmRequest, agent: Any, view: View, call: ModelCall, context: CallbackContext
) -> list[types.Content]:
    """Fills the view into the agent's dynamic instruction. Returns the same list if nothing changes."""
    found = Declared.of(agent.instruction, view, context) if getattr(agent, "static_instruction", None) else iter(())
    entry = next(found, None)
    if entry is None or not entry.may_have(view):
        return request.contents
    # State must not be able to close ADK's markers.
    view = view._replace(text=elide(view.text), stale=elide(view.stale))
    begin, end = labels()
    sent = tuple(piece if isinstance(piece, Slot) else elide(piece) for piece in entry.sent)
    texts, voices = list(map(_lone_text, request.contents)), Voices.of(call)
    likely = _likely_places(request)
    moved = (index for index in reversed(range(len(texts))) if index not in likely)
    labelled = (
        index for index in chain(likely, moved) if texts[index].startswith(begin) and texts[index].endswith(end)
    )
    inner = {index: texts[index].removeprefix(begin).removesuffix(end) for index in labelled if texts[index]}

    def is_typed(index: int) -> bool:
        return voices.voice(request.contents[index]) == "user"

    # Where another callback has moved it to, a user may have typed the same.
    exact = (
        (index, _spans(sent, block, view))
        for index, text in inner.items()
        if (block := match_at(text, 0, sent, view, end=len(text))) and (index in likely or not is_typed(index))
    )
    # If the user wrote the same text, the first copy is still ADK's. A single copy may be the user's.
    loose = (
        (index, loose_spans(Region(text, len(text), {}), entry.pieces, view, call))
        for index, text in inner.items()
        if index in likely and (texts.count(texts[index]) > 1 or not is_typed(index))
    )
    for index, spans in chain(exact, loose):
        text = begin + _filled(inner[index], spans, view) + end
        if text == texts[index]:
            break
        content = request.contents[index]
        parts = [part.model_copy(update={"text": text}) for part in content.parts or ()]
        filled = content.model_copy(update={"parts": parts})
        return [*request.contents[:index], filled, *request.contents[index + 1 :]]
    return request.contents


def _likely_places(request: LlmRequest) -> list[int]:
    """Returns the places where ADK can have put the instruction, the likeliest first."""
    contents = request.contents
    front = min(static_prefix_end(request), len(contents))
    results = (each.role != "user" or any(part.function_response for part in each.parts or ()) for each in contents)
    start = max((index + 1 for index, is_result in enumerate(results) if is_result), default=0)
    return [*range(front), *range(max(start, front), len(contents))]


def _lone_text(content: types.Content) -> str:
    """Returns the text of a content that is one text and not a model's, or else nothing."""
    parts = content.parts or []
    return (parts[0].text or "") if len(parts) == 1 and content.role != "model" else ""

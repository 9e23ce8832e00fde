"""Reads the slots of an instruction whose exact text is not known.

State or instruction changed after ADK had filled in the template, or the instruction is a function. For a template, the
plain text around each slot must occur in the instruction exactly as often as in the template. Otherwise the slots are
left alone, with a line in the log. For a function, each placeholder is a slot unless it came with a text from state or
from the user's message. (A state value that is the bare placeholder and nothing else cannot be told apart from one.)
"""

from __future__ import annotations

import json
import marshal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.errors import warn_once
from adk_context_pack.views.state_view import View
from adk_context_pack.views.template import PREFIX, Block, Piece, Span, my_slots, occurrences, placeholders


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

"""An instruction template, cut at its `{compact:KEY}` slots, and found again in the text that ADK made of it.

A slot in the text holds either the brace expression, as ADK leaves it, or a view, which is one JSON value. So a text
can be read back exactly, however often and in whatever order views were filled in, and nothing within a view is a
slot.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, TypeGuard

from adk_context_pack._adk.instruction import BRACES
from adk_context_pack._json import DECODER, is_number

PREFIX = "compact:"


class Slot(NamedTuple):
    """One placeholder of a template.

    Attributes:
        text: the brace expression as the template has it.
        name: what stands between the braces, without a question mark.
        optional: whether it ends in a question mark, so that a missing value leaves no text.
    """

    text: str
    name: str
    optional: bool


Pieces = tuple[str | Slot, ...]
"""A template: plain text, a slot, plain text, and so on. It begins and ends with plain text, which may be empty."""


@lru_cache(maxsize=256)
def parse(template: str, output_key: str | None = None) -> Pieces:
    """Cuts a template at the slots of all passes and at `{output_key}`. ADK's other variables are plain text."""
    pieces: list[str | Slot] = []
    done = 0
    for match in BRACES.finditer(template):
        text = match.group()
        name = text.strip("{}").strip()
        start, end = match.span()
        if name.startswith(PREFIX):
            # ADK takes all braces for the expression's own, so `{"rows": {name}}` loses one. Here the extra one stays.
            extra = (len(text) - len(text.lstrip("{"))) - (len(text) - len(text.rstrip("}")))
            start, end = start + max(extra, 0), end + min(extra, 0)
        elif name.removesuffix("?") != output_key:
            continue
        pieces += (template[done:start], Slot(template[start:end], name.removesuffix("?"), name.endswith("?")))
        done = end
    return (*pieces, template[done:])


def slot_keys(template: str) -> set[str]:
    """Returns the keys of all `{compact:KEY}` slots of a template."""
    return {piece.name.removeprefix(PREFIX) for piece in parse(template) if isinstance(piece, Slot)}


class View(NamedTuple):
    """The text for the slots of one key.

    Attributes:
        key: the state key.
        text: the view as JSON.
        missing: whether the state has no such value.
        output_key: the state key under which the view is stored, or None.
        stale: the text that ADK filled in for `{output_key}` at this call.
    """

    key: str
    text: str
    missing: bool
    output_key: str | None
    stale: str

    def owns(self, piece: str | Slot) -> TypeGuard[Slot]:
        """Tells whether a piece is a slot of this key. Another pass fills in the others."""
        return isinstance(piece, Slot) and piece.name in (PREFIX + self.key, self.output_key)

    def of(self, slot: Slot) -> str:
        """Returns the text of one slot. As with ADK's `{name?}`, an optional slot without a value is empty."""
        return "" if self.missing and slot.optional else self.text

    def unfilled(self, slot: Slot) -> str:
        """Returns what ADK leaves of a slot: the brace expression, or the state's value of `output_key`."""
        return self.stale if slot.name == self.output_key else slot.text

    def ends(self, text: str, at: int, slot: Slot) -> Iterator[int]:
        """Yields the places where a slot that begins at `at` may end, the likeliest first."""
        for held in (self.unfilled(slot), self.text if self.owns(slot) else ""):
            if held and text.startswith(held, at):
                yield at + len(held)
        with contextlib.suppress(StopIteration, ValueError, RecursionError):
            # Unlike `raw_decode`, it does not count the lines before what is no JSON.
            value, end = DECODER.scan_once(text, at)
            # Nothing says where a number ends if digits follow it.
            yield from range(end, at, -1) if is_number(value) else (end,)
        if slot.optional or slot.name == self.output_key:
            yield at


def find_block(text: str, pieces: Pieces, view: View, cursor: int = 0, follower: str = "") -> list[int]:
    """Finds the pieces one after the other in `text`, at or after `cursor`. Returns where they begin, and the end.

    A user's text may hold the whole instruction byte for byte. Of several places, the one that is followed by
    `follower` wins, then the one at `cursor`, then one that is a paragraph by itself.
    """
    first = pieces[0]
    starts = occurrences(text, first, cursor) if isinstance(first, str) and first else ()
    best: tuple[tuple[bool, ...], list[int]] = ((), [])
    for start in starts or [cursor, *(found + 2 for found in occurrences(text, "\n\n", cursor))]:
        if block := match_at(text, start, pieces, view):
            led = start == 0 or text.startswith("\n\n", start - 2)
            ended = block[-1] == len(text) or text.startswith("\n\n", block[-1])
            followed = not follower or text.startswith("\n\n" + follower, block[-1])
            rank = (followed, start == cursor, led and ended)
            best = max(best, (rank, block), key=lambda found: found[0])
            if all(rank):
                break
    return best[1]


def match_at(text: str, start: int, pieces: Pieces, view: View, *, end: int | None = None) -> list[int]:
    """Returns where each of the pieces begins if they stand at `start`, and where they end. `end` may ask for one."""
    if not pieces:
        return [start] if end in (None, start) else []
    piece, rest = pieces[0], pieces[1:]
    if isinstance(piece, Slot):
        ends = view.ends(text, start, piece)
    else:
        ends = iter([start + len(piece)] if text.startswith(piece, start) else [])
    found = (match_at(text, after, rest, view, end=end) for after in ends)
    return next(([start, *block] for block in found if block), [])


def occurrences(text: str, part: str, start: int = 0) -> Iterator[int]:
    """Finds all places of `part` in `text`, overlapping ones included."""
    found = text.find(part, start) if part else -1
    while found >= 0:
        yield found
        found = text.find(part, found + 1)


def slots_in(text: str, name: str) -> Iterator[tuple[int, int, Slot]]:
    """Finds the slots of a name in a text that has no template. Yields where each begins and ends, and the slot."""
    at = 0
    # Such a text differs from call to call, and may hold state.
    for piece in parse.__wrapped__(text) if name in text else ():
        start, at = at, at + len(piece if isinstance(piece, str) else piece.text)
        if isinstance(piece, Slot) and piece.name == name:
            yield start, at, piece

"""An instruction template, cut at its `{compact:KEY}` slots, and found again in the text that ADK made of it.

A slot in the text holds either the brace expression, as ADK leaves it, or a view, which is one JSON value. So a text
can be read back exactly, however often and in whatever order views were filled in, and nothing within a view is a
slot.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from adk_context_pack._adk_instruction import BRACES

PREFIX = "compact:"
_read_json = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Slot:
    """One placeholder of a template.

    Attributes:
        text: the brace expression as it stands in the template.
        optional: it ends in a question mark, so a missing value is no text at all.
        mine: it belongs to the pass that asked; another pass fills in the others.
        stored: ADK filled in a state value (of an `output_key`), so no brace expression is left.
        before: the plain text between the brace expression before it and this one.
        after: the plain text up to the next brace expression.
    """

    text: str
    optional: bool
    mine: bool
    stored: bool
    before: str
    after: str


class Span(NamedTuple):
    """Where a slot stands in a text."""

    start: int
    end: int
    slot: Slot


class Block(NamedTuple):
    """Where a whole template stands in a text, with its slots."""

    start: int
    end: int
    spans: tuple[Span, ...]


Piece = str | Slot


@lru_cache(maxsize=256)
def parse(template: str, key: str, output_key: str | None) -> tuple[Piece, ...]:
    """The template as plain text (with ADK's own variables still in it) and slots, in turn."""
    pieces: list[Piece] = []
    done = 0
    found = list(BRACES.finditer(template))
    for index, match in enumerate(found):
        name = match.group().lstrip("{").rstrip("}").strip()
        optional = name.endswith("?")
        name = name.removesuffix("?")
        if not name.startswith(PREFIX) and name != output_key:
            continue
        before = template[found[index - 1].end() if index else 0 : match.start()]
        after = template[match.end() : found[index + 1].start() if index + 1 < len(found) else len(template)]
        mine = name in (PREFIX + key, output_key)
        slot = Slot(match.group(), optional, mine, name == output_key, before, after)
        pieces += (template[done : match.start()], slot)
        done = match.end()
    return tuple(piece for piece in (*pieces, template[done:]) if piece != "")


def my_slots(pieces: tuple[Piece, ...]) -> list[Slot]:
    """The slots that the pass fills in."""
    return [piece for piece in pieces if isinstance(piece, Slot) and piece.mine]


def find_block(
    text: str, pieces: tuple[Piece, ...], *, stale: str, cursor: int = 0, follower: str = ""
) -> Block | None:
    """Where the pieces stand in `text` one after the other, at or after `cursor`.

    A user's text may hold the whole instruction byte for byte, so of several places the one counts that is followed by
    `follower`, then the one at `cursor`, then one that stands as a paragraph of its own.

    Args:
        text: a system instruction.
        pieces: plain texts as ADK filled them in, and slots.
        stale: what ADK filled in for an `output_key`.
        cursor: where the instruction before it ended.
        follower: what ADK writes next.
    """
    best: tuple[tuple[bool, bool, bool], Block] | None = None
    for start in _starts(text, pieces, cursor):
        block = match_at(text, start, pieces, stale=stale)
        if block is None:
            continue
        led = start == 0 or text.startswith("\n\n", start - 2)
        ended = block.end == len(text) or text.startswith("\n\n", block.end)
        followed = not follower or text.startswith("\n\n" + follower, block.end)
        rank = (followed, start == cursor, led and ended)
        if rank == (True, True, True):
            return block
        if best is None or rank > best[0]:
            best = (rank, block)
    return best[1] if best else None


def match_at(text: str, start: int, pieces: tuple[Piece, ...], *, stale: str, end: int | None = None) -> Block | None:
    """The block that begins at `start`, and ends at `end` where that is given."""
    if not pieces:
        return Block(start, start, ()) if end is None or start == end else None
    piece, rest = pieces[0], pieces[1:]
    if isinstance(piece, str):
        found = (
            match_at(text, start + len(piece), rest, stale=stale, end=end) if text.startswith(piece, start) else None
        )
        return found and Block(start, found.end, found.spans)
    for slot_end in _slot_ends(text, start, piece, stale):
        found = match_at(text, slot_end, rest, stale=stale, end=end)
        if found is not None:
            return Block(start, found.end, (Span(start, slot_end, piece), *found.spans))
    return None


def _slot_ends(text: str, at: int, slot: Slot, stale: str) -> Iterator[int]:
    filled = stale if slot.stored else slot.text
    if filled and text.startswith(filled, at):
        yield at + len(filled)
    with contextlib.suppress(ValueError, RecursionError):
        yield _read_json(text, at)[1]
    if slot.optional or slot.stored:
        yield at


def _starts(text: str, pieces: tuple[Piece, ...], cursor: int) -> Iterator[int]:
    first = pieces[0] if pieces else ""
    if isinstance(first, str):
        yield from occurrences(text, first, cursor)
        return
    yield cursor
    yield from (found + 2 for found in occurrences(text, "\n\n", cursor))
    yield from occurrences(text, first.text, cursor)


def occurrences(text: str, part: str, start: int = 0) -> Iterator[int]:
    """Where `part` stands in `text`, overlapping places included."""
    found = text.find(part, start) if part else -1
    while found >= 0:
        yield found
        found = text.find(part, found + 1)


def placeholders(text: str, key: str, start: int, end: int) -> Iterator[Span]:
    """The placeholders of `key` in a text that has no template."""
    for match in BRACES.finditer(text, start, end) if PREFIX + key in text else ():
        name = match.group().lstrip("{").rstrip("}").strip()
        if name.removesuffix("?") == PREFIX + key:
            slot = Slot(match.group(), optional=name.endswith("?"), mine=True, stored=False, before="", after="")
            yield Span(match.start(), match.end(), slot)

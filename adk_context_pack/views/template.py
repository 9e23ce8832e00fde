"""An instruction template, cut at its `{compact:KEY}` slots, and found again in the text that ADK made of it.

A slot in the text holds either the brace expression, as ADK leaves it, or a view, which is one JSON value. So a text
can be read back exactly, however often and in whatever order views were filled in, and nothing within a view is a
slot.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from adk_context_pack._adk.instruction import BRACES
from adk_context_pack._json import is_number

PREFIX = "compact:"
_read_json = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Slot:
    """One placeholder of a template.

    Attributes:
        text: the brace expression as the template has it.
        optional: whether it ends in a question mark, so that a missing value leaves no text.
        mine: whether it belongs to the pass that asked. Another pass fills in the others.
        stored: whether ADK filled in a state value (of an `output_key`), so that no brace expression is left.
        before: the plain text between the previous brace expression and this one.
        after: the plain text up to the next brace expression.
    """

    text: str
    optional: bool
    mine: bool
    stored: bool
    before: str
    after: str


class Span(NamedTuple):
    """The range of a slot in a text."""

    start: int
    end: int
    slot: Slot


class Block(NamedTuple):
    """The range of a whole template in a text, with its slots."""

    start: int
    end: int
    spans: tuple[Span, ...]


Piece = str | Slot


@lru_cache(maxsize=256)
def parse(template: str, key: str, output_key: str | None) -> tuple[Piece, ...]:
    """Splits a template into plain text, with ADK's own variables still in it, and slots."""
    pieces: list[Piece] = []
    done = 0
    found = [_Expression.of(match) for match in BRACES.finditer(template)]
    for index, expression in enumerate(found):
        name = expression.name
        if not name.startswith(PREFIX) and name != output_key:
            continue
        stored = name == output_key
        # ADK has put a value in the place of the whole match, odd braces included.
        start, end = expression.matched if stored else (expression.start, expression.end)
        before = template[found[index - 1].matched[1] if index else 0 : start]
        after = template[end : found[index + 1].matched[0] if index + 1 < len(found) else len(template)]
        mine = name in (PREFIX + key, output_key)
        slot = Slot(template[start:end], expression.optional, mine, stored, before, after)
        pieces += (template[done:start], slot)
        done = end
    return tuple(piece for piece in (*pieces, template[done:]) if piece != "")


class _Expression(NamedTuple):
    """A brace expression with as many braces before as after it."""

    name: str
    optional: bool
    start: int
    end: int
    matched: tuple[int, int]

    @classmethod
    def of(cls, match: re.Match[str]) -> _Expression:
        # ADK takes all braces for the expression's own, so `{"rows": {name}}` loses one. Here the extra one is kept.
        text = match.group()
        name = text.strip("{}").strip()
        lead, trail = len(text) - len(text.lstrip("{")), len(text) - len(text.rstrip("}"))
        braces = min(lead, trail)
        start, end = match.start() + lead - braces, match.end() - trail + braces
        return cls(name.removesuffix("?"), name.endswith("?"), start, end, match.span())


def my_slots(pieces: tuple[Piece, ...]) -> list[Slot]:
    """Returns the slots that the pass fills in."""
    return [piece for piece in pieces if isinstance(piece, Slot) and piece.mine]


def slot_keys(template: str) -> set[str]:
    """Returns the keys of all `{compact:KEY}` slots of a template."""
    names = (_Expression.of(match).name for match in BRACES.finditer(template))
    return {name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)}


class Filling(NamedTuple):
    """The texts that a slot may hold.

    Attributes:
        stale: the text that ADK filled in for an `output_key`.
        fresh: the view, for a slot that has been filled in already.
        missing: whether there is no value, so that an optional slot that has been filled in is empty.
        any_view: whether a slot of the pass may hold any view, such as one of an earlier state.
    """

    stale: str
    fresh: str
    missing: bool
    any_view: bool = False

    def ends(self, text: str, at: int, slot: Slot) -> Iterator[int]:
        """Yields the places where a slot that begins at `at` may end, the likeliest first."""
        for filled in (self.stale if slot.stored else slot.text, self.fresh if slot.mine else ""):
            if filled and text.startswith(filled, at):
                yield at + len(filled)
        if self.any_view or not slot.mine:
            with contextlib.suppress(ValueError, RecursionError):
                value, end = _read_json(text, at)
                # Nothing says where a number ends if digits follow it.
                yield from range(end, at, -1) if is_number(value) else (end,)
        if self._may_be_empty(slot):
            yield at

    def _may_be_empty(self, slot: Slot) -> bool:
        if self.any_view or not slot.mine:
            return slot.optional or slot.stored
        return (slot.optional and self.missing) or (slot.stored and not self.stale)


def find_block(
    text: str, pieces: tuple[Piece, ...], filling: Filling, *, cursor: int = 0, follower: str = ""
) -> Block | None:
    """Finds the pieces one after the other in `text`, at or after `cursor`.

    A user's text may hold the whole instruction byte for byte. Of several places, the one that is followed by
    `follower` wins, then the one at `cursor`, then one that is a paragraph by itself.
    """
    best: tuple[tuple[bool, bool, bool], Block] | None = None
    for start in _starts(text, pieces, cursor):
        block = match_at(text, start, pieces, filling)
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
    if best is None and not filling.any_view:
        return find_block(text, pieces, filling._replace(any_view=True), cursor=cursor, follower=follower)
    return best[1] if best else None


def match_at(
    text: str, start: int, pieces: tuple[Piece, ...], filling: Filling, *, end: int | None = None
) -> Block | None:
    """Returns the block that begins at `start`, and ends at `end` if that is given."""
    if not pieces:
        return Block(start, start, ()) if end is None or start == end else None
    piece, rest = pieces[0], pieces[1:]
    if isinstance(piece, str):
        found = match_at(text, start + len(piece), rest, filling, end=end) if text.startswith(piece, start) else None
        return found and Block(start, found.end, found.spans)
    for slot_end in filling.ends(text, start, piece):
        found = match_at(text, slot_end, rest, filling, end=end)
        if found is not None:
            return Block(start, found.end, (Span(start, slot_end, piece), *found.spans))
    return None


def _starts(text: str, pieces: tuple[Piece, ...], cursor: int) -> Iterator[int]:
    first = pieces[0] if pieces else ""
    if isinstance(first, str):
        yield from occurrences(text, first, cursor)
        return
    yield cursor
    yield from (found + 2 for found in occurrences(text, "\n\n", cursor))
    yield from occurrences(text, first.text, cursor)


def occurrences(text: str, part: str, start: int = 0) -> Iterator[int]:
    """Finds all places of `part` in `text`, overlapping ones included."""
    found = text.find(part, start) if part else -1
    while found >= 0:
        yield found
        found = text.find(part, found + 1)


def placeholders(text: str, key: str, start: int, end: int) -> Iterator[Span]:
    """Finds the placeholders of `key` in a text that has no template."""
    if PREFIX + key not in text:
        return
    for expression in map(_Expression.of, BRACES.finditer(text, start, end)):
        if expression.name == PREFIX + key:
            mark = text[expression.start : expression.end]
            slot = Slot(mark, optional=expression.optional, mine=True, stored=False, before="", after="")
            yield Span(expression.start, expression.end, slot)

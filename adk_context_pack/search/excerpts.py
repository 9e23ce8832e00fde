"""Chooses what is shown of the hits of a search, with what stands around them, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from adk_context_pack.search.ranked_index import Hit, Keep, RankedIndex

_FARTHEST = 2

Cost = Callable[[str], int]
"""Tells how many tokens a text takes."""


class Excerpt(NamedTuple):
    """A part of one text that is shown."""

    text: int
    start: int
    end: int


def excerpts(  # noqa: PLR0913 - each is a setting
    index: RankedIndex,
    hits: Sequence[Hit],
    *,
    max_tokens: int,
    cost: Cost,
    overhead: int = 0,
    keep: Keep | None = None,
) -> tuple[list[Excerpt], int | None]:
    """Returns the parts to show, the one with the best hit first, and the number of the first hit that is not shown.

    Each hit is taken with its neighbours as long as they fit. The best hit is taken in any case. Where all hits
    fit, the rest of the budget goes to what stands further around them. Passages that touch become one part.

    Args:
        index: the index that gave the hits.
        hits: the hits, best first.
        max_tokens: the budget in tokens.
        cost: how many tokens a text takes.
        overhead: the tokens that each part takes beside its text.
        keep: tells by a text's number whether it may be shown as a neighbour. None for all.
    """
    chosen = _Chosen(index, max_tokens, cost, overhead)
    for rank, hit in enumerate(hits):
        if not chosen.take(hit.passage, rank):
            return chosen.parts(), rank
        chosen.take_around(hit, rank, 1, keep)
    for distance in range(2, _FARTHEST + 1):
        for rank, hit in enumerate(hits):
            chosen.take_around(hit, rank, distance, keep)
    return chosen.parts(), None


class _Chosen:
    """The passages chosen so far, each with the rank of the hit that it was taken for."""

    def __init__(self, index: RankedIndex, max_tokens: int, cost: Cost, overhead: int) -> None:
        self._index, self._left, self._cost, self._overhead = index, max_tokens, cost, overhead
        self._ranks: dict[int, int] = {}

    def take(self, place: int, rank: int) -> bool:
        """Takes a passage if it fits, or if it is the first, and returns whether it is there."""
        if place in self._ranks:
            return True
        text, start, end = self._index.span(place)
        near = (each for each in (place - 1, place + 1) if each in self._ranks)
        touches = any(self._index.span(each)[0] == text for each in near)
        price = self._cost(self._index.texts[text][start:end]) + (0 if touches else self._overhead)
        if price > self._left and self._ranks:
            return False
        self._ranks[place] = rank
        self._left -= price
        return True

    def take_around(self, hit: Hit, rank: int, distance: int, keep: Keep | None) -> None:
        """Takes the passages at this distance behind and before a hit, where they fit."""
        for place in (hit.passage + distance, hit.passage - distance):
            if 0 <= place < len(self._index) and (keep is None or keep(self._index.span(place)[0])):
                self.take(place, rank)

    def parts(self) -> list[Excerpt]:
        """Returns what was chosen, best first, with touching passages of one text as one part."""
        ranked: list[tuple[int, Excerpt]] = []
        for place in sorted(self._ranks):
            text, start, end = self._index.span(place)
            rank, last = ranked[-1] if ranked else (0, None)
            if last is not None and last.text == text and last.end == start:
                ranked[-1] = min(rank, self._ranks[place]), Excerpt(text, last.start, end)
            else:
                ranked.append((self._ranks[place], Excerpt(text, start, end)))
        return [part for _, part in sorted(ranked)]

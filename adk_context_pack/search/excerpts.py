"""Chooses what is shown of the hits of a search, with what stands around them, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from adk_context_pack.search.ranked_index import Hit, Keep, RankedIndex

Cost = Callable[[str], int]
"""Tells how many tokens a text takes."""


class Excerpt(NamedTuple):
    """A part of one text that is shown.

    Attributes:
        text: the number of the text.
        start: the character at which it starts.
        end: the character after its last one.
    """

    text: int
    start: int
    end: int


def excerpts(  # noqa: PLR0913 - each is a setting of its own
    index: RankedIndex,
    hits: Sequence[Hit],
    *,
    max_tokens: int,
    cost: Cost,
    overhead: int = 0,
    neighbours: int = 1,
    keep: Keep | None = None,
) -> tuple[list[Excerpt], int | None]:
    """Returns the parts to show, the one with the best hit first, and the number of the first hit that is not shown.

    Each hit is taken with its neighbours as long as they fit. The best hit is taken in any case. Passages that touch
    become one part.

    Args:
        index: the index that gave the hits.
        hits: the hits, best first.
        max_tokens: the budget in tokens.
        cost: how many tokens a text takes.
        overhead: the tokens that each part takes beside its text.
        neighbours: how many passages before and after each hit are shown where they fit.
        keep: tells by a text's number whether it may be shown as a neighbour; None for all.
    """
    chosen: dict[int, int] = {}
    left = max_tokens
    for rank, hit in enumerate(hits):
        for place in _around(hit.passage, neighbours, len(index)):
            if place in chosen:
                continue
            text, start, end = index.span(place)
            if place != hit.passage and keep is not None and not keep(text):
                continue
            price = cost(index.texts[text][start:end]) + (0 if _touches(place, chosen, index) else overhead)
            if price > left and chosen:
                if place == hit.passage:
                    return _parts(index, chosen), rank
                continue
            chosen[place] = rank
            left -= price
    return _parts(index, chosen), None


def _around(passage: int, neighbours: int, number: int) -> list[int]:
    """Returns the passage, the ones behind it and the ones before it, nearest first."""
    near = [passage + side * step for step in range(1, neighbours + 1) for side in (1, -1)]
    return [passage, *(place for place in near if 0 <= place < number)]


def _touches(place: int, chosen: dict[int, int], index: RankedIndex) -> bool:
    text = index.span(place)[0]
    return any(near in chosen and index.span(near)[0] == text for near in (place - 1, place + 1))


def _parts(index: RankedIndex, chosen: dict[int, int]) -> list[Excerpt]:
    ranked: list[tuple[int, Excerpt]] = []
    for place in sorted(chosen):
        text, start, end = index.span(place)
        rank, last = ranked[-1] if ranked else (0, None)
        if last is not None and last.text == text and last.end == start:
            ranked[-1] = min(rank, chosen[place]), Excerpt(text, last.start, end)
        else:
            ranked.append((chosen[place], Excerpt(text, start, end)))
    return [part for _, part in sorted(ranked)]

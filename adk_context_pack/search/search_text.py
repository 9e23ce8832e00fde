"""Searches one long text."""

from __future__ import annotations

from typing import NamedTuple

from adk_context_pack.search.excerpts import Cost, excerpts
from adk_context_pack.search.ranked_index import RankedIndex

_MAX_HITS = 100


class FoundText(NamedTuple):
    """The hits of a search in one text.

    Attributes:
        parts: where in the text each part starts and ends, best first.
        next_hit: the number of the first hit that is not shown, to go on with; None where all are.
    """

    parts: list[tuple[int, int]]
    next_hit: int | None


def index_of(text: str) -> RankedIndex:
    """Returns the index of one text. Building it takes time linear in its length, so keep it for the next search."""
    index = RankedIndex()
    index.add(text)
    return index


def search_text(index: RankedIndex, query: str, *, max_tokens: int, cost: Cost, first_hit: int = 0) -> FoundText:
    """Returns the parts of a text that fit a question or words best, with what stands around them.

    Args:
        index: the text's index, of `index_of`.
        query: words or a question; what is in double quotes must occur exactly.
        max_tokens: the budget of all parts together.
        cost: how many tokens a text takes.
        first_hit: the hit to begin with; `next_hit` of the search before.
    """
    hits = index.search(query, limit=first_hit + _MAX_HITS)[first_hit:]
    parts, rest = excerpts(index, hits, max_tokens=max_tokens, cost=cost)
    if rest is None and len(hits) == _MAX_HITS:
        rest = _MAX_HITS
    return FoundText([(part.start, part.end) for part in parts], None if rest is None else first_hit + rest)

"""Ranks passages of texts for a query, and chooses what is shown of them within a budget."""

from __future__ import annotations

import heapq
import math
import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from adk_context_pack.search.terms import Phrase, content_terms, split_query, terms

# The end of a sentence, of a line, or of an object or list in JSON.
_CLOSING = '"\u201d\u2019)\\]\u300d\u300f'
_END = re.compile(rf"[.!?\u2026]+[{_CLOSING}]*\s+|[\u3002\uff01\uff1f]+[{_CLOSING}]*|\n+|[}}\]],\s*")
_SOFT_END = re.compile(r"[,;]\s*|\s+")


def passages(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Yields the start and end of each passage. Together they cover `text`, in order.

    A passage ends where a sentence, a line or a JSON object does. If there is none within reach, it ends at a comma or
    a space, and at worst within a word.

    Args:
        text: the text.
        size: how many characters a passage has at most.
    """
    start = last = 0
    for end in _ends(text):
        if end - start > size and last > start:
            yield start, last
            start = last
        if end - start > size:
            for piece in _pieces(text, start, end, size):
                yield piece
                start = piece[1]
        last = end
    if start < len(text):
        yield start, len(text)


def _ends(text: str) -> Iterator[int]:
    for match in _END.finditer(text):
        yield match.end()
    if text:
        yield len(text)


def _pieces(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Yields the passages of one long sentence."""
    while end - start > size:
        soft = [match.end() for match in _SOFT_END.finditer(text, start + size // 2, start + size)]
        stop = soft[-1] if soft else start + size
        yield start, stop
        start = stop
    if start < end:
        yield start, end


_SATURATION, _LENGTH_SHARE = 1.2, 0.75
_FEW_WORDS = 2
_TERM_BYTES, _POSTING_BYTES, _PASSAGE_BYTES = 300, 6, 40

Keep = Callable[[int], bool]
"""Tells by the number of a text whether the text may be found."""


class Hit(NamedTuple):
    """One passage that a query found.

    Attributes:
        text: the number of the text, as `add` returned it.
        passage: the number of the passage, for `RankedIndex.span` and `excerpts`.
        score: how well it fits, comparable within one query alone.
    """

    text: int
    passage: int
    score: float


class RankedIndex:
    """Holds texts, cut into passages, and ranks the passages with BM25.

    The score is that of S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
    Foundations and Trends in Information Retrieval 3(4), 2009, section 3, with k1 = 1.2 and b = 0.75. The inverse
    document frequency is `ln(1 + (N - n + 0.5) / (n + 0.5))`, which is never negative. A passage also gets a share of
    the scores of the passages right before and after it.

    Adding a text takes time linear in its length. An index to which texts were added one by one equals one that was
    given all of them at once.

    Args:
        passage_size: how many characters a passage has at most.
        neighbour_share: the share of its neighbours' scores that a passage gets. 0 if they have nothing in common.

    Attributes:
        texts: the texts, in the order in which they were added.
    """

    def __init__(self, *, passage_size: int = 320, neighbour_share: float = 0.5) -> None:
        self._size, self._share = passage_size, neighbour_share
        self.texts: list[str] = []
        self._text_of = array("I")
        self._first: list[int] = []
        self._spans: list[tuple[int, int]] = []
        self._lengths = array("I")
        self._total = 0
        self._places: dict[str, array[int]] = {}
        self._counts: dict[str, array[int]] = {}
        self._norms: list[float] = []
        self._characters = self._postings = 0

    def add(self, text: str, *, title: str = "") -> int:
        """Adds a text and returns its number.

        Args:
            text: the text.
            title: a name under which each passage of the text is found as well.
        """
        number = len(self.texts)
        self.texts.append(text)
        self._first.append(len(self._spans))
        self._characters += len(text)
        named = terms(title)
        for start, end in passages(text, self._size) if text else [(0, 0)]:
            self._add_passage(number, (start, end), Counter(named + terms(text[start:end])))
        return number

    def _add_passage(self, text: int, span: tuple[int, int], counts: Counter[str]) -> None:
        place = len(self._spans)
        self._text_of.append(text)
        self._spans.append(span)
        length = counts.total()
        self._lengths.append(length)
        self._total += length
        self._postings += len(counts)
        for term, count in counts.items():
            if term not in self._places:
                self._places[term], self._counts[term] = array("I"), array("H")
            self._places[term].append(place)
            self._counts[term].append(min(count, 65_535))

    def __len__(self) -> int:
        """The number of passages."""
        return len(self._spans)

    @property
    def bytes(self) -> int:
        """About what the index holds in memory."""
        terms_, passages_ = len(self._places) * _TERM_BYTES, len(self._spans) * _PASSAGE_BYTES
        return self._characters + terms_ + passages_ + self._postings * _POSTING_BYTES

    def span(self, passage: int) -> tuple[int, int, int]:
        """Returns the number of a passage's text, and where in it the passage starts and ends."""
        return self._text_of[passage], *self._spans[passage]

    def search(self, query: str, *, keep: Keep | None = None, limit: int = 50) -> list[Hit]:
        """Returns the passages that fit `query`, best first, and the newer first among equals.

        Args:
            query: words, or a question. Words in double quotes must occur exactly, apart from case and white space. One
                or two words that are not indexed are looked for as they are written.
            keep: tells by a text's number whether it counts. None for all.
            limit: how many hits are returned at most.
        """
        words, phrases = split_query(query)
        scores = self._scores(content_terms(words))
        # No text holds a whole question as it is written, and going through all texts takes time.
        if phrases or (words and not scores and len(words.split()) <= _FEW_WORDS):
            scores = {place: scores.get(place, 0.0) + 1.0 for place in self._exact(phrases or (words,), keep)}
        elif keep is not None:
            text_of, kept = self._text_of, _Kept(keep)
            scores = {place: score for place, score in scores.items() if kept[text_of[place]]}
        best = _best(scores, scores, 4 * limit)
        around = {near for place in best for near in (place - 1, place, place + 1) if near in scores}
        smooth = {
            place: scores[place] + self._share * (scores.get(place - 1, 0.0) + scores.get(place + 1, 0.0))
            for place in around
        }
        return [Hit(self._text_of[place], place, smooth[place]) for place in _best(smooth, smooth, limit)]

    def _exact(self, phrases: Collection[str], keep: Keep | None) -> set[int]:
        """Returns the passages in which a phrase begins, of the texts that hold all phrases."""
        wanted = [Phrase(phrase) for phrase in phrases]
        # Texts that hold a phrase word for word hold its terms. Where none does, it may begin or end within a word.
        for numbers in (self._texts_with(phrases), range(len(self.texts))):
            found: set[int] = set()
            for number in numbers:
                places = [list(phrase.places(self.texts[number])) for phrase in wanted]
                if all(places) and (keep is None or keep(number)):
                    found.update(self._passage_at(number, place) for group in places for place in group)
            if found:
                return found
        return set()

    def _texts_with(self, phrases: Collection[str]) -> set[int]:
        """Returns the texts that hold the rarest of the phrases' terms that are indexed at all."""
        indexed = (self._places[term] for phrase in phrases for term in terms(phrase) if term in self._places)
        return {self._text_of[place] for place in min(indexed, key=len, default=())}

    def _passage_at(self, text: int, offset: int) -> int:
        first = self._first[text]
        stop = self._first[text + 1] if text + 1 < len(self._first) else len(self._spans)
        return bisect_right(self._spans, (offset, len(self.texts[text])), first, stop) - 1

    def _scores(self, wanted: Iterable[str]) -> dict[int, float]:
        norms, scores, number = self._current_norms(), dict[int, float](), len(self._spans)
        for term in wanted:
            if (places := self._places.get(term)) is None:
                continue
            weight = math.log(1 + (number - len(places) + 0.5) / (len(places) + 0.5)) * (_SATURATION + 1)
            for place, count in zip(places, self._counts[term], strict=True):
                scores[place] = scores.get(place, 0.0) + weight * count / (count + norms[place])
        return scores

    def _current_norms(self) -> list[float]:
        # The mean length changes with each passage, so the norms wait for the first search after it.
        if len(self._norms) != len(self._lengths):
            mean = self._total / len(self._lengths) or 1.0
            base, share = _SATURATION * (1 - _LENGTH_SHARE), _SATURATION * _LENGTH_SHARE / mean
            self._norms = [base + share * length for length in self._lengths]
        return self._norms


class _Kept(dict[int, bool]):
    """Asks `keep` once for each text."""

    def __init__(self, keep: Keep) -> None:
        super().__init__()
        self._keep = keep

    def __missing__(self, text: int) -> bool:
        self[text] = kept = self._keep(text)
        return kept


def _best(places: Iterable[int], scores: Mapping[int, float], limit: int) -> list[int]:
    return heapq.nlargest(limit, places, key=lambda place: (scores[place], place))


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

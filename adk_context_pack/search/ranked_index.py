"""Ranks passages of texts for a query, and chooses what is shown of them within a budget."""

from __future__ import annotations

import heapq
import re
import sqlite3
import unicodedata
import weakref
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import chain
from os.path import commonprefix
from typing import NamedTuple

import regex  # type: ignore[import-untyped]

_MATTER_ROWS = iter(files(__package__).joinpath("related_words.txt").read_text("utf-8").splitlines()[3:])
_STOP_WORDS = frozenset(next(_MATTER_ROWS).split())
"""Words that a question has in any case. They count only in a query that has nothing else."""
# Scripts that are written without spaces, or that join particles to words.
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}ー\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_SPACED_OUT = regex.compile(_UNSPACED)
_LEFT_OUT = re.compile(r"(?<=\d),(?=\d{3}(?!\d))|(?<=\w)['\u2019](?:s\b)?(?=\w|\b)")
"""The commas of an amount, apostrophes and the `'s` of an owner."""
# Not a random name, whose letters and digits would be found as words of their own, such as a handle or a hash.
_JOINED = re.compile(
    r"\b(?!(?:[0-9a-hjkmnp-tv-z]{11}|[0-9a-f]{7,}|\w{41,})\b)"
    r"\w*(?:[^\W\d_]\d|\d[^\W\d_]|[a-z][A-Z]|[A-Z]{2}[a-z])\w*"
)
_CAMEL = regex.compile(r"\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{M}]+|\p{N}+")
_WORD = regex.compile(rf"{_UNSPACED}+|[\p{{L}}\p{{M}}\p{{N}}]+")
_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」')


def spelled(text: str) -> str:
    """Returns `text` as it is indexed: names such as `getUserName` and `SK4711` also in parts, amounts without commas.

    Scripts without spaces are spaced out, so that each letter is a word.
    """
    if not text.isascii():
        text = _SPACED_OUT.sub(r" \g<0> ", unicodedata.normalize("NFKC", text).encode("utf-8", "replace").decode())
    return _JOINED.sub(lambda each: " ".join((each[0], *_CAMEL.findall(each[0]))), _LEFT_OUT.sub("", text))


def query_terms(query: str) -> list[str]:
    """Returns the distinct words of `query` that say what it is about, or all of them if none does.

    An identifier such as `ORD-4711` counts as a whole and in parts, and so does a pair of letters in a script without
    spaces.
    """
    found = dict.fromkeys(regex.findall(_UNSPACED * 2, query, overlapped=True))
    for chunk in spelled(query).casefold().split():
        parts = _WORD.findall(chunk)
        if 1 < len(parts) <= _MOST_PARTS:
            found[" ".join(parts)] = None
        found |= dict.fromkeys(parts)
    return ([term for term in found if term not in _STOP_WORDS] or list(found))[:500]


_STEM, _COMPOUND, _MOST_PARTS = 4, 6, 8
"""The fewest letters that tell a word by its beginning and its ending, and within it, and the most parts of a name."""


def folded(text: str) -> str:
    """Returns `text` in lower case, without accents."""
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFD", text.casefold().replace("ł", "l").replace("ı", "i"))  # noqa: RUF001
    return unicodedata.normalize("NFC", "".join(each for each in letters if not "\u0300" <= each <= "\u036f"))


# From a word, or the beginning of words, to the names of its matters.
_MATTERS: dict[str, frozenset[str]] = {}
for _number, _row in enumerate(_MATTER_ROWS):
    for _word in folded(_row).split(", "):
        _MATTERS[_word] = _MATTERS.get(_word, frozenset()) | {f"zqmatter{_number}"}
_LONGEST = max(map(len, _MATTERS))


@lru_cache(maxsize=4096)
def _matters_of(word: str) -> frozenset[str]:
    """Returns a name for each matter that a word, or a run of letters without spaces, is about."""
    found = _MATTERS.get(word, frozenset())
    shortest = 1 if _SPACED_OUT.match(word) else _COMPOUND
    beginning = max(_STEM if word.isascii() else 2, len(word) - _STEM)
    for start in range(max(1, len(word) - shortest + 1)):
        for end in range(start + 1, min(start + _LONGEST, len(word)) + 1):
            if end - start >= shortest or (start == 0 and end >= beginning):
                found |= _MATTERS.get(word[start:end], frozenset())
    return found


def matters(text: str) -> set[str]:
    """Returns a name for each everyday matter that `text` is about, such as family or money, in any language."""
    return set(chain.from_iterable(map(_matters_of, _WORD.findall(folded(text)))))


# The end of a sentence, of a line, or of an object or list in JSON.
_CLOSING = '"\u201d\u2019)\\]\u300d\u300f'
_END = re.compile(rf"[.!?\u2026]+[{_CLOSING}]*\s+|[\u3002\uff01\uff1f]+[{_CLOSING}]*|\n+|[}}\]],\s*")
_SOFT_END = re.compile(r"[,;]\s*|\s+")


def passages(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Yields the start and end of each passage, of at most `size` characters. Together they cover `text`, in order.

    A passage ends where a sentence, a line or a JSON object does. If there is none within reach, it ends at a comma or
    a space, and at worst within a word.
    """
    start = last = 0
    for end in (*(match.end() for match in _END.finditer(text)), len(text)):
        while end - start > size:
            soft = [match.end() for match in _SOFT_END.finditer(text, start + size // 2, start + size)]
            stop = last if last > start else soft[-1] if soft else start + size
            yield start, stop
            start = stop
        last = end
    if start < len(text):
        yield start, len(text)


_CREATE = """CREATE VIRTUAL TABLE passage USING fts5(
    words, content='', tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'")"""

Keep = Callable[[int], bool]
"""Tells by the number of a text whether the text may be found."""
Cost = Callable[[str], int]


class Excerpt(NamedTuple):
    """A part of one of the texts, which have numbers."""

    text: int
    start: int
    end: int


class RankedIndex:
    """Holds texts, cut into passages, and ranks the passages with the BM25 of SQLite's FTS5.

    Words are folded (case, width, accents) and stemmed as English. A word that no text has is looked for by its parts,
    its beginning, other words for the same everyday matter, and else as one that ends a compound or is misspelled in
    one place. A passage also gets a share of the scores of the two passages before and after it, and twice that of a
    short question before it, whose words an answer need not repeat. A question prefers what is headed or spoken by a
    name that it has. Without FTS5, a passage scores by how many of the query's words it holds.

    Adding a text takes time linear in its length. An index that grew equals one that was given all texts at once.

    Args:
        passage_size: how many characters a passage has at most.
        neighbour_share: the share of its neighbours' scores that a passage gets, and its square of the next but one. 0
            if they have nothing in common. The length and the head of a passage do not count then either.
        novelty: what a word that no other passage has adds to a passage's worth, since small talk has few of them.

    Attributes:
        texts: the texts, in the order in which they were added.
        spans: the passages, by their numbers.
        bytes: about what the index holds in memory.
    """

    def __init__(self, *, passage_size: int = 320, neighbour_share: float = 0.5, novelty: float = 1.5) -> None:
        self._size, self._share, self._novelty = passage_size, neighbour_share, novelty
        self.texts: list[str] = []
        self.bytes = 80_000
        self._words, self._first = Counter[str](), dict[str, int]()
        self._worth = list[float]()
        self._asks = set[int]()
        self._headed = defaultdict[str, set[int]](set)
        self.spans: list[Excerpt] = []
        # One thread at a time uses an index, but not always the same.
        self._database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        weakref.finalize(self, self._database.close)
        self._has_fts5 = True
        try:
            self._database.execute(_CREATE)
        except sqlite3.OperationalError:
            self._has_fts5 = False
        # Without a transaction each passage would become a segment of its own.
        self._database.execute("BEGIN")

    def add(self, text: str, *, title: str = "") -> int:
        """Adds a text and returns its number. Each of its passages is found by its title as well."""
        number = len(self.texts)
        self.texts.append(text)
        # It may begin with the name of its speaker.
        for word in _WORD.findall(folded(f"{title} {text[:40].rpartition(': ')[0]}")):
            self._headed[word].add(number)
        for start, end in passages(text, self._size) if text else [(0, 0)]:
            if self._has_fts5:
                words = f"{title}\n{text[start:end]}"
                held = dict.fromkeys(_WORD.findall(folded(words)))
                self._worth.append((1 + end - start) ** 0.5)
                # Numbers and ids are new in any result. A sign of a vowel is not a letter.
                for word in (each for each in held if each.isalpha() or not each.isalnum()):
                    first, known = self._first.setdefault(word, len(self.spans)), self._words[word]
                    self._worth[first] += 0.0 if known > 1 else self._novelty * (1 - 2 * known)
                self._words.update([*held])
                about = chain.from_iterable(map(_matters_of, held))
                row = len(self.spans), " ".join((spelled(words), *set(about)))
                self._database.execute("INSERT INTO passage(rowid, words) VALUES (?, ?)", row)
            if 3 * (end - start) < self._size and text[start:end].rstrip()[-1:] in {"?", "\uff1f"}:
                self._asks.add(len(self.spans))
            self.spans.append(Excerpt(number, start, end))
            self.bytes += 3 * (end - start) + 200
        return number

    def search(self, query: str, *, keep: Keep = lambda _: True, limit: int = 50) -> dict[int, float]:
        """Returns the passages that fit `query`, best first, and the newer first among equals.

        They are given by their numbers, with scores that can be compared within one query alone.

        Args:
            query: words, or a question. Words in quotes must occur exactly. A quotation mark without a partner is left
                as it is. One or two words that are not indexed are looked for as they are written.
            keep: tells by a text's number whether it counts.
            limit: how many hits are returned at most.
        """
        phrases = tuple(filter(None, ("".join(each.groups("")).strip() for each in _QUOTED.finditer(query))))
        words = _QUOTED.sub(lambda match: f" {''.join(match.groups(''))} ", query).strip()
        scores = self._scores(words)
        is_question = bool(words.split()[2:])
        # No text holds a whole question as it is written, and going through all texts takes time.
        if phrases or (words and not scores and not is_question):
            scores = {place: scores.get(place, 0.0) + 1.0 for place in self._exact(phrases or (words,), keep)}
        scores = {place: score for place, score in scores.items() if keep(self.spans[place].text)}
        headed, at = set[int](), scores.get
        if is_question and scores and self._share and not phrases:
            answers = ((place + 1, 0.0) for place in scores.keys() & self._asks if place + 1 < len(self.spans))
            near = (each for each in chain(answers, self._alike(scores)) if keep(self.spans[each[0]].text))
            scores |= {place: scores.get(place, 0.0) + score for place, score in near}
            # Who is asked about says most of it.
            headed.update(*(self._headed[word] for word in self._headed.keys() & _WORD.findall(folded(words))))

        def total(place: int) -> float:
            before, far = at(place - 1, 0.0), at(place - 2, 0.0) + at(place + 2, 0.0)
            near = (before * 2 if place - 1 in self._asks else before) + at(place + 1, 0.0)
            found = scores[place] + self._share * (near + self._share * far)
            return found * (1 + (self.spans[place].text in headed))

        return {place: score for score, place in heapq.nlargest(limit, ((total(place), place) for place in scores))}

    def _holds(self, match: str) -> bool:
        return bool(self._database.execute("SELECT 1 FROM passage WHERE passage MATCH ? LIMIT 1", (match,)).fetchall())

    def _exact(self, phrases: Sequence[str], keep: Keep) -> set[int]:
        """Returns the passages in which a phrase begins, of the texts that hold all phrases."""
        wanted = [re.compile(r"\s+".join(map(re.escape, each.split())), re.IGNORECASE) for each in phrases]
        # A phrase that no text holds word for word may begin or end within a word.
        for numbers in ({self.spans[place][0] for place in self._scores(phrases[0])}, range(len(self.texts))):
            found: set[int] = set()
            for number in numbers:
                places = [[match.start() for match in each.finditer(self.texts[number])] for each in wanted]
                if all(places) and keep(number):
                    found.update(bisect_left(self.spans, (number, place + 1)) - 1 for place in chain(*places))
            if found:
                return found
        return set()

    def _scores(self, words: str) -> dict[int, float]:
        terms = query_terms(words)
        if not self._has_fts5:
            texts = (self.texts[n][start:end].casefold() for n, start, end in self.spans)
            return {place: float(held) for place, text in enumerate(texts) if (held := sum(map(text.count, terms)))}
        # A script without spaces does not tell where its words end.
        sought = sorted(matters(" ".join(filter(_SPACED_OUT.match, words.split()))))
        for term in terms:
            is_held = self._holds(whole := f'"{spelled(term)}"')
            # What was said before may have been said in other words. Tools have names.
            others = sorted(matters(term)) if self._share or not is_held else []
            if is_held:
                others.append(whole)
            elif term.isalpha():
                ends = range(_STEM, len(term) - _STEM + 1)
                others += [f'"{part}"' for end in ends for part in (term[:end], term[end:])]
                # Most endings are in the last third of a word.
                others += [f'"{term[: max(_STEM, 7 * len(term) // 10)]}"*'] * (len(term) > _STEM)
            sought += (others := [*filter(self._holds, others)])
            if not others and term.isalpha() and len(word := folded(term)) >= _STEM:
                # It may end a compound, or be misspelled. Hardly anyone mistakes the first letter.
                near = (each for each in self._words if each.endswith(word) or _misspells(word, each))
                sought += (f'"{each}"' for each in near)
        return self._matching(sought)

    def _matching(self, sought: Collection[str]) -> dict[int, float]:
        scores = "SELECT rowid, -bm25(passage) FROM passage WHERE passage MATCH ?"
        found = self._database.execute(scores, (" OR ".join(sought),)) if sought else ()
        # BM25 prefers the shortest passages. Of what was said, those that say more have more answers.
        return {place: score * self._worth[place] for place, score in found} if self._share else dict(found)

    def _alike(self, scores: Mapping[int, float]) -> Iterator[tuple[int, float]]:
        """Yields smaller scores of the passages that share rare words with the best ones, such as names."""
        best = heapq.nlargest(3, scores, key=scores.__getitem__)
        texts = (self.texts[number][start:end] for number, start, end in map(self.spans.__getitem__, best))
        words = dict.fromkeys(chain.from_iterable(_WORD.findall(folded(text)) for text in texts))
        few = range(2, max(4, len(self.spans) // 100))
        names = (each for each in words if each[_STEM - 1 :].isalpha() and self._words[each] in few)
        found = self._matching([f'"{each}"' for each in names])
        share = 0.2 * scores[best[0]] / max(found.values(), default=1.0)
        return ((place, share * score) for place, score in found.items())


def _misspells(word: str, other: str) -> bool:
    """Tells whether one letter of a long `word` is wrong, missing or too many, or two are swapped."""
    if len(word) == _STEM or word[0] != other[0]:
        return False
    same = len(commonprefix((word, other)))  # noqa: RUF071 - characters are what is compared
    rest, right = word[same:], other[same:]
    return rest[1:] in {right, right[1:]} or rest == right[1:] or (rest[1::-1] == right[:2] and rest[2:] == right[2:])


def excerpts(  # noqa: PLR0913 - each is a setting
    index: RankedIndex, hits: list[int], *, max_tokens: int, cost: Cost, overhead: int = 0, keep: Keep = lambda _: True
) -> tuple[list[Excerpt], int | None]:
    """Returns the parts to show, in the order of the texts, and the number of the first hit that is not shown.

    The two best hits are taken with their neighbours and the others alone, as long as they fit, since a question may
    have several parts that are answered apart. The best hit is taken in any case. If all hits fit, the rest of the
    budget is for what is around them, and then for how texts around the two best go on, such as what a call returned.
    Passages that touch become one part, which takes `overhead` tokens beside its text. `keep` tells by a text's number
    whether it may be shown as a neighbour.
    """
    ranks = list(enumerate(hits))
    wished = [(rank, hit, step) for rank, hit in ranks for step in ((0, 1, -1) if rank in range(2) else (0,))]
    wished += [(rank, hit, step) for steps in ((1, -1), (2, -2)) for rank, hit in ranks for step in steps]
    wished += [(rank, hit, step) for step in range(3, 12) for rank, hit in ranks[:2]]
    chosen: set[int] = set()
    left_out = None
    for rank, hit, step in wished:
        place = hit + step
        if not 0 <= place < len(index.spans) or place in chosen:
            continue
        text, start, end = index.spans[place]
        touches = any(index.spans[near].text == text for near in (place - 1, place + 1) if near in chosen)
        price = cost(index.texts[text][start:end]) + (0 if touches else overhead)
        if (price <= max_tokens or not chosen) and (not step or (keep(text) and (touches or step in range(-2, 3)))):
            chosen.add(place)
            max_tokens -= price
        elif not step:
            left_out = rank
            break
    parts: list[Excerpt] = []
    for part in map(index.spans.__getitem__, sorted(chosen)):
        touches = bool(parts) and parts[-1][::2] == part[:2]
        parts.append(parts.pop()._replace(end=part.end) if touches else part)
    return parts, left_out

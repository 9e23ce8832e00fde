"""Splits a text into the terms by which it is indexed and found, and a query into its terms and exact phrases."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import regex  # type: ignore[import-untyped]

_VOWEL = re.compile("[aeiouy]")
_SHORTEST, _SHORTEST_STEM, _LONG = 4, 3, 5


def stem(word: str) -> str:
    """Returns the stem of a lower-case English word. Other words come back nearly as they are.

    It takes off plurals (the S-stemmer of D. Harman, "How Effective Is Suffixing?", Journal of the American Society
    for Information Science 42(1), 1991), then `-ing`, `-ed` and `-ation`, a final `e` and a doubled consonant at the
    end. A final `y` becomes `i`. A stem is a key for comparison. It need not be a word.
    A word that holds a digit comes back unchanged.
    """
    if len(word) < _SHORTEST or not (word.isascii() and word.isalpha()):
        return word
    return _without_end(_without_tense(_singular(word)))


def _singular(word: str) -> str:
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith(("xes", "ches", "shes", "sses", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("us", "ss", "is")):
        return word[:-1]
    return word


def _without_tense(word: str) -> str:
    for ending in ("ation", "ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= _SHORTEST_STEM and _VOWEL.search(rest):
            return rest
    return word


def _without_end(word: str) -> str:
    if len(word) >= _SHORTEST and word.endswith("e"):
        word = word[:-1]
    if len(word) >= _SHORTEST and word.endswith("y"):
        word = word[:-1] + "i"
    # "stopped" and "stop", "cancelling" and "cancel". Short words such as "call" are written with both letters.
    if len(word) > _SHORTEST and word[-1] == word[-2] and (word[-1] not in "lsz" or len(word) > _LONG):
        word = word[:-1]
    return word


# One word may hold joints, so that identifiers, e-mail addresses, paths, dates and amounts stay one term.
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:[._@/:+#'-][A-Za-z0-9]+|,[0-9]{3}(?![0-9])|_+[A-Za-z0-9]+)*")
_UNIT = r"[\p{L}\p{N}][\p{L}\p{M}\p{N}]*"
_WORD = regex.compile(rf"{_UNIT}(?:[._@/:+#'\u2019-]{_UNIT}|,[0-9]{{3}}(?![0-9])|_+{_UNIT})*")
_PIECE = regex.compile(_UNIT)
_CAMEL = regex.compile(r"\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{M}]+|\p{N}+")
# Scripts that are written without spaces, or that join particles to words.
_UNSPACED_SCRIPTS = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_UNSPACED = regex.compile(f"[{_UNSPACED_SCRIPTS}]")
_RUN = regex.compile(f"[{_UNSPACED_SCRIPTS}]+|[^{_UNSPACED_SCRIPTS}]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」')
_LONGEST_CACHED, _LONGEST_CAMEL, _LONGEST_WHOLE = 64, 40, 200

_COMMON = """
a about also am an and any are as at be been being but by can could did do does for from had has have he her him his how
i if in into is it its just me my of on or our out please she should so some than that the their them then there these
they this those to too up us was we were what when where which who whom whose why will with would you your
"""
STOP_WORDS = frozenset(map(stem, _COMMON.split()))
"""Words that a question has in any case. They count only in a query that has nothing else."""


def terms(text: str) -> list[str]:
    """Returns the terms of `text`, in order, repeated as often as they occur.

    Words are folded (case, width, accents) and stemmed as English. Identifiers and numbers are terms as a whole
    and in parts: `ORD-4711` gives `ord-4711`, `ord` and `4711`. The same holds for camelCase, snake_case, e-mail
    addresses, paths, dates and amounts. Chinese, Japanese, Korean and scripts without spaces give single characters and
    pairs of neighbours.

    Args:
        text: any text. The time is linear in its length.
    """
    found: list[str] = []
    plain = text.isascii()
    for word in _ASCII_WORD.findall(text) if plain else _WORD.findall(unicodedata.normalize("NFKC", text)):
        found += _cached(word) if len(word) <= _LONGEST_CACHED else _of_word(word)
    return found


def content_terms(query: str) -> list[str]:
    """Returns the distinct terms of `query` that say what it is about, or all of them where none does."""
    distinct = list(dict.fromkeys(terms(query)))
    return [term for term in distinct if term not in STOP_WORDS] or distinct


def split_query(query: str) -> tuple[str, tuple[str, ...]]:
    """Returns all words of `query` without its quotation marks, and the phrases that stood between them.

    Args:
        query: what is searched for. A quotation mark without a partner is left as it is.
    """
    quoted = ("".join(match.groups("")).strip() for match in _QUOTED.finditer(query))
    phrases = tuple(phrase for phrase in quoted if phrase)
    return _QUOTED.sub(lambda match: f" {''.join(match.groups(''))} ", query).strip(), phrases


class Phrase:
    """One exact phrase. Case and the amount of white space make no difference."""

    def __init__(self, text: str) -> None:
        words = text.casefold().split()
        self._pattern = re.compile(r"\s+".join(map(re.escape, words)))
        # A search for a plain string is many times faster than one with a pattern.
        self._probe = max(words, key=len, default="")

    def places(self, text: str) -> Iterator[int]:
        """Yields where in `text` the phrase begins."""
        folded = text.casefold()
        if self._probe and self._probe in folded:
            for match in self._pattern.finditer(folded):
                # Few letters become longer when folded. The place is off by those before it.
                yield min(match.start(), len(text) - 1)


def _of_word(word: str) -> tuple[str, ...]:
    if word.isascii() and word.isalpha() and (word.isupper() or word[1:].islower()):
        return (stem(word.lower()),)
    if not word.isascii() and _UNSPACED.search(word):
        return tuple(_of_runs(word))
    return tuple(dict.fromkeys(_whole_and_parts(word)))


_cached = lru_cache(maxsize=1 << 16)(_of_word)


def _of_runs(word: str) -> Iterator[str]:
    for run in _RUN.findall(word):
        if _UNSPACED.match(run):
            yield from run
            yield from map("".join, pairwise(run))
        else:
            for piece in _WORD.findall(run):
                yield from _whole_and_parts(piece)


def _whole_and_parts(word: str) -> Iterator[str]:
    word = word.replace("\u2019", "'").removesuffix("'s").removesuffix("'S").replace("'", "")
    folded = _fold(word)
    pieces = _PIECE.findall(word)
    if len(pieces) == 1 and folded.isalpha():
        yield stem(folded)
    elif len(word) <= _LONGEST_WHOLE:
        yield folded.replace(",", "")
    for piece in pieces:
        parts = _CAMEL.findall(piece) if len(piece) <= _LONGEST_CAMEL else [piece]
        yield from (stem(_fold(part)) for part in parts)
        if len(pieces) > 1 and len(parts) > 1:
            yield stem(_fold(piece))


def _fold(word: str) -> str:
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", word.casefold())))

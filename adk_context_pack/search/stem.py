"""Reduces English words to a common stem, lightly."""

from __future__ import annotations

import re

_VOWEL = re.compile("[aeiouy]")
_SHORTEST = 4
_SHORTEST_STEM = 3
_LONG = 5


def stem(word: str) -> str:
    """Returns the stem of a lower-case English word; other words come back nearly as they are.

    It takes off plurals (the S-stemmer of D. Harman, "How Effective Is Suffixing?", Journal of the American Society
    for Information Science 42(1), 1991), then `-ing`, `-ed` and `-ation`, a final `e` and a doubled consonant at the
    end. A final `y` becomes `i`. A stem is a key for comparison. It need not be a word.

    Args:
        word: one word in lower case. Anything that holds a digit comes back unchanged.
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

"""Finds exact phrases, which a query puts in double quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator

_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」')


def split_query(query: str) -> tuple[str, tuple[str, ...]]:
    """Returns all words of `query` without its quotation marks, and the phrases that stood between them.

    Args:
        query: what is searched for. A quotation mark without a partner is left as it is.
    """
    quoted = ("".join(match.groups("")).strip() for match in _QUOTED.finditer(query))
    phrases = tuple(phrase for phrase in quoted if phrase)
    return _QUOTED.sub(lambda match: f" {''.join(match.groups(''))} ", query).strip(), phrases


class Phrase:
    """One exact phrase; case and the amount of white space make no difference.

    Args:
        text: the phrase.
    """

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

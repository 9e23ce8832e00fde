"""find_places: patterns that a model wrote, within bounds that also hold for empty matches."""

import sys
from itertools import repeat

import pytest
import regex

from adk_context_pack.errors import QueryError
from adk_context_pack.sql import pattern_search
from adk_context_pack.sql.pattern_search import find_places


def spans(text, pattern, **settings):
    return find_places(text, pattern, **{"start": 0, "most": 9, "max_seconds": 9} | settings).spans


def test_places_are_found_from_a_start():
    """Matches come in order, in any case, none empty, before the start or beyond the number asked for."""
    assert spans("aabaa", "a*") == [(0, 2), (3, 5)]
    assert spans("ab AB ab", "ab") == [(0, 2), (3, 5), (6, 8)]
    assert spans("ab AB ab", "ab", start=1, most=1) == [(3, 5)]


@pytest.mark.parametrize(("text", "pattern"), [("a" * 1_000_000, "(?=a)"), ("a" * 60, "(a|aa)+$b")])
def test_a_search_ends_with_its_time(text, pattern):
    """So does one with a quick empty match at each of a million places, and one match that backtracks for ever."""
    with pytest.raises(QueryError, match="took too long"):
        spans(text, pattern, max_seconds=0.03)


def test_full_matches_have_the_deadline_too():
    """A pattern that matches quickly at very many places ends with its time. What was asked for is given."""
    found = find_places("ab" * 3_000_000, "a", start=3, most=2, max_seconds=0.05)
    assert found.spans == [(4, 5), (6, 7)]
    assert str(found.totals["a"]).startswith("more than ")
    with pytest.raises(QueryError, match="took too long"):
        spans("ab" * 1_000_000, "a", most=10**9, max_seconds=0.01)


def test_nothing_is_kept():
    """Neither a pattern nor what a broken one became goes into the cache of `regex`."""
    main = sys.modules[regex.compile.__module__]
    before = set(main._cache)
    spans("text", "a pattern that nobody else has (x|y)+")
    spans("text", "a broken pattern [")
    assert set(main._cache) == before


def test_a_broken_pattern_is_plain_text():
    """What is not a regular expression is searched as it stands, and the note says so."""
    found = find_places("a foo( b", "foo(", start=0, most=9, max_seconds=9)
    assert found.spans == [(2, 6)]
    assert "plain text" in found.note


@pytest.mark.parametrize("pattern", ["x" * 501, "x{1001}", "(x{40}){40}"])
def test_what_compiles_for_minutes_is_refused(pattern):
    """Long patterns and patterns with many counted repeats are refused before they are compiled."""
    with pytest.raises(QueryError, match="pattern"):
        spans("x", pattern)


@pytest.mark.parametrize("width", [0, 1])
def test_the_deadline_does_not_depend_on_the_module(monkeypatch, width):
    """Matches without end stop at the deadline, also where `regex` does not count the time that they take together."""

    class Endless:
        def finditer(self, text, *, timeout):
            match = regex.match("a" * width, text)
            return repeat(match, 3_000_000)

    monkeypatch.setattr(pattern_search, "_compiled", lambda *_: (Endless(), ""))
    with pytest.raises(QueryError, match="took too long"):
        spans("a", "x", most=10**9, max_seconds=0.01)


@pytest.mark.parametrize(
    ("search", "found"),
    [("[EUR]", "[EUR]"), ("a+b=c?", "a+b=c?"), ("cafe in Lodz", "Café in Łódź"), ("%café%", "Café"), ("room:7 of", "7"),
     ("Cafe\u0301 Lo\u0301dz", "Café in Łódź"), ("*EUR", "EUR"), ("place:cafe", "Café"), ("Muenchen", "München"),
     ("l\u2019Isle", "l'Isle")],
)  # fmt: skip
def test_what_a_model_means_is_found(search, found):
    """A text that is no pattern for itself is meant as it is, and accents, wildcards and numbers are understood."""
    text = "77 are here\n\nCafé in Łódź\n\ncosts [EUR] a+b=c?\n\n17 and 7\n\nin München\n\nin l'Isle"
    span = spans(text, search)[0]
    assert text[slice(*span)] == found

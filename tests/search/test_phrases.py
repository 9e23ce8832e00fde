"""Phrases: what a query puts in quotes."""

import pytest

from adk_context_pack.search.terms import Phrase, split_query


@pytest.mark.parametrize(
    ("query", "words", "phrases"),
    [
        ('who said "big  red" cat', "who said  big  red  cat", ("big  red",)),
        ("“one” and „two“", "one  and  two", ("one", "two")),
        ('5" screen', '5" screen', ()),
        ('"" x', '"" x', ()),
    ],
)
def test_splits_words_and_phrases(query, words, phrases):
    """All words count, and what stood in quotes is told apart; a lone mark is none."""
    assert split_query(query) == (words, phrases)


def test_finds_each_place_whatever_the_white_space_and_case():
    """Each beginning is found; other words between are not passed over."""
    assert list(Phrase("big RED").places("Big\n red, big bad red, BIG RED")) == [0, 23]
    assert list(Phrase(" ").places("a b")) == []


def test_places_stay_within_a_text_that_grows_when_folded():
    """A letter that becomes two when case is folded moves no place beyond the end."""
    assert list(Phrase("x").places("ßßßx")) == [3]

"""Phrases: what a query puts in quotes."""

from adk_context_pack.search.terms import Phrase


def test_finds_each_place_whatever_the_white_space_and_case():
    """Each beginning is found; other words between are not passed over."""
    assert list(Phrase("big RED").places("Big\n red, big bad red, BIG RED")) == [0, 23]
    assert list(Phrase(" ").places("a b")) == []


def test_places_stay_within_a_text_that_grows_when_folded():
    """A letter that becomes two when case is folded moves no place beyond the end."""
    assert list(Phrase("x").places("ßßßx")) == [3]

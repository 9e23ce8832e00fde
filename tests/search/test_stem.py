"""Stems: forms of one English word meet, and what is no English word stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.search.terms import stem


@pytest.mark.parametrize(
    "forms",
    [
        "book books booked booking",
        "reserve reserves reserved reserving reservation reservations",
        "cancel cancels cancelled canceled cancelling cancellation cancellations",
        "policy policies",
        "stop stops stopped stopping",
        "box boxes boxed",
        "ship shipped shipping",
        "call calls called calling",
        "install installed installation",
    ],
)
def test_forms_of_a_word_meet(forms):
    """Singular and plural, tenses and nouns made of a verb have one stem."""
    assert len({stem(word) for word in forms.split()}) == 1


@pytest.mark.parametrize("word", ["is", "bus", "as", "sk4711", "ord-4711", "東京", "été", "", "sing", "red"])
def test_short_and_foreign_words_stay(word):
    """What is short, has digits or is not plain English comes back as it was."""
    assert stem(word) == word


@given(st.text(alphabet="abcdeginostuy", min_size=1, max_size=12))
def test_a_stem_is_never_empty_nor_longer(word):
    """Something is left of every word, and nothing is added but a final i."""
    assert 1 <= len(stem(word)) <= len(word)

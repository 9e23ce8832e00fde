"""Terms: what a text is found by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.search.terms import Phrase, content_terms, stem, terms


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ORD-4711", {"ord-4711", "ord", "4711"}),
        ("SK4711", {"sk4711", "sk", "4711"}),
        ("getUserName", {"get", "user"}),
        ("HTTPServer2", {"httpserver2", "http", "server", "2"}),
        ("main_file_name", {"main_file_name", "main"}),
        ("anna.lee@mail.example", {"anna.lee@mail.example", "anna", "lee", "mail"}),
        ("see /src/app/main.py", {"src/app/main.py", "src", "app", "main", "py"}),
        ("2024-05-15T15:00", {"2024-05-15t15:00", "2024", "15"}),
        ("$1,234.50", {"1234.50", "1", "234", "50"}),
        ('{"price":120,"no":"SK 4711"}', {"120", "sk", "4711"}),
        ("Anna's don't", {"anna", "dont"}),
        ("caffè", {"caff"}),
        ("\uff14\uff17\uff11\uff11", {"4711"}),
        ("東京タワー", {"東京", "京タ", "東", "ワー"}),
        ("서울에서", {"서울", "울에"}),
        ("iPhone15を", {"iphone15", "15", "を"}),
    ],
)
def test_finds_words_identifiers_and_numbers(text, wanted):
    """Each kind of term is there, as a whole and in parts."""
    assert wanted <= set(terms(text))


@pytest.mark.parametrize(
    ("asked", "said"), [("Café", "CAFE"), ("booked flights", "BOOKING FLIGHT"), ("o\u2019clock", "o'clock")]
)
def test_spellings_meet(asked, said):
    """Case, accents, apostrophes and endings make no difference."""
    assert terms(asked) == terms(said)


def test_a_question_is_reduced_to_its_content():
    """Words that any question has do not count, unless there are no others."""
    assert content_terms("What is the name of my cat, the cat?") == ["nam", "cat"]
    assert content_terms("What is it?") == ["what", "is", "it"]


@given(st.text(max_size=200))
def test_any_text_has_terms_or_none(text):
    """No text raises, and each term is a text that is not empty."""
    assert all(terms(text))


@given(st.lists(st.text(alphabet="aB1_-.,@ é東", max_size=12), max_size=5))
def test_lines_do_not_touch_each_other(lines):
    """The terms of lines put together are those of each line, one after the other."""
    assert terms("\n".join(lines)) == [term for line in lines for term in terms(line)]


def test_finds_each_place_whatever_the_white_space_and_case():
    """Each beginning is found; other words between are not passed over."""
    assert list(Phrase("big RED").places("Big\n red, big bad red, BIG RED")) == [0, 23]
    assert list(Phrase(" ").places("a b")) == []


def test_places_stay_within_a_text_that_grows_when_folded():
    """A letter that becomes two when case is folded moves no place beyond the end."""
    assert list(Phrase("x").places("ßßßx")) == [3]


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

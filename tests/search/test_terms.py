"""Terms: what a text is found by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.search.terms import content_terms, terms


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

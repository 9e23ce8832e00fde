"""The ranked index: BM25 over passages, grown by appending."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.search import ranked_index
from adk_context_pack.search.ranked_index import RankedIndex, excerpts, passages, query_terms

WORDS = st.sampled_from(["alpha", "beta", "gamma", "delta", "ORD-4711", "4711", "東京", "red", "reds"])
TEXTS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=8)


def index_of(texts, **settings):
    index = RankedIndex(**settings)
    for text in texts:
        index.add(text)
    return index


def found(index, query, **settings):
    return [index.spans[hit].text for hit in index.search(query, **settings)]


@given(TEXTS, TEXTS, st.lists(WORDS, min_size=1, max_size=4).map(" ".join))
def test_an_index_that_grew_equals_one_made_at_once(first, then, query):
    """Searching in between, and adding later, changes neither hits nor scores."""
    grown = index_of(first, passage_size=20)
    grown.search(query)
    for text in then:
        grown.add(text)
    at_once = index_of(first + then, passage_size=20)
    assert [*grown.search(query).items()] == [*at_once.search(query).items()]
    assert (grown.spans, grown.bytes, grown.texts) == (at_once.spans, at_once.bytes, at_once.texts)


@pytest.mark.parametrize(("said", "asked"), [
    ("order ORD-4711 came", "ord-4711 4711 ORD"), ("SK4711", "sk 4711"), ("getUserName", "getusername user name"),
    ("HTTPServer2", "httpserver2 server"), ("main_file_name", "main file main_file_name"),
    ("anna.lee@mail.example", "anna.lee@mail.example lee mail"),
    ("see /src/app/main.py", "app main src/app/main.py"), ("2024-05-15T15:00", "2024-05-15 2024-05-15T15:00"),
    ("$1,234.50", "1234.50 1,234.50"), ('{"price":120,"no":"SK 4711"}', "120 price sk"), ("Anna's word", "anna"),
    ("don\u2019t", "don't dont"), ("caffè", "CAFFE caffe\u0300"), ("\uff14\uff17\uff11\uff11", "4711"),
    ("booked flights", "BOOKING FLIGHT books"), ("cancellation of policies", "cancellations policy"),
    ("東京タワー", "東京 京タ ワー 東"), ("서울에서", "서울 울에"), ("ประเทศไทย", "ไทย"), ("हिन्दी भाषा", "हिन्दी"),
    ("iPhone15を", "iphone15 iphone 15 を"), ("odd \ud800b and \0 signs", "b signs"),
])  # fmt: skip
def test_spellings_meet(said, asked):
    """Each way to write a word, an identifier or an amount finds the text that has it, and no other text."""
    index = index_of(["nothing of that kind, and the handle 1sk15q4711z", said])
    assert {word: found(index, word) for word in asked.split()} == {word: [1] for word in asked.split()}


def test_a_question_is_reduced_to_its_content():
    """Words that any question has do not count, unless there are no others."""
    assert query_terms("What is the name of my cat, the cat?") == ["name", "cat"]
    assert query_terms("What is it?") == ["what", "is", "it"]
    assert len(query_terms(" ".join(map(str, range(9_000))))) == 500


@pytest.mark.parametrize(("said", "new"), [(["zed", "zed cat", "zed 4b"], {1: 1}), (["zed. big A", "zed"], {1: 2})])
def test_neighbours_share_their_scores(said, new):
    """A passage beside others that fit gets half of their scores, then a quarter, and long or new ones get more."""
    index = index_of(said, passage_size=8)
    alone, shared = (index_of(said, passage_size=8, neighbour_share=share).search("big zed") for share in (0, 0.5))
    spans = {place: index.spans[place] for place in alone}
    long = {n: score * ((1 + spans[n][2] - spans[n][1]) ** 0.5 + 1.5 * new.get(n, 0)) for n, score in alone.items()}
    steps = {-2: 0.25, -1: 0.5, 0: 1.0, 1: 0.5, 2: 0.25}
    near = {place: sum(share * long.get(place + step, 0.0) for step, share in steps.items()) for place in long}
    assert shared == pytest.approx(near)
    assert shared != long


def test_a_question_prefers_what_they_say_whom_it_names():
    """What Ann says, by its beginning or its title, counts more than the same words of Bo, but not among tools."""
    titled = RankedIndex()
    for name, text in (("Ann", "tea Bo"), *[("", "idle")] * 3, ("Bo", "tea Ann")):
        titled.add(text, title=name)
    headed, tools = (index_of(["Ann: tea Bo", *["idle"] * 3, "Bo: tea Ann"], neighbour_share=n) for n in (0.5, 0))
    assert [found(each, "Which tea does Ann like") for each in (titled, headed, tools)] == [[0, 4], [0, 4], [4, 0]]


def test_a_python_without_fts5_ranks_by_the_words_that_a_passage_holds(monkeypatch):
    """Words, parts of words and phrases are found there as well, the passage with most of them first."""
    monkeypatch.setattr(ranked_index, "_CREATE", "CREATE VIRTUAL TABLE passage USING fts99(words)")
    index = index_of(["one red cat", "red cat, red dogs", "XJ-29Q8"])
    assert found(index, "Which red cats? The red cat!") == [1, 0]
    assert (found(index, '"red dogs"'), found(index, "J-29Q"), found(index, "=>")) == ([1], [2], [])


@given(st.text(max_size=200), st.text(max_size=50))
def test_any_text_can_be_indexed_and_asked(text, query):
    """No text and no query raises, whatever signs of the query language they hold."""
    index_of([text]).search(query)


@pytest.mark.parametrize(("said", "asked"), [
    ("A puppy", "pets"), ("Der Chef", "Arbeitsstelle"), ("猫を", "ペット"), ("руку", "травмы"), ("병원에", "의사가"),
    ("We wed; a marriage at last", "Hochzeitsfeier"), ("Blitz", "Blitzableiter"), ("A chimney", "chmney"),
    ("A chimney", "chiimney"), ("A chimney", "chemney"), ("A chimney", "CÍHMNEY"), ("Живу в Одессе", "Оддессе"),
    ("Steuererklärung", "Steuer"), ("allergie", "Allergiker"), ("De fietsband", "een band"),
])  # fmt: skip
def test_a_word_that_no_text_has_is_looked_for_by_what_it_is_about(said, asked):
    """Other words for the same matter are found, parts of a compound, inflections, and what a misspelled word meant."""
    index = index_of(["nothing of that kind", said])
    assert found(index, asked) == [1]
    index.add(f"{asked} nowhere else")
    assert found(index, asked)[0] == 2


def test_terms_are_looked_for_in_one_order(monkeypatch):
    """Scores do not depend on the order in which a process walks a set of matters."""
    index, sought = index_of(["idle"]), []
    monkeypatch.setattr(index, "_matching", lambda terms: sought.append([*terms]))
    monkeypatch.setattr(index, "_holds", bool)
    for names in (["zqmatter1", "zqmatter2"], ["zqmatter2", "zqmatter1"]):
        monkeypatch.setattr(ranked_index, "matters", lambda _, names=names: names)
        index._scores("pet")
    assert sought[0] == sought[1] != []


def test_a_question_finds_what_other_words_say_and_what_shares_a_name():
    """A question also finds the same matter, rare names of the best passages, and what followed it. Others do not."""
    said = ["my brother Mateo cooks", "idle", "Mateo opened a shop", "idle", "my sister sings", "idle", "idle", "Mateo"]
    assert sorted(found(index_of(said), "how is my brother doing")) == [0, 2, 4, 7]
    assert found(index_of(said), "my brother", keep=range(3).count) == [0]
    assert sorted(found(index_of(said), "how is my brother doing", keep=range(3).count)) == [0, 2]
    assert found(index_of(said, neighbour_share=0.0), "how is my brother doing") == [0]
    said = ["a journal", *["idle"] * 3, "Which journal was it?", "Marine Ecology.", *["idle"] * 3, "of the journal"]
    assert found(index_of(said), "Which journal took the study?")[:2] == [5, 4]


def test_a_phrase_must_occur_exactly():
    """Words in quotes count only in this order, in each text that has all phrases, whatever their case and spaces."""
    index = index_of(["Big\n red", "big bad red", "BIG RED", "ßßßbig red"])
    assert sorted(found(index, '"big RED"')) == [0, 2, 3]
    index = index_of(["the red big cat", "a big red cat", "Big\nRed cats, big red dogs and dogs", "big"])
    asked = {'"big red" dogs': [2, 1], '"big red" "dogs and"': [2], '"g re"': [2, 1], '"no such"': []}
    assert {query: found(index, query) for query in asked} == asked


def test_words_that_are_not_indexed_are_looked_for_as_written():
    """A part of a word, or signs alone, are found where no word fits."""
    index = index_of(["confirmation: XJ-29Q8", "a => b"])
    asked = {"J-29Q": [0], "=>": [1], "zzz": [], "29Q8 or zz zz zz": [0], " ": []}
    assert {query: found(index, query) for query in asked} == asked


def test_filters_and_limits_are_kept():
    """Only texts that the caller keeps are found, for words and phrases, and no more than asked for."""
    index = index_of([f"needle {number}" for number in range(20)])
    assert sorted(found(index, "needle", keep=lambda text: text % 5 == 0)) == [0, 5, 10, 15]
    assert (found(index, '"needle 7"', keep=lambda text: text != 7), len(found(index, "needle", limit=3))) == ([], 3)


def test_ends_where_sentences_and_lines_do():
    """As many sentences, lines or objects of JSON as fit make a passage, and of a longer one, what is left goes on."""
    parts = {
        ("One is. Two is? Three is!\nFour", 16): ["One is. Two is? ", "Three is!\nFour"],
        ("One two, three four. Five.", 16): ["One two, three ", "four. Five."],
        ('[{"a":1,"b":2},{"a":3,"b":4}]', 16): ['[{"a":1,"b":2},', '{"a":3,"b":4}]'],
        ('{"alpha":1,"beta":2,"gamma":3}', 16): ['{"alpha":1,', '"beta":2,', '"gamma":3}'],
    }
    assert {cut: [cut[0][start:end] for start, end in passages(*cut)] for cut in parts} == parts


def shown(index, query, **settings):
    parts, next_hit = excerpts(index, [*index.search(query)], cost=len, **settings)
    return [index.texts[part.text][part.start : part.end] for part in parts], next_hit


def test_a_hit_has_its_neighbours():
    """An excerpt has what is around a hit, also of the next text if it may be seen, and more of it if all hits fit."""
    index = index_of(["A one. B two. C three. D four. E five.", "F six."], passage_size=12)
    assert shown(index, "three", max_tokens=24) == (["B two. C three. D four. "], None)
    assert shown(index, "five", max_tokens=21) == (["D four. E five.", "F six."], None)
    assert shown(index, "four", max_tokens=40) == (["B two. C three. D four. E five.", "F six."], None)
    assert shown(index, "five", max_tokens=21, keep=lambda text: text != 1) == (["D four. E five."], None)
    texts = ["asked", "D four. E five. F six.", "H ten."]
    assert shown(index_of(texts, passage_size=8), "asked", max_tokens=99) == (texts[:2], None)


@given(st.lists(st.sampled_from(["red one. ", "big two. ", "x. "]), min_size=1, max_size=30), st.integers(1, 200))
def test_parts_never_overlap_and_cost_no_more_than_the_budget(pieces, budget):
    """No passage is shown twice, and beyond the first one all costs fit."""
    index = index_of(["".join(pieces), "".join(reversed(pieces))], passage_size=12)
    parts, _ = excerpts(index, [*index.search("red big")], max_tokens=budget, cost=len, overhead=3)
    characters = [(part.text, place) for part in parts for place in range(part.start, part.end)]
    assert len(characters) == len(set(characters))
    assert not parts or len(parts) == 1 or len(characters) + 3 * len(parts) <= budget

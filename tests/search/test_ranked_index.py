"""The ranked index: BM25 over passages, grown by appending."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.search.ranked_index import RankedIndex, excerpts, passages
from adk_context_pack.search.terms import content_terms, terms

WORDS = st.sampled_from(["alpha", "beta", "gamma", "delta", "ORD-4711", "4711", "東京", "red", "reds"])
TEXTS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=8)


def index_of(texts, **settings):
    index = RankedIndex(**settings)
    for text in texts:
        index.add(text)
    return index


def found(index, query, **settings):
    return [hit.text for hit in index.search(query, **settings)]


@given(TEXTS, TEXTS, st.lists(WORDS, min_size=1, max_size=4).map(" ".join))
def test_an_index_that_grew_equals_one_made_at_once(first, then, query):
    """Searching in between, and adding later, changes neither hits nor scores."""
    grown = index_of(first, passage_size=20)
    grown.search(query)
    for text in then:
        grown.add(text)
    at_once = index_of(first + then, passage_size=20)
    assert grown.search(query) == at_once.search(query)
    assert (len(grown), grown.bytes, grown.texts) == (len(at_once), at_once.bytes, at_once.texts)


@given(TEXTS, st.lists(WORDS, min_size=1, max_size=4).map(" ".join))
def test_scores_are_those_of_the_formula(texts, query):
    """Each text of one passage has the sum of the formula's terms, and half of what its neighbours have."""
    index = index_of(texts)
    documents = [terms(text) for text in texts]
    mean = sum(map(len, documents)) / max(1, len(documents))

    def score(document):
        total = 0.0
        for term in content_terms(query):
            holding = sum(term in other for other in documents)
            count = document.count(term)
            idf = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            if count:
                total += idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(document) / mean))
        return total

    plain = [0.0, *map(score, documents), 0.0]
    wanted = {n: plain[n + 1] + 0.5 * (plain[n] + plain[n + 2]) for n in range(len(documents)) if plain[n + 1]}
    assert {hit.text: hit.score for hit in index.search(query)} == pytest.approx(wanted)


def test_a_phrase_must_occur_exactly():
    """Words in quotes count only in this order, in each text that has all phrases; the best is still first."""
    index = index_of(["the red big cat", "a big red cat", "Big\nRed cats, big red dogs and dogs", "big"])
    assert sorted(found(index, '"big red" dogs')) == [1, 2]
    assert found(index, '"big red" dogs')[0] == 2
    assert found(index, '"big red" "dogs and"') == [2]
    assert found(index, '"g re"') == [2, 1]
    assert found(index, '"no such"') == []


def test_words_that_are_not_indexed_are_looked_for_as_written():
    """A part of a word, or signs alone, are found where no word fits."""
    index = index_of(["confirmation: XJ-29Q8", "a => b"])
    assert found(index, "J-29Q") == [0]
    assert found(index, "=>") == [1]
    assert found(index, "zzz") == []
    assert found(index, "29Q8 or zz zz zz") == [0]
    assert found(index, " ") == []


def test_filters_and_limits_are_kept():
    """Only texts that the caller keeps are found, for words and phrases, and no more than asked for."""
    index = index_of([f"needle {number}" for number in range(20)])
    assert sorted(found(index, "needle", keep=lambda text: text % 5 == 0)) == [0, 5, 10, 15]
    assert found(index, '"needle 7"', keep=lambda text: text != 7) == []
    assert len(found(index, "needle", limit=3)) == 3


def cut(text, size):
    return [text[start:end] for start, end in passages(text, size)]


def test_ends_where_sentences_and_lines_do():
    """As many sentences as fit make a passage."""
    assert cut("One is. Two is? Three is!\nFour", 16) == ["One is. Two is? ", "Three is!\nFour"]


def test_long_json_ends_after_objects_or_commas():
    """JSON is cut after an object, and within a long one after a comma."""
    assert cut('[{"a":1,"b":2},{"a":3,"b":4}]', 16) == ['[{"a":1,"b":2},', '{"a":3,"b":4}]']
    assert cut('{"alpha":1,"beta":2,"gamma":3}', 16) == ['{"alpha":1,', '"beta":2,', '"gamma":3}']


def excerpt_index(*texts):
    index = RankedIndex(passage_size=12)
    for text in texts:
        index.add(text)
    return index


def shown(index, query, **settings):
    parts, next_hit = excerpts(index, index.search(query), cost=len, **settings)
    return [index.texts[part.text][part.start : part.end] for part in parts], next_hit


def test_a_hit_has_its_neighbours():
    """The sentence before and the one after are part of the excerpt; next to a text's end it is its neighbour's."""
    index = excerpt_index("A one. B two. C three. D four. E five.", "F six.")
    assert shown(index, "three", max_tokens=24) == (["B two. C three. D four. "], None)
    assert shown(index, "five", max_tokens=21) == (["D four. E five.", "F six."], None)


def test_what_is_left_of_the_budget_goes_to_what_stands_around():
    """Where all hits fit, passages further away are shown too, the nearer ones first."""
    index = excerpt_index("A one. B two. C three. D four. E five.", "F six.")
    assert shown(index, "four", max_tokens=40) == (["B two. C three. D four. E five.", "F six."], None)


def test_neighbours_that_may_not_be_seen_stay_out():
    """A neighbouring text that the caller does not keep is not shown."""
    index = excerpt_index("A one.", "B two.", "C three.")
    assert shown(index, "two", max_tokens=100, keep=lambda text: text != 2)[0] == ["A one.", "B two."]


@given(st.lists(st.sampled_from(["red one. ", "big two. ", "x. "]), min_size=1, max_size=30), st.integers(1, 200))
def test_parts_never_overlap_and_cost_no_more_than_the_budget(pieces, budget):
    """No passage is shown twice, and beyond the first one all costs fit."""
    index = excerpt_index("".join(pieces), "".join(reversed(pieces)))
    hits = index.search("red big")
    parts, _ = excerpts(index, hits, max_tokens=budget, cost=len, overhead=3)
    characters = [(part.text, place) for part in parts for place in range(part.start, part.end)]
    assert len(characters) == len(set(characters))
    assert not parts or len(parts) == 1 or len(characters) + 3 * len(parts) <= budget

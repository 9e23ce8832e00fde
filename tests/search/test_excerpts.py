"""Excerpts: what is shown of the hits, with neighbours, within a budget."""

from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.search.excerpts import excerpts
from adk_context_pack.search.ranked_index import RankedIndex


def index_of(*texts):
    index = RankedIndex(passage_size=12)
    for text in texts:
        index.add(text)
    return index


def shown(index, query, **settings):
    parts, next_hit = excerpts(index, index.search(query), cost=len, **settings)
    return [index.texts[part.text][part.start : part.end] for part in parts], next_hit


def test_a_hit_has_its_neighbours():
    """The sentence before and the one after are part of the excerpt; next to a text's end it is its neighbour's."""
    index = index_of("A one. B two. C three. D four. E five.", "F six.")
    assert shown(index, "three", max_tokens=24) == (["B two. C three. D four. "], None)
    assert shown(index, "five", max_tokens=21) == (["D four. E five.", "F six."], None)


def test_what_is_left_of_the_budget_goes_to_what_stands_around():
    """Where all hits fit, passages further away are shown too, the nearer ones first."""
    index = index_of("A one. B two. C three. D four. E five.", "F six.")
    assert shown(index, "four", max_tokens=40) == (["B two. C three. D four. E five.", "F six."], None)


def test_neighbours_that_may_not_be_seen_stay_out():
    """A neighbouring text that the caller does not keep is not shown."""
    index = index_of("A one.", "B two.", "C three.")
    assert shown(index, "two", max_tokens=100, keep=lambda text: text != 2)[0] == ["A one.", "B two."]


@given(st.lists(st.sampled_from(["red one. ", "big two. ", "x. "]), min_size=1, max_size=30), st.integers(1, 200))
def test_parts_never_overlap_and_cost_no_more_than_the_budget(pieces, budget):
    """No passage is shown twice, and beyond the first one all costs fit."""
    index = index_of("".join(pieces), "".join(reversed(pieces)))
    hits = index.search("red big")
    parts, _ = excerpts(index, hits, max_tokens=budget, cost=len, overhead=3)
    characters = [(part.text, place) for part in parts for place in range(part.start, part.end)]
    assert len(characters) == len(set(characters))
    assert not parts or len(parts) == 1 or len(characters) + 3 * len(parts) <= budget

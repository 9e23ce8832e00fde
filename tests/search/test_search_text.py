"""Search within one long text."""

from adk_context_pack.search.search_text import index_of, search_text

TEXT = "".join("Nothing of note is said here. " * 20 + f"The code of day {n} is XJ-{n}. " for n in range(30))


def test_a_question_finds_its_part():
    """The part that answers stands first, and its places are those of the text."""
    found = search_text(index_of(TEXT), "What is the code of day 17?", max_tokens=400, cost=len)
    start, end = found.parts[0]
    assert "XJ-17." in TEXT[start:end]


def test_going_on_leads_to_every_hit():
    """All pages together show each place that fits."""
    index, first, seen = index_of(TEXT), 0, ""
    while first is not None:
        found = search_text(index, '"is XJ"', max_tokens=1500, cost=len, first_hit=first)
        seen += "".join(TEXT[start:end] for start, end in found.parts)
        first = found.next_hit
    assert all(f"XJ-{n}." in seen for n in range(30))


def test_nothing_is_nothing():
    """What the text does not say gives no part."""
    assert search_text(index_of(TEXT), "zebra crossing", max_tokens=100, cost=len) == ([], None)

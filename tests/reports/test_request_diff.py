"""The comparison of two requests: rows line up, and what differs is marked."""

from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.reports.html_page import compare, marked
from adk_context_pack.reports.request_view import ViewPart

views = st.lists(st.builds(ViewPart, st.sampled_from(["user", "model"]), st.text("abc ", max_size=8)), max_size=8)


@given(views, views)
def test_rows_hold_both_requests_whole(before, after):
    """Read down, each side of the rows is the request itself, in order."""
    rows = list(compare(tuple(before), tuple(after)))
    assert [row.before for row in rows if row.before is not None] == before
    assert [row.after for row in rows if row.after is not None] == after


@given(st.text(max_size=60), st.text(max_size=60))
def test_marked_pieces_hold_both_texts_whole(before, after):
    """The pieces of each side make up its text, and equal texts have no mark."""
    left, right = marked(before, after)
    assert "".join(text for text, _ in left) == before
    assert "".join(text for text, _ in right) == after
    if before == after:
        assert not any(different for _, different in left + right)


def test_marks_only_what_differs():
    """One changed word is marked, not the sentence; a text that was replaced is marked as a whole."""
    left, right = marked("the quick brown fox jumps", "the quick red fox jumps")
    assert ("brown", True) in left
    assert ("red", True) in right
    assert marked("one two three", "something else entirely")[0] == [("one two three", True)]


def test_long_texts_are_compared_by_lines_or_not_at_all():
    """Comparing stays fast on texts of any size."""
    words = "\n".join("word word word word word" for _ in range(900))
    left, right = marked(words, words + "\nmore")
    assert [different for _, different in right][-1]
    assert not left[0][1]
    huge = "a\n" * 10_000
    assert marked(huge, huge + "x") == ([(huge, True)], [(huge + "x", True)])

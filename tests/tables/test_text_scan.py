"""Searches in steps find what one call over the whole text finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.tables import text_scan
from adk_context_pack.tables.text_scan import find, lines_with

TEXTS = st.text("ab|-\n", max_size=60)
SIGNS = st.text("ab|-", min_size=1, max_size=4)


@pytest.fixture(params=[1, 2, 5, 1_000], scope="module", autouse=True)
def _small_steps(request):
    former, text_scan._AT_ONCE = text_scan._AT_ONCE, request.param
    yield
    text_scan._AT_ONCE = former


@given(TEXTS, SIGNS, st.integers(0, 70))
def test_a_sign_is_found_where_str_finds_it(text, sign, start):
    """The first place is that of `str.find`, also where a sign lies across two steps or the text ends before."""
    assert find(text, sign, start) == text.find(sign, start)


@given(TEXTS, st.lists(SIGNS, max_size=3, unique=True))
def test_lines_are_those_that_hold_a_sign(text, signs):
    """Every line that holds a sign is given once, in order, from its first character to before its line end."""
    lines, place = [], 0
    for line in text.split("\n"):
        if any(sign in line for sign in signs):
            lines.append((place, place + len(line)))
        place += len(line) + 1
    assert list(lines_with(text, signs)) == lines


class Counted(str):
    """A text that writes down how many characters each search may go over."""

    __slots__ = ("searched",)

    def find(self, sign, start=0, end=None):
        """Notes the length and searches."""
        self.searched.append((len(self) if end is None else end) - start)
        return super().find(sign, start, end)


def test_no_step_is_longer_than_a_step():
    """One call of `str.find`, which keeps the interpreter's lock, never goes over more than a step and a sign."""
    text = Counted("x" * 4_321)
    text.searched = []
    assert find(text, "yy") == -1
    assert max(text.searched) <= text_scan._AT_ONCE + 1
    assert sum(text.searched) <= len(text) + len(text.searched)


def test_looking_for_several_signs_takes_one_look_for_each():
    """A rare sign is not looked for again after each line of a frequent one."""
    text = Counted("a|\n" * 300 + "b\n")
    text.searched = []
    assert len(list(lines_with(text, ["|", "b", "z"]))) == 301
    line_ends = 2 * 301
    assert len(text.searched) <= 3 * (len(text) // text_scan._AT_ONCE + 1) + 301 + line_ends

"""The line before a preview: what writes it and what reads it agree."""

import itertools

import pytest

from adk_context_pack.tables.stub_form import preview_mark, stored_text

HANDLE = "2abcdefghjk"


@pytest.mark.parametrize(
    ("kind", "opener", "refer_in"),
    list(itertools.product(("text", "JSON"), ("", "read_back"), ("", "arguments", "arguments and your answer"))),
)
def test_a_mark_reads_back(kind, opener, refer_in):
    """Kind, length and handle of a whole are read from each form of the line that stands before its preview."""
    mark = preview_mark(kind, 12345, HANDLE, opener=opener, refer_in=refer_in)
    stored = stored_text(f"{mark}\nThe first line] of it")
    assert (stored.kind, stored.characters, stored.handle) == (kind, 12345, HANDLE)
    assert str(stored) == f"{kind} of 12345 characters (_handle {HANDLE})"
    assert (f"{opener}(" in mark, bool(refer_in) and refer_in in mark) == (bool(opener), bool(refer_in))


@pytest.mark.parametrize("value", [
    None, 7, "", "[", "[text of 3 characters", f" {preview_mark('text', 3, HANDLE, opener='read_back', refer_in='')}",
])  # fmt: skip
def test_other_values_stand_for_nothing(value):
    """A value that does not begin with the whole line is what it is."""
    assert stored_text(value) is None

"""The line before a preview: what writes it and what reads it agree."""

import itertools

import pytest

from adk_context_pack.tables.stub_form import is_page, preview_mark, stored_text

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


@pytest.mark.parametrize(
    "value",
    [None, 7, "", "[", "[text of 3 characters", f" {preview_mark('text', 3, HANDLE, opener='read_back', refer_in='')}"],
)
def test_other_values_stand_for_nothing(value):
    """A value that does not begin with the whole line is what it is."""
    assert stored_text(value) is None


@pytest.mark.parametrize("paged", [True, False])
def test_what_names_a_next_page(paged):
    """Tokens, links and flags say that rows are a page, and what is empty or only sounds like one does not."""
    signs = [
        {"nextPageToken": "t"}, {"has_more": True}, {"@odata.nextLink": "u"}, {"LastEvaluatedKey": {"id": 1}},
        {"response_metadata": {"next_cursor": "c"}}, {"next": "u?page=2"}, {"metadata": {"continue": "t"}},
        {"IsTruncated": True}, {"incomplete_results": True}, {"pageInfo": {"hasNextPage": True}}, {"next_page": 2},
        {"nextRecordsUrl": "u"},
    ]  # fmt: skip
    others = [
        {"next": None}, {"pageInfo": {"hasNextPage": False, "endCursor": "c"}}, {"metadata": {"continue": ""}},
        {"next_action": "call"}, {"nextSyncToken": "t"}, {"more_info": "u"}, {"_row_facts": {"next": {"sums": 1}}},
    ]  # fmt: skip
    assert {is_page(each) for each in (signs if paged else others)} == {paged}

"""Tables in texts are read and written in the same form."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.tables.tables_in_text import read_text, to_csv, write_part
from tests.support.shared_data import shared_file

CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=2, max_size=8))
def test_csv_comes_back(rows):
    """Cells with quotes, delimiters and line breaks come back from the text that `to_csv` writes."""
    records = [{"a": one, "b": f"x{other}"} for one, other in rows]
    read = read_text(to_csv(records, ["a", "b"]))
    assert read.value == records
    assert write_part(read, records) == to_csv(records, ["a", "b"])


def test_a_real_report():
    """A real report with quoted lists in its cells is read as the csv module reads it."""
    text = shared_file("google_ads/account_stats.csv").read_text()
    assert read_text(text).value == list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(
    "text",
    ['{"a":1}\n{"a":}', '{"a":1}\n[1]\n{"a":2}', "a,b\n" + "1,2\n" * 9 + "3\n4\n"],
    ids=["a broken line", "a line that is no row", "two short lines of eleven"],
)
def test_what_is_not_quite_a_table_is_a_text(text):
    """JSON lines and CSV with one line that does not fit are left as texts, and nothing raises."""
    assert read_text(text) is None


@pytest.mark.parametrize("text", ["a,b\n1,2\n3,4\n", '{"a":1}\n{"a":2}'])
def test_another_form_goes_out_as_it_is(text):
    """What was put in the place of a text's rows and is no list is not written as CSV or lines."""
    note = {"left_out": 2}
    assert write_part(read_text(text), note) is note

"""find_html: cells that span columns or hold line breaks, and header cells in the body."""

from datetime import date

import pytest

from adk_context_pack.tables.headers import is_typed
from adk_context_pack.tables.tables_in_text import find_html


def table(*lines):
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def test_a_line_break_in_a_cell_is_a_blank():
    """Words on both sides of a `<br>` stay apart, and a `<br>` outside of a cell is nothing."""
    found = find_html(table("<th>a</th><th>b</th>", "<td>one<br>two</td><br><td>3</td>"))
    assert found.value == [{"a": "one two", "b": "3"}]


@pytest.mark.parametrize(("cell", "typed"), [
    (None, True), (3, True), (2.5, True), (date(2026, 1, 2), True), ([], False), ("12", True), ("twelve", False),
])  # fmt: skip
def test_numbers_dates_and_missing_values_are_typed(cell, typed):
    """A cell counts as typed where it is, or is written as, a number, a date or a missing value."""
    assert is_typed(cell) is typed


@pytest.mark.parametrize(("html", "rows"), [
    (table("<th>a</th><th>b</th>", "<td>x</td><td>y</td>"), [{"a": "x", "b": "y"}]),
    (table("<th>a</th><td>b</td>", "<td>x</td><td>y</td>"), None),
    (table("<td>a</td><td>b</td>", "<td>x</td><td>y</td>"), None),
    (table("<td>a</td><td>b</td>", "<td>x</td><td>1</td>"), [{"a": "x", "b": "1"}]),
    (table('<th colspan="2">a</th>', "<td>x</td><td>y</td>"), None),
    (table("<th>Title</th>", "<th>a</th><th>b</th>", "<td>x</td>"), [{"a": "x", "b": ""}]),
    (table("<th>Title</th>", "<td>a</td><td>b</td>", "<td>x</td><td>y</td>"), None),
    (table("<th></th><th>b</th>", "<td>x</td><td>y</td>"), [{"column_1": "x", "b": "y"}]),
    (table("<th>a</th><th></th>", "<td>x</td><td>y</td>"), None), (table("<th>a</th><th>b</th>"), None),
    (table("<th>a</th>", "<td>1</td>"), None),
    ("<table><th>a</th><th>b</th><tr><td>x</td><td>y</td></tr></table>", [{"a": "x", "b": "y"}]),
    ("<TABLE><TR><TH>a<TH>b<TR><TD>x<TD>y</TABLE>", [{"a": "x", "b": "y"}]),
    (table("", "<th>a</th><th>b</th>", "", "<td>x</td><td>y</td>"), [{"a": "x", "b": "y"}]), ("<p>none</p>", None),
])  # fmt: skip
@pytest.mark.parametrize("above", ["", "<table><tr><td>page<p>"])
def test_which_line_has_the_names(html, rows, above):
    """The names are in header cells, or in a first line above numbers, behind titles. Without names it is no table."""
    found = find_html(f"{above}{html} <p>more")
    assert (found and found.value) == rows
    if found:
        assert (found.start, found.end) == (len(above), len(above) + len(html))

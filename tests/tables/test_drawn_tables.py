"""Tables drawn with bars and rules, or with columns below one another: where they start and end, and what is none."""

import pytest

from adk_context_pack.tables.drawn_tables import TextPart, find_aligned, find_ruled

ONE_TWO = [{"a": "1", "b": "x"}, {"a": "2", "b": "y"}]


def lines(*each):
    return "".join(f"{line}\n" for line in each)


MARKDOWN = lines("| a | b |", "|---|---|", "| 1 | x |", "| 2 | y |")
PSQL = lines(" a | b ", "---+---", " 1 | x", " 2 | y")
FRAME = lines("+---+---+", "| a | b |", "+---+---+", "| 1 | x |", "| 2 | y |", "+---+---+")
POLARS = lines(
    "┌───┬───┐", "│ a ┆ b │", "│ --- ┆ --- │", "│ i64 ┆ str │", "╞═══╪═══╡", "│ 1 ┆ x │", "│ 2 ┆ y │", "└───┴───┘"
)


@pytest.mark.parametrize("text", [
    MARKDOWN, MARKDOWN.replace("|---|---|", "|:--|--:|"), lines("a | b", "--- | ---", "1 | x", "2 | y"),
    PSQL, FRAME, POLARS, lines("| a | b |", "+---+---+", "| 1 | x |", "+---+---+", "| 2 | y |"),
])  # fmt: skip
@pytest.mark.parametrize("above", ["", "Here it is:\n\n", "words | of no table\n\n"])
@pytest.mark.parametrize("below", ["", "\n(2 rows)\n", "the end\n"])
def test_ruled_tables(text, above, below):
    """A table starts with its first line and ends behind its last one, whatever is around it."""
    found = find_ruled(above + text + below)
    assert found == TextPart(len(above), len(above) + len(text), ONE_TWO)


@pytest.mark.parametrize(("text", "rows"), [
    (lines("| a | b |", "|---|---|", "| 1 |", "| 2 | y |"), [{"a": "1", "b": ""}, {"a": "2", "b": "y"}]),
    (lines("| a | b |", "|---|---|", r"| x\|y | z |"), [{"a": "x|y", "b": "z"}]),
    (lines("| a | b |", "|---|---|", r"| x | y\|"), [{"a": "x", "b": "y|"}]),
    (lines("|  | b |", "|---|---|", "| 0 | x |"), [{"column_1": "0", "b": "x"}]),
    (lines("| a | a |", "|---|---|", "| 1 | 2 |"), [{"a": "1", "a_2": "2"}]),
    (lines("| a |", "|---|", "| 1 |", "| 2 |"), [{"a": "1"}, {"a": "2"}]),
    (lines("| a | b |", "|---|---|", "| ... | x |"), [{"a": "...", "b": "x"}]),
    ("| a | b |\n|---|---|\n| 1 | x |", [{"a": "1", "b": "x"}]),
])  # fmt: skip
def test_cells(text, rows):
    """Missing cells are empty, escaped bars are cells' own, and names are unique."""
    found = find_ruled(text)
    assert (found.value, found.start, found.end) == (rows, 0, len(text))


@pytest.mark.parametrize("text", [
    "", "--\n", lines("|---|---|", "| 1 | x |"), lines("| a | b |", "|---|---|"),
    lines("| a | b |", "|---|---|---|", "| 1 | x |"), lines("| a | b |", "|---|---|", "| 1 | x | more |"),
    lines("| a | b |", "|---|---|", "| 1 | x |", "| ... | ... |"), lines("| a | ... |", "|---|---|", "| 1 | x |"),
    lines("| a |  |", "|---|---|", "| 1 | x |"), lines("|  |  |", "|---|---|", "| 1 | x |"),
    lines("| a |", "|---|", "| 1 |"),
    lines("a b", "--- ---", "1 2"),
])  # fmt: skip
def test_what_is_not_a_ruled_table(text):
    """Without names, rows or a rule that fits them, or where rows are left out, nothing is a table."""
    assert find_ruled(text) is None


@pytest.mark.parametrize(("width", "is_table"), [(1_000, True), (1_001, False)])
def test_the_longest_line(width, is_table):
    """Lines of up to 1,000 characters are those of a table."""
    found = find_aligned(lines("NAME  AGE", "ann   3", f"bo    {'4' * (width - 6)}"))
    assert (found is not None) is is_table


@pytest.mark.parametrize("text", [
    "", lines("NAME  AGE"), lines("NAME  AGE", "ann   3"),
    "words\n" * 12 + lines("NAME  AGE", "ann   3", "bo    4"), lines("name  town", "ann   Oslo", "bo    Rome"),
    lines("NAME\tAGE", "ann   3", "bo    4"), lines("NAME  AGE", "ann   3", "...   ..."),
    lines("...   AGE", "ann   3", "bo    4"), lines("NAME  AGE", *["ann   3"] * 30, "barbara 4"),
    lines("NAME AGE", "ann  3", "bob  4"),
])  # fmt: skip
def test_what_is_not_aligned(text):
    """Too few lines, tabs, names of no column, rows left out, and cells across an edge make no table."""
    assert find_aligned(text) is None


def test_the_last_line_may_have_no_end():
    """A table ends with its text."""
    text = "NAME  AGE\nann   3\nbo    4"
    assert find_aligned(text).end == len(text)

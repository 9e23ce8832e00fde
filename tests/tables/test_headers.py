"""A line of names differs from the cells below it, up to the limits that are stated."""

from datetime import date

import pytest

from adk_context_pack.tables.headers import heads, is_header, is_name, is_typed, typed_places


@pytest.mark.parametrize("cell", [
    *(5, 1.5, True, None, date(2024, 1, 1), "5", "-5", "+5", "(5)", "$5", "USD 5", "5%", "5 €", "1,000.50", "1e9"),
    *("5 ms", "3.5GB", "7KiB", "2024-01-01", "2024/1", "1/2/2024", "10:00", "2024-01-01T10:00"),
    *("true", "False", "YES", "no", "null", "None", "NaN", "N/A", "na", " 5 ", "3k", "1" * 80),
])  # fmt: skip
def test_cells_with_a_type(cell):
    """Numbers, amounts, durations, sizes, dates, times, truth values and words for missing have a type."""
    assert is_typed(cell)


@pytest.mark.parametrize("text", [
    *("", "n" * 81, "one two three four five six seven eight nine", "cost (EUR", "#1", "12", "2024-01-01", "true"),
    *("a = b", "{a}", "[a]", "a;", "a: b", "http://a", "x->y", "ada@example.org", "- item", "* item", "Total:"),
    *("Done.", "wow!", "a,", "// a", "<b>", "select x", "the cost", "10:00 start"),
])  # fmt: skip
def test_texts_that_are_no_names(text):
    """Code, sentences, list items, times, cells with a type and texts above the limits are no names."""
    assert not is_name(text)


@pytest.mark.parametrize(("names", "is_one"), [
    (["a", "b"], True), (["", "b"], True), (["a", "2024"], True), (["a", "2024-Q1", "2024-01"], True),
    (["a", "1/2/2024"], True), (["a"], False), (["", ""], False), (["a", "", "c"], False), (["a", ""], False),
    (["2024", "2025"], False), (["2024", "b"], False), (["", "2024"], False), (["a", "5"], False), ([], False),
])  # fmt: skip
def test_headers(names, is_one):
    """A header has two names or more, of which the first may be empty and further ones may be periods."""
    assert is_header(names) == is_one


@pytest.mark.parametrize(("cells", "is_column"), [
    ([1] * 7 + ["x"] * 3, True), ([1] * 6 + ["x"] * 4, False), ([1, "", None, ""], True), (["", None], False),
    ([], False), (["x", "y"], False),
])  # fmt: skip
def test_typed_places(cells, is_column):
    """From seven cells of ten on a column has a type; empty cells do not count, and there has to be one that is not."""
    rows = [["word", cell] for cell in cells]
    assert typed_places(["a", "b"], rows) == [1] * is_column
    assert typed_places(["a", "b"], [*rows, ["only one"]]) == [1] * is_column
    assert not typed_places(["a"], rows)


CELLS = [["Oslo", "5", "open"], ["Rome", "7.5", "closed"]] * 5


@pytest.mark.parametrize(("names", "spaced", "is_head"), [
    (["town", "amount", "state"], True, True), (["Nr.", "#", "How satisfied are you, on the whole?"], True, True),
    (["", "x->y", ""], True, True), (["1.", "100%", "true"], False, True), (["1.", "100%", "true"], True, False),
    (["Oslo", "1", "2"], False, False), (["a", "1", "open"], False, False), (["", "", ""], False, False),
    (["q" * 301, "amount!", "state"], False, False), (["0", "1", "2"], True, True), ([" a", "b!", "c"], True, True),
    (["1", "2", "3"], False, True), (["2023", "2024", "2025"], False, True), (["1", "3", "2"], False, False),
])  # fmt: skip
def test_rows_decide_what_heads_them(names, spaced, is_head):
    """A name of any kind heads cells of a type that it is not of, or answers that repeat and that it is not one of."""
    assert heads(names, CELLS, spaced=spaced) is is_head


def test_words_without_numbers_below_have_to_be_few_or_to_repeat():
    """Above words that do not repeat, names are of at most four words each, and no diff's lines are a table."""
    words = [[f"a{n}", f"b{n}"] for n in range(9)]
    assert heads(["one two three four", "b"], words)
    assert not heads(["a", "one two three four five!"], words)
    assert not heads(["a", "b"], words, spaced=True)
    assert not heads([" a", "b"], [["-x", "1"], ["+y", "2"]])
    assert not heads(["a!", "b"], [])

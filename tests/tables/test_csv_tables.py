"""Tables of separated cells in texts: where they start and end, what separates cells, and what is none."""

import pytest

from adk_context_pack.tables.csv_tables import find_csv, to_csv
from adk_context_pack.tables.find_tables import find_tables


@pytest.mark.parametrize(("text", "is_found"), [
    ("words, and more\n" * 16 + "name,age\nann,3\nbo,4\n", False), ("name,age\nann,3\n", False),
    ("name,age\nann,3\nbo,4\n", True),
    ("name,town\nann,Oslo\nbo,Rome\n", True), ("name, town\nann, Oslo\nbo, Rome\n", False),
    ("one,two\nname,town\nann,Oslo\nbo,Rome\n", True), ("name\nann\nbo\n", False), ("name,age", False), ("", False),
    ("name,age\nann,3\nbo,4\n5,6,7\n", False), ("name,age\nann,3\nbo,4\nand, so on, it goes\n", True),
    ("name,age\nann,3\nbo,4\nand, so on\n", True), ("name,age\nann,3\nbo,4\nx\ncy,5\n", False),
    ("name,age\nann,3\nbo,4\nx\n\ncy,5\n", True), ("name,age\nann,3\nbo,4\n-----\n", False),
    ('name,age\nann,"3\nbo,4\n', False),
])  # fmt: skip
def test_what_is_a_table(text, is_found):
    """A header, enough rows of its width, and behind them nothing but a remark make a table."""
    assert (find_csv(text) is not None) is is_found


@pytest.mark.parametrize("ends", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("many", [1, 600])
def test_line_ends_in_cells(ends, many):
    """A quoted cell may hold line ends of any kind, and empty lines lie between rows: the table ends where it ends."""
    body = f'ann,"3{ends}4"\n\nbo,5\n' * many
    text = f"name,age\n{body}"
    found = find_csv(f"{text}\nThe end\n")
    assert (found.start, found.end) == (0, len(text))
    assert found.value == [{"name": "ann", "age": f"3{ends}4"}, {"name": "bo", "age": "5"}] * many


@pytest.mark.parametrize("rows", [499, 500, 501, 1000, 1001])
def test_as_many_rows_as_there_are(rows):
    """Rows are read in chunks, and none is lost where one ends."""
    text = "a,b\n" + "".join(f"{n},x\n" for n in range(rows))
    for below in ("", "\nThe end\n"):
        found = find_csv(text + below)
        assert [row["a"] for row in found.value] == [str(n) for n in range(rows)]
        assert text[: found.end].strip() == text.strip()


def test_written():
    """Cells are quoted where they must be, and a missing one is empty."""
    rows = [{"a": None, "b": 'x"y'}, {"b": "1,2"}, {"a": "l\rm", "b": 0.5}]
    assert to_csv(rows, ["a", "b"]) == 'a,b\n,"x""y"\n,"1,2"\n"l\rm",0.5\n'
    assert to_csv(rows[:1], ["b"], delimiter=";") == 'b\n"x""y"\n'


@pytest.mark.parametrize(("uneven", "cut", "unread"), [(",x", 0, 1), ("", 0, 0), ("", 3, 1)])
def test_lines_that_cannot_be_read_are_counted(uneven, cut, unread):
    """A line with too many cells between thirty others, or a last one cut by a tool, is left out and counted."""
    lines = ["a,b,c", *[f"{n},x,y" for n in range(30)]]
    lines[7] += uneven
    (table,) = find_tables({"text": "\n".join(lines)[: -cut or None]})
    assert (table.unread, len(table.rows)) == (unread, 30 - unread)

"""Letters behind digits are powers of ten where the whole column says so, and are units or unread elsewhere."""

import pytest

from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.tables.columns import iter_columns
from adk_context_pack.tables.table_facts import table_facts


def facts(cells, name="x"):
    return table_facts([{name: cell} for cell in cells]).as_dict()["columns"][name]


@pytest.mark.parametrize(("cells", "total", "unit", "left_out"), [
    (["1.2m", "3m", "2m"], 6.2, "m", 0), (["3k", "4.5k"], 7.5, "k", 0), (["1.2m", "3m", "950"], 4.2, "m", 1),
    (["5 km", "7 km", "$3k"], 12, "km", 1), (["$5", "3 km", "4 km"], 7, "km", 1), (["$5", "$6", "3 km"], 11, "$", 1),
    (["$5", "6"], 11, "$", 0), (["5 km", "6", "7"], 13, None, 1), (["5", "6 km", "7 km", "8 km"], 21, "km", 1),
    (["1,5", "2,25", "3.5"], 3.75, None, 1), (["1,5", "2.25", "3.5"], 5.75, None, 1),
])  # fmt: skip
def test_most_rows_decide(cells, total, unit, left_out):
    """Where units or decimal marks differ, those of most rows are read and the other cells are counted as left out.

    A letter that may be a unit is one.
    """
    said = facts(cells)
    assert (said["sum"], said.get("unit"), said.get("not_numbers", 0)) == (total, unit, left_out)
    assert [facts(texts, "size")["sum"] for texts in (["5K", "7K", "3M"], ["512Mi", "1Gi"])] == [3084, 1536]


@pytest.mark.parametrize(("cells", "name", "note"), [
    (["1.250", "3.500"], "x", "a point marks the decimals: 1.250"),
    (["1.250", "3.500"], "Klicks", "a point marks the thousands: 1.250"),
    (["1.250", "3.500", "17"], "x", "a point marks the thousands: 1.250"),
    (["€ 1.250", "€ 17"], "x", "a point marks the thousands: € 1.250"),
    (["1.250", "3.500", "1700"], "x", "a point marks the decimals: 1.250"),
    (["1.250", "3.5"], "x", "decimals, not versions: 1.250 is 1.25"),
    (["1.10", "1.25", "2.5"], "x", "decimals, not versions: 1.10 is 1.1"),
    (["1.10", "1.25", "2.5"], "price", None), (["1,5", "2,25"], "x", "a comma marks the decimals"),
])  # fmt: skip
def test_what_could_be_read_in_another_way_has_a_note(cells, name, note):
    """A notation that a reader may take for another has a note, and decimals of an amount have none."""
    assert facts(cells, name).get("note") == note


@pytest.mark.parametrize(("cells", "kind"), [
    (["007", "12"], "text"), (["0", "12"], "number"), (["0.5", "12"], "number"), (["05", "$3"], "text"),
    (["(5)", "(6)"], "text"), (["(5)", "6"], "number"), (["1\n2", "3"], "text"), (["$1\n$2", "$3"], "text"),
    (["P" + "1" * 5000 + "D", "P1D"], "text"), (["1" * 40_000 + "!", "b"], "text"),
])  # fmt: skip
def test_names_that_look_like_numbers(cells, kind):
    """Codes with leading zeros, brackets alone, texts of two lines and what is too long to be meant are texts."""
    assert ("sum" in facts(cells)) is (kind == "number")


def test_magnitudes_in_sql():
    """Cells are ordered, compared and added up as the numbers, and their text is beside them."""
    rows = [{"x": text} for text in ("$4.5B", "$300M", "$950", "$1.25K")]
    database = RowDatabase({"2abcdefghjk": image_of({"rows": iter_columns(rows)})})

    def ask(sql):
        return [row[0] for row in database.query(sql, max_rows=9, max_seconds=5).rows]

    assert ask('SELECT "x#text" FROM rows ORDER BY x') == ["$950", "$1.25K", "$300M", "$4.5B"]
    assert ask("SELECT max(x) FROM rows") == [4_500_000_000]
    assert ask("SELECT count(*) FROM rows WHERE x > '$1M' AND x <> '$4.5B'") == [1]
    assert ask("SELECT sum(x) FROM rows") == [4800002200]

"""Letters behind digits are powers of ten where the whole column says so, and are units or unread elsewhere."""

import pytest

from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.tables.columns import iter_columns
from adk_context_pack.tables.table_facts import table_facts


def facts(cells, name="x"):
    return table_facts([{name: cell} for cell in cells]).as_dict()["columns"][name]


@pytest.mark.parametrize(
    ("cells", "total", "low", "high", "unit", "note"),
    [
        (["$4.5B", "$300M", "$1.25K"], 4800001250, 1250, 4500000000, "$", "written in thousands, millions, billions"),
        (["$4.5B", "$950"], 4500000950, 950, 4500000000, "$", "written in billions"),
        (["1.2m", "3k", "850"], 1203850, 850, 1200000, None, "written in thousands, millions"),
        (["1.2K", "999"], 2199, 999, 1200, None, "written in thousands"),
        (["1.2 million", "3.5 million"], 4700000, 1200000, 3500000, None, "written in millions"),
        (["€1.5bn", "(€200mn)"], 1300000000, -200000000, 1500000000, "€", "written in millions, billions"),
        (["1,5 Mio. €", "2,25 Mio. €"], 3750000, 1500000, 2250000, "€",
         "a comma marks the decimals, written in millions"),
        (["USD 2.5M", "USD 750k"], 3250000, 750000, 2500000, "USD", "written in thousands, millions"),
        (["0.1234567k", "1m"], 1000123.4567, 123.4567, 1000000, None, "written in thousands, millions"),
    ],
)  # fmt: skip
def test_magnitudes(cells, total, low, high, unit, note):  # noqa: PLR0913, PLR0917 - a figure each
    """Amounts with a currency, words, letters of two kinds and `k` beside bare numbers are read, and a note says so."""
    said = facts(cells)
    assert (said["sum"], said["min"], said["max"]) == (total, low, high)
    assert (said.get("unit"), said.get("note")) == (unit, note)
    assert said["missing"] == 0


@pytest.mark.parametrize(
    ("cells", "name", "total", "unit", "left_out"),
    [
        (["1.2m", "3m", "2m"], "x", 6.2, "m", 0),
        (["3k", "4.5k"], "x", 7.5, "k", 0),
        (["5K", "7K", "3M"], "size", 3084, "K", 0),
        (["1.2m", "3m", "950"], "x", 4.2, "m", 1),
        (["5 km", "7 km", "$3k"], "x", 12, "km", 1),
    ],
)
def test_letters_that_may_be_units(cells, name, total, unit, left_out):
    """A letter that may be a unit is one, and cells of another unit are counted as left out."""
    said = facts(cells, name)
    assert (said["sum"], said["unit"], said.get("not_numbers", 0)) == (total, unit, left_out)


@pytest.mark.parametrize(
    ("cells", "total", "left_out", "unit"),
    [
        (["$5", "3 km", "4 km"], 7, 1, "km"),
        (["$5", "$6", "3 km"], 11, 1, "$"),
        (["$5", "6"], 11, 0, "$"),
        (["5 km", "6", "7"], 13, 1, None),
        (["5", "6 km", "7 km", "8 km"], 21, 1, "km"),
        (["1,5", "2,25", "3.5"], 3.75, 1, None),
        (["1,5", "2.25", "3.5"], 5.75, 1, None),
    ],
)
def test_most_rows_decide(cells, total, left_out, unit):
    """Where units or decimal marks differ, those of most rows are read and the other cells are counted as left out."""
    said = facts(cells)
    assert (said["sum"], said.get("not_numbers", 0), said.get("unit")) == (total, left_out, unit)


def test_rows_count_not_texts():
    """A text that many rows have weighs as many rows."""
    said = facts(["3 km", "3 km", "3 km", "4", "5"])
    assert (said["sum"], said["unit"], said["not_numbers"]) == (9, "km", 2)
    assert facts(["1,5"] * 3 + ["2.25", "2.5"])["sum"] == 4.5


@pytest.mark.parametrize(
    ("cells", "name", "note"),
    [
        (["1.250", "3.500"], "x", "a point marks the decimals: 1.250"),
        (["1.250", "3.500", "17"], "x", "a point marks the decimals: 1.250"),
        (["1.250", "3.5"], "x", "decimals, not versions: 1.250 is 1.25"),
        (["1.10", "1.25", "2.5"], "x", "decimals, not versions: 1.10 is 1.1"),
        (["1.10", "1.25", "2.5"], "price", None),
        (["1,5", "2,25"], "x", "a comma marks the decimals"),
    ],
)
def test_what_could_be_read_in_another_way_has_a_note(cells, name, note):
    """A notation that a reader may take for another has a note, and decimals of an amount have none."""
    assert facts(cells, name).get("note") == note


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["007", "12"], "text"),
        (["0", "12"], "number"),
        (["0.5", "12"], "number"),
        (["05", "$3"], "text"),
        (["(5)", "(6)"], "text"),
        (["(5)", "6"], "number"),
        (["1\n2", "3"], "text"),
        (["$1\n$2", "$3"], "text"),
    ],
)
def test_names_that_look_like_numbers(cells, kind):
    """Codes with leading zeros, brackets alone and texts of two lines are texts."""
    assert ("sum" in facts(cells)) is (kind == "number")


@pytest.mark.parametrize(
    ("cells", "total", "unit"),
    [
        (["$1,250.00", "-$950", "$0"], 300, "$"),
        (["1,250", "2,500.50", ""], 3750.5, None),
        (["€1,000,000", "€0.25"], 1000000.25, "€"),
        (["-1,250", "50"], -1200, None),
    ],
)
def test_grouped_digits(cells, total, unit):
    """Thousands between commas are read, with one sign in front or none."""
    said = facts(cells)
    assert (said["sum"], said.get("unit"), said["missing"]) == (total, unit, cells.count(""))


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

"""Texts that are numbers keep their text in every answer, and are never added up by the digits in front."""

import random
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.sql.number_columns import use_numbers
from adk_context_pack.sql.number_places import TextColumn
from adk_context_pack.tables.columns import iter_columns

PRICES = ["$950", "$870", "$640", "$1,250", "$12,480", "N/A"]
ROWS = [
    {"c": name, "price": price, "n": n, "odd": odd, "mix": mix, "version": version, "cents": cents}
    for name, price, n, odd, mix, version, cents in zip(
        "abcdef",
        PRICES,
        ["1", "2", "N/A", "4", "5", "6"],
        ["1", "2", "abc", "4", "5", "6"],
        ["$5", "€7", "$1", "$1", "$1", "$1"],
        ["3.10", "3.1", "3.9", "3.11", "3.1", "3.2"],
        ["0.10", "0.20", "0.30", "0.10", "0.20", "0.30"],
        strict=True,
    )
]


def ask(sql, rows=ROWS):
    images = {"2abcdefghjk": image_of({"rows": iter_columns(rows)})}
    return RowDatabase(images).query(sql, max_rows=100, max_seconds=5).rows


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("sum(price)", 16190),
        ("avg(price)", 3238.0),
        ("total(r.price)", 16190),
        ("max(price) - min(price)", 11840),
        ("sum(price * n)", 70090),
        ("sum(CASE WHEN c = 'a' THEN price ELSE 0 END)", 950),
        ("round(avg(price) / 2, 1)", 1619.0),
        ("max(CAST(price AS REAL))", 12480.0),
        ("sum(coalesce(price, 0))", 16190),
        ("sum(CASE WHEN price = '$950' THEN 1 ELSE 0 END)", 1),
        ("sum(price > 900)", 3),
        ("count(price)", 5),
        ("max(price)", "$12,480"),
        ("min(price)", "$640"),
        ("group_concat(price, ' ')", "$950 $870 $640 $1,250 $12,480"),
        ("length(max(price))", 7),
        ('sum("price#")', 16190),
        ("sum(cents)", 1.2),
        ("avg(n)", 3.6),
    ],
)
def test_expressions(said, value):
    """Sums and calculations use the numbers, and whatever shows a cell shows its text."""
    assert ask(f"SELECT {said} FROM rows r") == [[value]]


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("SELECT price FROM rows WHERE price > 900 ORDER BY price DESC", ["$12,480", "$1,250", "$950"]),
        ("SELECT c FROM rows WHERE price = '$1,250'", ["d"]),
        ("SELECT c FROM rows WHERE price = 1250", ["d"]),
        ("SELECT c FROM rows WHERE 1000 < r.price", ["d", "e"]),
        ("SELECT c FROM rows WHERE price LIKE '$1%'", ["d", "e"]),
        ("SELECT c FROM rows WHERE price IN ('$640', '$870')", ["b", "c"]),
        ("SELECT c FROM rows WHERE price BETWEEN 800 AND 1000", ["a", "b"]),
        ("SELECT c FROM rows WHERE price IS NULL", ["f"]),
        ("SELECT c FROM rows WHERE price > (SELECT avg(price) FROM rows)", ["e"]),
        ("SELECT c FROM rows WHERE price = (SELECT max(price) FROM rows)", ["e"]),
        ("SELECT c FROM rows WHERE odd > 3", ["d", "e", "f"]),
        ("SELECT version FROM rows GROUP BY version ORDER BY version", ["3.1", "3.10", "3.11", "3.2", "3.9"]),
        ("SELECT price AS p FROM rows WHERE p IS NOT NULL ORDER BY p LIMIT 2", ["$640", "$870"]),
        ("SELECT max(price) AS m FROM rows GROUP BY c HAVING m > 1000 ORDER BY m DESC", [12480, 1250]),
        ("SELECT sum(price) OVER (ORDER BY c) FROM rows", [950, 1820, 2460, 3710, 16190, 16190]),
    ],
)
def test_rows(sql, values):
    """Conditions and orders go by the numbers, and the cells of an answer are the texts."""
    assert [row[0] for row in ask(sql.replace("FROM rows", "FROM rows r", 1))] == values


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("sum(odd)", """also holds 1 cell that is not a number, such as 'abc'. Write sum("odd#")"""),
        ("max(odd)", 'Write max("odd#")'),
        ("sum(mix)", "in several currencies ($, €)"),
        ("sum(version)", "holds texts"),
        ("version * 2", "not calculated with"),
        ("avg(c)", "holds texts"),
    ],
)
def test_what_cannot_be_added_up(said, message):
    """A sum that would leave cells out or add up names is an error that names the column and the way to its numbers."""
    with pytest.raises(QueryError) as caught:
        ask(f"SELECT {said} FROM rows")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "written"),
    [
        ("SELECT sum(m.cost) FROM rows", "SELECT sum(`m.cost#`) FROM rows"),
        ('SELECT sum(r."m.cost") FROM rows r', "SELECT sum(r.`m.cost#`) FROM rows r"),
        (
            "SELECT m.cost + 1, 'm.cost + 1' FROM rows -- m.cost",
            "SELECT `m.cost#` + 1, 'm.cost + 1' FROM rows -- m.cost",
        ),
        ("SELECT m.cost FROM other", "SELECT m.cost FROM other"),
        ("SELECT count(*), m.cost FROM rows", "SELECT count(*), m.cost FROM rows"),
    ],
)
def test_rewriting(sql, written):
    """Only the names of columns of texts change, behind an alias too, and never within texts and comments."""
    assert use_numbers(sql, {"rows": [TextColumn(name="m.cost", numbers="m.cost#")], "other": []}) == written


MONEY = ["12.50", "7.10", "100.00", "9.99"]


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("SELECT x FROM rows", MONEY),
        ("SELECT max(x) FROM rows", ["100.00"]),
        ("SELECT x FROM rows ORDER BY x", ["7.10", "9.99", "12.50", "100.00"]),
        ("SELECT x FROM rows GROUP BY x HAVING count(*) = 1 ORDER BY x DESC", ["100.00", "12.50", "9.99", "7.10"]),
        ("SELECT x FROM rows WHERE x = '12.50'", ["12.50"]),
        ("SELECT x FROM rows WHERE x LIKE '%.10'", ["7.10"]),
        ("SELECT x FROM rows WHERE x > 9.99", ["12.50", "100.00"]),
        ("SELECT sum(x) FROM rows", [129.59]),
        ("SELECT x * 2 FROM rows LIMIT 1", [25.0]),
        ("SELECT y FROM (SELECT x AS y FROM rows) ORDER BY y LIMIT 1", ["7.10"]),
    ],
)
def test_money_with_two_decimals_keeps_its_text(sql, values):
    """Amounts without any sign show and compare their own text, and are calculated with as numbers."""
    assert [row[0] for row in ask(sql, [{"x": text} for text in MONEY])] == values


@given(
    st.lists(
        st.one_of(
            st.integers(-(10**6), 10**6).map(str),
            st.decimals(-1000, 1000, places=2).map(str),
            st.decimals(-10, 10, places=5).map(str),
            st.floats(-1e9, 1e9).map(repr),
            st.sampled_from(["-0", "1e5", "2.0", "+5", "5.", ".5", "0.10", "9007199254740993", "-9223372036854775808"]),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_every_number_comes_back_as_it_was_written(texts):
    """A cell of an answer is the original text, or a number that is written as that text."""
    assert [str(row[0]) for row in ask("SELECT x FROM rows", [{"x": text} for text in texts])] == texts


def test_a_note_names_columns_that_are_there():
    """Where a name is numbered beside another of the same spelling, the note names the column of numbers it has."""
    rows = [{"P": "$1.00", "p": "$2,000.00", "p#": 7}]
    image = image_of({"rows": iter_columns(rows)})
    columns = image.names.tables["rows"]
    assert columns == ["P", "P#", "p_2", "p_2#", "p#_2"]
    named = [part for note in image.names.notes for part in note.split("`")[1::2]]
    assert set(named) <= set(columns)
    assert "p_2 is text as it was written, its numbers are in `p_2#`; in $" in image.names.notes
    other = image_of({"rows": iter_columns([{"p#": 7, "p": "$2"}])})
    assert other.names.tables["rows"] == ["p#", "p", "p#_2"]
    assert "p is text as it was written, its numbers are in `p#_2`; in $" in other.names.notes


def test_dates_that_do_not_sort_as_texts():
    """A note says so, with the true first and last date, and dates that sort need none."""
    texts = ["Jan 3, 2026", "Feb 1, 2026", "Mar 5, 2025"]
    notes = image_of({"rows": iter_columns([{"d": text} for text in texts])}).names.notes
    assert notes == ["d: dates as texts, sorted by time here, from Mar 5, 2025 to Feb 1, 2026"]
    for sorted_texts in (["2026-01-03", "2025-02-01T10:00:00"], ["20260103", "20250201"]):
        assert image_of({"rows": iter_columns([{"d": text} for text in sorted_texts])}).names.notes == []


DATED = [
    {"c": name, "price": price, "day": day, "slash": slash, "zone": zone}
    for name, price, day, slash, zone in zip(
        "abcdef",
        PRICES,
        ["Jan 3, 2026", "Dec 5, 2025", "Feb 1, 2024", "Mar 9, 2025", "Apr 2, 2026", None],
        ["03/01/2026", "25/12/2025", "01/02/2024", "09/03/2025", "02/04/2026", "05/05/2020"],
        [f"2026-01-01T0{at}" for at in ("1:00Z", "2:00-08:00", "3:00+02:00", "4:00Z", "5:00+05:00", "6:00+09:00")],
        strict=True,
    )
]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "order"),
    [
        ("ORDER BY lower(price)", "fcbade"),
        ("ORDER BY upper(trim(price)) DESC", "edabcf"),
        ("ORDER BY price || ''", "fcbade"),
        ("ORDER BY coalesce(price, '') DESC", "fedabc"),
        ("ORDER BY replace(price, '$', '')", "fcbade"),
        ("ORDER BY substr(price, 2)", "fcbade"),
        ("ORDER BY CASE WHEN c > 'a' THEN price END DESC", "edbcaf"),
        ("ORDER BY price COLLATE NOCASE", "fcbade"),
        ("ORDER BY price COLLATE BINARY DESC", "edabcf"),
        ("ORDER BY lower(price COLLATE NOCASE)", "fcbade"),
        ("ORDER BY price * 1", "fcbade"),
        ("WHERE price COLLATE NOCASE > 900 ORDER BY c", "ade"),
        ("WHERE 900 < price COLLATE NOCASE ORDER BY c", "ade"),
        ("WHERE price COLLATE NOCASE = 950", "a"),
        ("WHERE price COLLATE NOCASE BETWEEN 800 AND 1000 ORDER BY c", "ab"),
        ("WHERE price COLLATE NOCASE + 1 > 900 ORDER BY c", "ade"),
        ("ORDER BY day", "fcdbae"),
        ("ORDER BY slash DESC", "eabdcf"),
        ("WHERE day >= '2026-01-01' ORDER BY c", "ae"),
        ("WHERE slash < '2025-01-01' ORDER BY c", "cf"),
        ("WHERE day = 'Jan 3, 2026'", "a"),
        ("ORDER BY zone", "feacdb"),
    ],
)
def test_order_by_what_texts_mean(asked, order):
    """Formatted numbers and dates are sorted and compared by what they mean, also through functions of texts."""
    assert "".join(row[0] for row in ask(f"SELECT c FROM rows {asked}", DATED)) == order


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("SELECT max(lower(price)) FROM rows", "$12,480"),
        ("SELECT min(trim(price)) FROM rows", "$640"),
        ("SELECT max(price COLLATE NOCASE) FROM rows", "$12,480"),
        ("SELECT max(p) FROM (SELECT lower(price) AS p FROM rows)", "$12,480"),
        ("WITH t AS (SELECT trim(price) AS p FROM rows) SELECT p FROM t ORDER BY p DESC", "$12,480"),
        ("SELECT price FROM rows ORDER BY row_number() OVER (ORDER BY trim(price) DESC)", "$12,480"),
        ("SELECT upper(price) AS p FROM rows ORDER BY p DESC", "$12,480"),
        ("SELECT max(day) FROM rows", "Apr 2, 2026"),
        ("SELECT min(day) FROM rows", "Feb 1, 2024"),
        ("SELECT max(slash) FROM rows", "02/04/2026"),
        ("SELECT min(slash) FROM rows", "05/05/2020"),
        ("SELECT max(d) FROM (SELECT day AS d FROM rows)", "Apr 2, 2026"),
        ("SELECT max(zone) FROM rows", "2026-01-01T02:00-08:00"),
        ("SELECT length(price) FROM rows WHERE c = 'e'", 7),
        ("SELECT count(DISTINCT lower(price)) FROM rows", 5),
        ("SELECT count(*) FROM rows WHERE substr(price, 1, 1) = '$'", 5),
    ],
)
def test_extremes_by_what_texts_mean(sql, value):
    """The largest and the smallest text is that of the largest and smallest number or the last and first moment."""
    assert ask(sql, DATED)[0][0] == value


def test_a_new_name_in_an_inner_query():
    """A column of texts that an inner query names otherwise is a number outside, or is not compared with one."""
    sums = "SELECT (SELECT sum(q.p) FROM (SELECT price AS p, c AS d FROM rows) q WHERE q.d <= r.c) FROM rows r"
    assert [row[0] for row in ask(sums)] == [950, 1820, 2460, 3710, 16190, 16190]
    over = "SELECT c FROM rows r WHERE (SELECT q.p FROM (SELECT price AS p, c AS d FROM rows) q WHERE q.d = r.c) > 900"
    assert ask(over) == [["a"], ["d"], ["e"]]
    assert ask("SELECT q.p * 2 FROM (SELECT price AS p FROM rows) AS q LIMIT 1") == [[1900]]
    with pytest.raises(QueryError, match='p is text here: write "price#" AS p'):
        ask("SELECT c FROM rows r WHERE EXISTS (SELECT 1 FROM (SELECT price AS p FROM rows) q WHERE q.p > r.price)")


COMMAS = [
    {"c": name, "fee": fee} for name, fee in zip("abcd", ["1.200,5 €", "300,25 €", "2.000,75 €", "99,5 €"], strict=True)
]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("fee > (SELECT avg(fee) FROM rows)", "ac"),
        ("(SELECT avg(fee) FROM rows WHERE c > 'a') < fee", "ac"),
        ("fee = (SELECT max(fee) FROM rows)", "c"),
        ("fee <> (SELECT min(fee) FROM rows)", "abc"),
        ("fee > CAST('300' AS INTEGER)", "abc"),
        ("round(300.254, 3) < fee", "ac"),
        ("fee > abs(-300.254)", "ac"),
        ("fee > (300.254)", "ac"),
        ("fee > (-5)", "abcd"),
        ("fee > (SELECT count(*) * 100 FROM rows)", "ac"),
        ("fee = (SELECT fee FROM rows WHERE c = 'b')", "b"),
        ("fee > lower('300,25 €')", "ac"),
    ],
)
def test_compared_with_what_is_computed(condition, found):
    """Formatted numbers are compared as numbers with results of functions and inner queries, whatever their marks."""
    assert "".join(row[0] for row in ask(f"SELECT c FROM rows WHERE {condition} ORDER BY c", COMMAS)) == found


def test_headers_stay_as_they_were_written():
    """What is added to a statement for its order is not in the names of the result's columns."""
    images = {"2abcdefghjk": image_of({"rows": iter_columns(DATED)})}
    sql = "SELECT lower(price), trim(day), max(upper(slash)) FROM rows"
    found = RowDatabase(images).query(sql, max_rows=1, max_seconds=5)
    assert found.columns == ["lower(price)", "trim(day)", "max(upper(slash))"]


FORMATS = [
    lambda value: f"{value:,}",
    lambda value: f"${value:,}" if value >= 0 else f"(${-value:,})",
    lambda value: f"{value} EUR",
    lambda value: f"  {value}  ",
    lambda value: f"{value:,}".translate(str.maketrans(",.", ".,")),
    str,
    lambda value: f"{value}%",
]


@pytest.mark.parametrize("seed", range(200))
def test_generated_columns_agree_with_decimal(seed):
    """Sums, means, orders and conditions over generated columns are those of `decimal`, and cells are their texts."""
    made = random.Random(seed)
    write = made.choice(FORMATS)
    values = [Decimal(made.randint(-(10**6), 10**8)).scaleb(-2) for _ in range(made.randint(4, 60))]
    cells = [write(value) if made.random() < 0.9 or not index else made.choice(["N/A", "", "--", None])
             for index, value in enumerate(values)]  # fmt: skip
    known = {cell: value for cell, value in zip(cells, values, strict=True) if cell not in ("N/A", "", "--", None)}
    present = [known[cell] for cell in cells if cell in known]
    rows = [{"x": cell, "k": index % 3} for index, cell in enumerate(cells)]
    ((total, count, mean, nulls),) = ask("SELECT sum(x), count(x), avg(x), sum(x IS NULL) FROM rows", rows)
    assert Decimal(str(total)) == sum(present)
    assert (count, nulls) == (len(present), len(cells) - len(present))
    assert mean == pytest.approx(float(sum(present) / len(present)), rel=1e-12)
    limit = made.choice(present)
    ((above,),) = ask(f"SELECT count(*) FROM rows WHERE x > {limit}", rows)
    assert above == sum(value > limit for value in present)
    ordered = [row[0] for row in ask("SELECT x FROM rows WHERE x IS NOT NULL ORDER BY x", rows)]
    assert [known[str(cell)] if str(cell) in known else Decimal(str(cell)) for cell in ordered] == sorted(present)
    groups = dict(ask("SELECT k, sum(x) FROM rows GROUP BY k", rows))
    for k, found in groups.items():
        mine = [known[cell] for cell in cells[k::3] if cell in known]
        assert (found is None) if not mine else Decimal(str(found)) == sum(mine)

"""Rows in SQLite: exact, named as they were, and closed to everything but reading."""

import csv
import json
import math
import sqlite3
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.sql.guard import MAX_SQL_LENGTH, check_statement
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.tables.columns import iter_columns
from tests.support.shared_data import shared_file

FEW = [{"id": i, "name": f"row {i}", "metrics": {"clicks": str(i * 10), "ctr": i / 8}} for i in range(20)]


class Held:
    """Tables that are asked in this process, as the child process asks them."""

    def __init__(self, tables, *, max_seconds=5.0):
        image = image_of(tables)
        self.tables, self.notes = image.names.tables, image.names.notes
        self._database = RowDatabase({"2abcdefghjk": image})
        self._max_seconds = max_seconds

    def query(self, sql, *, max_rows):
        check_statement(sql)
        return self._database.query(sql, max_rows=max_rows, max_seconds=self._max_seconds)


def database(rows, **settings):
    return Held({"rows": iter_columns(rows)}, **settings)


def ask(rows, sql, **settings):
    return database(rows, **settings).query(sql, max_rows=1000)


def cell(rows, sql):
    answer = ask(rows, sql)
    assert len(answer.rows) == 1
    assert len(answer.rows[0]) == 1
    return answer.rows[0][0]


def refused(sql, rows=FEW, **settings):
    with pytest.raises(QueryError) as caught:
        ask(rows, sql, **settings)
    return str(caught.value)


@given(st.lists(st.one_of(st.none(), st.integers(-(2**70), 2**70)), min_size=1, max_size=30))
def test_integers_of_any_size_are_added_up_exactly(values):
    """Sum, smallest and largest of a column of integers are Python's, beyond 64 bits as digits in a text."""
    present = [value for value in values if value is not None]
    rows = [{"x": value} for value in values]
    found = ask(rows, "SELECT sum(x), min(x), max(x), count(x) FROM rows").rows[0]
    expected = [sum(present), min(present), max(present)] if present else [None] * 3
    assert [None if value is None else int(value) for value in found[:3]] == expected
    assert found[3] == len(present)
    for number in present[:1]:
        assert cell(rows, f"SELECT count(*) FROM rows WHERE x >= {number}") == sum(x >= number for x in present)


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=2), min_size=1, max_size=20))
def test_decimal_texts_sort_and_compare_as_numbers(values):
    """A column of decimal texts is ordered by value, as floats or, where no float holds them, as exact texts."""
    answer = ask([{"x": str(value)} for value in values], "SELECT x FROM rows ORDER BY x")
    assert [Decimal(str(row[0])) for row in answer.rows] == sorted(values)


CODES, LOW = [{"id": "007"}, {"id": "123456789012"}], -(2**63)
TEXTS = [{"x": ""}, {"x": "a b"}, {"x": "c d"}]
MARKS = [{"x": "N/A", "lap": "9:15"}, {"x": "none", "lap": "10:05"}, {"x": "c d", "lap": "n/a"}]
GAPS = [{"x": "1", "y": 1.0}, {"x": "", "y": math.nan}, {"x": None, "y": None}, {}, {"x": "3", "y": 2.0}]
ANSWERS = [
    (FEW, "sum(metrics.clicks), max(metrics.clicks), sum(metrics.clicks > 90)", [[1900, 190, 10]]),
    (CODES, "id", [["007"], ["123456789012"]]), (CODES, "sum(id = 123456789012), sum(id = '007' AND id = 7)", [[1, 1]]),
    ([{"x": LOW}, {"x": 5}], "x, typeof(x)", [[LOW, "integer"], [5, "integer"]]),
    ([{"x": str(LOW)}, {"x": "5"}], "min(x), sum(x)", [[LOW, LOW + 5]]),
    (GAPS, "avg(x), count(x), avg(y), count(y)", [[2.0, 2, 1.5, 2]]),
    ([{"x": 2**70}, {"x": math.nan}, {"x": 1}], "count(x), sum(x)", [[2, str(2**70 + 1)]]),
    ([{"x": 3.0, "y": 2}, {"x": 0.5, "y": 1}], "max(x / y)", [[1.5]]), ([], "count(*)", [[0]]),
    ([{"x": 1}], "CAST('ab' AS BLOB)", [["6162"]]),
    (TEXTS, "count(x), sum(x IS NULL), sum(x <> 'a b'), sum(x = ''), min(coalesce(x, '?'))", [[2, 1, 2, 1, "?"]]),
    ([{"x": 0.1 + 0.2}], "x, x * 3, 1 / 3.0", [[0.1 + 0.2, 0.9, 1 / 3]]),
    (TEXTS, "sum(x <> '' OR x IS NULL)", [[2]]), (TEXTS, "group_concat(x)", [["a b,c d"]]),
    (MARKS, "count(x), max(lap), sum(lap IS NULL)", [[2, "10:05", 1]]),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "selected", "found"), ANSWERS)
def test_cells_are_what_was_in_them(rows, selected, found):
    """Digits are numbers, identifiers texts, what is missing counts for nothing, floats stay, sums have no noise."""
    assert ask(rows, f"SELECT {selected} FROM rows").rows == found


def test_every_kind_of_value_has_a_cell():
    """Booleans, lists, objects, bytes, dates and mixed cells can be queried, and infinity comes back as text."""
    rows = [
        {"ok": True, "tags": ["a", 1], "mixed": 1, "big": math.inf, "raw": b"\x01"},
        {"ok": False, "tags": [], "mixed": "one", "big": 1.0, "raw": None},
    ]
    assert ask(rows, "SELECT ok, tags, mixed, big, raw FROM rows").rows == [
        [1, '["a", 1]', 1, "inf", "01"],
        [0, "[]", "one", 1.0, None],
    ]
    assert ask(rows, "SELECT value FROM rows, json_each(rows.tags)").rows == [["a"], [1]]


QUOTED = [
    "metrics.clicks", '"metrics.clicks"', "`metrics.clicks`", "[metrics.clicks]", "Metrics.Clicks",
    "r.metrics.clicks",
]  # fmt: skip


@pytest.mark.parametrize("written", QUOTED)
def test_dotted_names_work_however_they_are_written(written):
    """A nested column is found unquoted, in every kind of quotes, in any case, and behind an alias."""
    assert cell(FEW, f"SELECT sum({written}) FROM rows r") == 1900


def test_an_unknown_name_in_double_quotes_is_an_error():
    """SQLite takes an unknown name in double quotes for a text; here it is an error, except beside a column."""
    assert refused('SELECT "metrics.clickz" FROM rows') == "no such column: metrics.clickz"
    assert refused('SELECT id FROM rows WHERE "nam" = name') == "no such column: nam"
    for condition in 'name = "row 1"', 'name IN ("row 1")', 'lower(name) LIKE "ROW 1"':
        answer = ask(FEW, f"SELECT id FROM rows WHERE {condition}")
        assert (answer.rows, len(answer.notes)) == ([[1]], 1)
    assert ask(FEW, 'SELECT id AS "The id" FROM rows ORDER BY "The id" DESC LIMIT 1').rows == [[19]]


def test_odd_column_names_are_columns():
    """Keywords, quotes, blanks, NUL, lone surrogates and names that differ in case only can all be read."""
    names = ["order", 'a"b', "a`b", "a]b", "a b", "", "sel\0ect", "\ud800", "ID", "id", "x.y", "日本"]
    held = database([dict(zip(names, range(len(names)), strict=True))])
    answer = held.query("SELECT * FROM rows", max_rows=1)
    assert answer.rows == [list(range(len(names)))]
    assert answer.columns == [
        "order", 'a"b', "a`b", "a]b", "a b", "column", "sel\ufffdect", "?", "ID", "id_2", "x.y", "日本",
    ]  # fmt: skip
    assert held.query('SELECT "order", [a"b], "a`b", 日本 FROM rows', max_rows=1).rows == [[0, 1, 2, 11]]


def test_odd_texts_come_back():
    """U+2028, emoji and quotes come back as they were; NUL as a symbol and lone surrogates as U+FFFD, with a note."""
    held = database([{"x": "a\u2028b"}, {"x": "\U0001f600'\""}, {"x": "a\0b"}, {"x": "\ud800"}])
    assert [row[0] for row in held.query("SELECT x FROM rows", max_rows=9).rows] == [
        "a\u2028b",
        "\U0001f600'\"",
        "a\u2400b",
        "?",
    ]
    assert "lone surrogates" in held.notes[0]


def test_several_tables_have_their_keys_and_one_is_called_rows():
    """Of several tables each has its own name and kinds of columns; a single one is `rows` and goes by its key too."""
    b = iter_columns([{"x": 2, "time": 90}, {"x": 3, "time": 95}])
    two = Held({"a.items": iter_columns([{"x": 1, "time": "2026-03-01 10:00:00"}]), "b": b})
    sql = "SELECT b.x FROM a.items i JOIN b ON b.time > 90 WHERE i.time > '2026' AND b.x IN (SELECT x FROM b"
    assert two.query(f"{sql} WHERE time < 99)", max_rows=9).rows == [[3]]
    assert two.query("SELECT sum(x) FROM a.items", max_rows=1).rows == [[1]]
    assert two.query('SELECT i.x, b.x FROM "a.items" i, b ORDER BY 2', max_rows=9).rows == [[1, 2], [1, 3]]
    with pytest.raises(QueryError, match="no such table: rows"):
        two.query("SELECT * FROM rows", max_rows=1)
    one = Held({"sqlite_results": iter_columns([{"x": 1}])})
    assert (
        one.query("SELECT x FROM rows", max_rows=1).rows == one.query("SELECT x FROM t_sqlite_results", max_rows=1).rows
    )


def test_the_answer_is_bounded_and_counts_all():
    """Of a large result the first rows come back, with the exact number of all."""
    answer = database(FEW).query("SELECT a.id FROM rows a, rows b", max_rows=7)
    assert (len(answer.rows), answer.total) == (7, 400)


def test_a_huge_answer_is_not_collected():
    """Rows of long texts stop coming back after four million characters, and are counted all the same."""
    answer = database([{"x": "y" * 300_000}] * 40).query("SELECT x FROM rows", max_rows=40)
    assert (len(answer.rows), answer.total) == (14, 40)


def test_a_long_text_can_be_read():
    """A cell longer than the limit for computed texts can be read whole and in parts."""
    text = "é" * 2_000_000
    assert cell([{"x": text}], "SELECT length(x) FROM rows") == 2_000_000
    assert cell([{"x": text}], "SELECT substr(x, -2) FROM rows") == "éé"


NO_SELECT = [
    "INSERT INTO rows VALUES (1, 'x', 2, 3)", "UPDATE rows SET id = 1", "DELETE FROM rows RETURNING id",
    "CREATE TEMP TABLE t (x)", "CREATE TABLE t AS SELECT * FROM rows", "DETACH DATABASE main", "BEGIN", "SAVEPOINT a",
    "ATTACH DATABASE ':memory:' AS other", "PRAGMA query_only = OFF", "SELECT * FROM pragma_table_info('rows')",
    "SELECT * FROM sqlite_master", "SELECT load_extension('x')", "SELECT readfile('/etc/passwd')", "ANALYZE",
    "SELECT zeroblob(1000000000)", "SELECT randomblob(1000000000)", "SELECT sqlite_version()", "REINDEX",
    "VACUUM INTO 'file.db'", "SELECT 1; DROP TABLE rows", "/* */ DROP TABLE rows --", "", "-- nothing", "SELECT '\0'",
    "WITH t AS (SELECT 1) INSERT INTO rows SELECT 1, 2, 3, 4", "SELECT \ud800", "SELECT 'unfinished",
    "SELECT 1" + " " * MAX_SQL_LENGTH,
]  # fmt: skip


@pytest.mark.parametrize("sql", NO_SELECT)
def test_nothing_but_select_gets_through(sql):
    """What writes, attaches, reaches out, or is no single SELECT is refused, and the rows are as before."""
    held = database(FEW)
    with pytest.raises(QueryError):
        held.query(sql, max_rows=5)
    assert held.query("SELECT count(*), sum(id) FROM rows", max_rows=5).rows == [[20, 190]]


@pytest.mark.parametrize("sql", [
    "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t",
    "SELECT count(*) FROM rows a, rows b, rows c, rows d, rows e, rows f, rows g, rows h",
    "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT x FROM t ORDER BY x",
])  # fmt: skip
def test_a_query_that_runs_for_ever_is_stopped(sql):
    """A query that would not end is stopped with a message, and the next one is answered."""
    held = database(FEW, max_seconds=0.2)
    with pytest.raises(QueryError, match=r"took longer than 0\.2 s"):
        held.query(sql, max_rows=5)
    assert held.query("SELECT count(*) FROM rows", max_rows=5).rows == [[20]]


def test_rows_that_never_end_are_cut_and_not_counted():
    """Of an endless result the first rows come back; that they could not be counted shows in the total."""
    sql = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT x FROM t"
    answer = database(FEW, max_seconds=0.2).query(sql, max_rows=3)
    assert (answer.rows, answer.total) == ([[1], [2], [3]], None)


def test_a_text_that_doubles_is_stopped():
    """A query whose text doubles with each row meets the limit on the length of a text."""
    doubling = "WITH RECURSIVE t(x) AS (SELECT 'aaaaaaaa' UNION ALL SELECT x || x FROM t) SELECT max(x) FROM t"
    assert "became too long" in refused(doubling)


def test_a_table_wider_than_sqlite_keeps_its_first_columns():
    """Of more columns than SQLite has room for, the first ones stay and a note says so."""
    held = database([{f"c{i}": i for i in range(2500)}])
    assert held.query("SELECT c1999 FROM rows", max_rows=1).rows == [[1999]]
    assert "2000 columns" in held.notes[0]


def test_flights_agree_with_python():
    """On 20,000 real rows, groups and sums are those that plain Python finds."""
    rows = json.loads(shared_file("flights/flights-20k.json").read_text(encoding="utf-8"))
    answer = ask(rows, "SELECT origin, count(*), sum(delay), max(distance) FROM rows GROUP BY origin ORDER BY origin")
    expected = {}
    for row in rows:
        expected.setdefault(row["origin"], []).append(row)
    assert answer.total == len(expected)
    for origin, count, delay, distance in answer.rows:
        mine = expected[origin]
        assert count == len(mine)
        assert delay == sum(row["delay"] for row in mine)
        assert distance == max(row["distance"] for row in mine)


def test_meridian_agrees_with_sqlite_fed_by_hand():
    """On a real CSV the numeric texts add up to what floats inserted by hand add up to."""
    with shared_file("meridian/geo_media.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    by_hand = sqlite3.connect(":memory:")
    by_hand.execute("CREATE TABLE rows (geo, spend REAL)")
    by_hand.executemany("INSERT INTO rows VALUES (?, ?)", [(row["geo"], float(row["Channel0_spend"])) for row in rows])
    sql = "SELECT geo, sum({}) FROM rows GROUP BY geo ORDER BY geo"
    expected = by_hand.execute(sql.format("spend")).fetchall()
    found = ask(rows, sql.format("Channel0_spend")).rows
    assert [row[0] for row in found] == [row[0] for row in expected]
    assert [row[1] for row in found] == pytest.approx([row[1] for row in expected], rel=1e-12)


class Letter(StrEnum):
    A = "a"


def test_dates_are_queried_as_texts_that_sort():
    """Dates and moments of Python stand as ISO texts, so that ordering and comparing them gives what they mean."""
    rows = [{"day": date(2024, 1, 2)}, {"day": date(2023, 5, 6)}, {"day": None}]
    assert ask(rows, "SELECT day FROM rows WHERE day > '2023' ORDER BY day").rows == [["2023-05-06"], ["2024-01-02"]]
    assert cell([{"at": datetime(2024, 1, 2, 3)}], "SELECT at FROM rows") == "2024-01-02 03:00:00"  # noqa: DTZ001


def test_decimals_booleans_and_enums_among_texts():
    """Among texts a decimal is a number where a float holds it, else its digits; True is 1, an enum is its text."""
    many = "1" * 30
    values = ["x", "y", "z", "w", Decimal("1.5"), Decimal(many), Decimal("NaN"), True, Letter.A]
    found = ask([{"v": value} for value in values], "SELECT v, typeof(v) FROM rows").rows[4:]
    assert found == [[1.5, "real"], [many, "text"], ["NaN", "text"], [1, "integer"], ["a", "text"]]


@dataclass
class Nest:
    inner: object


def test_objects_deeper_than_columns_go_are_json():
    """Objects within objects are columns to a depth of 16, and JSON text below."""
    value = "leaf"
    for _ in range(18):
        value = Nest(value)
    held = database([{"n": value}])
    (name,) = held.tables["rows"]
    assert name == "n" + ".inner" * 16
    ((text,),) = held.query("SELECT * FROM rows", max_rows=1).rows
    assert json.loads(text)["inner"].startswith("Nest(")


def test_an_error_behind_the_shown_rows_is_told():
    """A query that fails on a row beyond those shown is an error, and no shorter answer."""
    held = database([{"x": number} for number in range(50)])
    with pytest.raises(QueryError, match="integer overflow"):
        held.query("SELECT CASE x WHEN 40 THEN abs(-9223372036854775807 - 1) ELSE x END FROM rows", max_rows=10)

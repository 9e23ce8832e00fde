"""A text is never calculated with by the digits in front of it, whatever name it has."""

import sqlite3

import pytest

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.sql.hints import hint_for
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.sql.number_checks import NumberChecks
from adk_context_pack.tables.columns import iter_columns

ROWS = [
    {"c": "a", "price": "1,137", "cents": "12.50", "n": 2, "day": "2026-01-31", "data": '{"cost": "2,500", "n": "3"}'},
    {"c": "b", "price": "$950", "cents": "7.10", "n": 3, "day": "2025-02-01", "data": '{"cost": "10", "n": "4"}'},
]
IMAGE = image_of({"rows": iter_columns(ROWS)})


def answer(sql):
    return RowDatabase({"2abcdefghjk": IMAGE}).query(sql, max_rows=9, max_seconds=5)


def ask(sql):
    return answer(sql).rows


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("SELECT CASE WHEN n > 0 THEN c END * 2 FROM rows", "is text such as 'a'"),
        ("SELECT json_extract(data, '$.cost') * 2 FROM rows", "is text such as '2,500'"),
        ("SELECT data ->> '$.cost' * 2 FROM rows", "is text such as '2,500'"),
        ("SELECT sum(json_extract(data, '$.cost')) FROM rows", "is text such as '2,500'"),
        ("SELECT day - 1 FROM (SELECT max(day) AS day FROM rows)", "texts are not calculated with"),
        ("SELECT CAST(json_extract(data, '$.cost') AS REAL) FROM rows", "is text such as '2,500'"),
        ("SELECT sum(CAST(replace(price, '$', '!') AS REAL)) FROM rows", "is text such as '!950'"),
        ("SELECT count(*) FROM rows WHERE substr(c, 1, 1) < 5", "is text such as 'a'"),
    ],
)
def test_a_text_under_any_name_is_not_calculated_with(sql, named):
    """The error names the expression, shows one of its texts, and names the column of numbers to write instead."""
    with pytest.raises(QueryError) as caught:
        ask(sql)
    assert named in str(caught.value)
    advice = ('"price#" for "price"', "holds texts", 'write "price#" AS')
    assert any(words in str(caught.value) for words in advice)


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ('WITH t(v) AS (SELECT "price#" FROM rows) SELECT sum(v) FROM t', [2087]),
        ("WITH t(v) AS (SELECT cents FROM rows) SELECT v * 2 FROM t", [25.0, 14.2]),
        ("WITH t(v) AS (SELECT price FROM rows) SELECT v * 2 FROM t", [2274, 1900]),
        ("WITH t(v, k) AS (SELECT price, n FROM rows) SELECT sum(v * k) FROM t", [5124]),
        ("WITH t(v) AS (SELECT price FROM rows) SELECT sum(t.v) FROM t", [2087]),
        ("WITH t(v) AS (SELECT price FROM rows) SELECT avg(DISTINCT v) FROM t", [1043.5]),
        ("WITH t(v) AS (SELECT price FROM rows) SELECT round(v, 1) + abs(v) FROM t", [2274, 1900]),
        ("WITH t(v) AS (SELECT price FROM rows) SELECT CAST(v AS INTEGER) FROM t", [1137, 950]),
        ("WITH t(v) AS (SELECT price FROM rows) SELECT -v FROM t", [-1137, -950]),
        ("WITH t(n) AS (SELECT price FROM rows) SELECT n + 1 FROM t", [1138, 951]),
        ("WITH t(v) AS (SELECT price FROM rows), u(w) AS (SELECT v FROM t) SELECT 1 + w FROM u", [1138, 951]),
        ("SELECT q.price * 2 FROM (SELECT price FROM rows) q", [2274, 1900]),
        ("SELECT x.v % 7 FROM (SELECT price AS v FROM rows UNION SELECT price FROM rows) x", [5, 3]),
        ("SELECT max(price) OVER () - n FROM rows", [1135, 1134]),
        ("SELECT lag(price) OVER (ORDER BY c DESC) + 1 FROM rows", [None, 951]),
        ("SELECT v FROM (SELECT coalesce(price, '') AS v FROM rows) WHERE v > 1000", ["1,137"]),
        ("SELECT v FROM (SELECT CASE n WHEN 2 THEN price END v FROM rows) WHERE v BETWEEN 1 AND 9999", ["1,137"]),
        ("SELECT CAST(price || '' AS REAL) FROM rows", [1137.0, 950.0]),
        ("SELECT printf('%s: %.1f%%', c, price) FROM rows", ["a: 1137.0%", "b: 950.0%"]),
        ("SELECT q.cents + 1 FROM (SELECT cents FROM rows) q", [13.5, 8.1]),
        ("WITH t(v) AS (SELECT price FROM rows) SELECT v FROM t WHERE v > 1000", ["1,137"]),
        ("SELECT q.price FROM (SELECT price FROM rows) q ORDER BY q.price", ["$950", "1,137"]),
        ("SELECT sum(CASE WHEN price > 1000 THEN n ELSE 0 END) * 1.0 / sum(n) FROM rows", [0.4]),
        ("SELECT n * -1 - -n FROM rows", [0, 0]),
        ("SELECT count(*) * 2 - 1 FROM rows", [3]),
        ("SELECT rows.n * rows.n FROM rows", [4, 9]),
        ("SELECT strftime('%Y', day) - 1 FROM rows", [2025, 2024]),
        ("SELECT c FROM rows WHERE strftime('%Y', day) = 2026", ["a"]),
        ("SELECT c FROM rows WHERE strftime('%Y', day) != 2026", ["b"]),
        ("SELECT c FROM rows WHERE substr(c, 1, 1) = 5", []),
        ("SELECT sum(data ->> '$.n') FROM rows", [7]),
        ("SELECT json_extract(data, '$.n') * n FROM rows", [6, 12]),
        ("SELECT data -> '$.n' FROM rows", ['"3"', '"4"']),
        ("SELECT CAST(replace(data ->> '$.cost', ',', '') AS REAL) / 2 FROM rows", [1250.0, 5.0]),
        ("SELECT julianday(max(day)) - julianday(min(day)) FROM rows", [364.0]),
        ("SELECT count(*) FROM rows WHERE (n, c) IN ((2, 'a'), (3, 'x'))", [1]),
        ("SELECT sum(n) FILTER (WHERE c = 'a') OVER (ORDER BY c) * 2 FROM rows", [4, 4]),
        ("SELECT sum(n) OVER w - n FROM rows WINDOW w AS (ORDER BY c)", [0, 2]),
        ("SELECT (SELECT count(*) FROM rows) - 1 FROM rows LIMIT 3 - 2", [1]),
        ("SELECT length(c || n) * 2 FROM rows", [4, 4]),
        ("SELECT 5 -- price * 2\n - 3", [2]),
        ("SELECT NULL * n FROM rows", [None, None]),
        ("SELECT sum(v) FROM (SELECT n AS v FROM rows) WHERE v + 0 >= 3", [3]),
        ("SELECT max(n, 2.5) FROM rows", [2.5, 3]),
        ("SELECT CAST(replace(replace(price, ',', ''), '$', '') AS INTEGER) FROM rows", [1137, 950]),
        ("SELECT CAST(n AS TEXT) || CAST(n AS REAL) FROM rows", ["22.0", "33.0"]),
        ("SELECT printf('%s %5.1f', price, cents) FROM rows", ["1,137  12.5", "$950   7.1"]),
        ("SELECT (SELECT max(n) FROM rows WHERE c = 'a' ORDER BY c) * 2 FROM rows LIMIT 1", [4]),
    ],
)
def test_what_can_be_calculated_is(sql, values):
    """Numbers of every origin are calculated with, texts that are plain numbers as well, and the rest is untouched."""
    assert [row[0] for row in ask(sql)] == values


def test_names_of_results_show_no_checks():
    """A result's column is named by the expression that the model wrote."""
    assert answer("SELECT strftime('%Y', day) - 1, v * 2 FROM (SELECT n AS v, day FROM rows)").columns == [
        "strftime('%Y', day) - 1",
        "v * 2",
    ]


def test_a_column_of_numbers_that_an_inner_query_leaves_out():
    """Naming the numbers outside of an inner query that selects the texts alone says what to add to it."""
    with pytest.raises(QueryError) as caught:
        ask('SELECT q."price#" FROM (SELECT price FROM rows) q')
    assert 'add "price#" to its SELECT' in hint_for(str(caught.value), [IMAGE.names])


def test_an_unfinished_statement_is_left_to_sqlite():
    """Text that is not a statement is written back without an error."""
    checks = NumberChecks(sqlite3.connect(":memory:"), {"n"}, "")
    for sql in ("SELECT (n * ", "SELECT n) * 2", "END * END", "* - + %", "CASE n", "x OVER", "a ->> ", "- -", "f( AS"):
        assert checks.as_written(checks.rewrite(sql)) == sql

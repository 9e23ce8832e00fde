"""Amounts in several currencies are not added up, and the error has the statement that adds up each of them."""

import pytest

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.tables.columns import iter_columns
from tests.support.work import calls_of

ROWS = [
    {
        "town": "ab"[n % 5 > 2],
        "fee": ["€5", "$7", "$1,250"][n % 3],
        "pay": {"value": n + 0.5, "currency": ["CHF", "JPY"][n % 2]},
        "fx_rate": [1.5, 1.0][n % 2],
        "net": f"{n + 1},500.00",
        "n": n,
        "discount": f"{n} %",
    }
    for n in range(12)
]
IMAGE = image_of({"rows": iter_columns(ROWS)})
CHF, JPY = 33.0, 39.0


RATES = [{"code": c, "rate": x, "interest_rate": x} for c, x in (("CHF", 1.5), ("JPY", 0.5), ("SEK", 0.1))]
IMAGES = {"2abcdefghjk": IMAGE, "2bbcdefghjk": image_of({"rows": iter_columns(RATES)})}


def answer(sql):
    return RowDatabase(IMAGES).query(sql, max_rows=99, max_seconds=5)


@pytest.mark.parametrize("sql", [
    "SELECT sum(pay.value) FROM rows", "SELECT avg(r.pay.value) FROM rows r",
    "SELECT town, total(pay.value) FROM rows GROUP BY town", "SELECT sum(pay.value * n) FROM rows",
    "SELECT sum(pay.value) FROM rows WHERE pay.currency IN ('CHF', 'JPY')",
    "SELECT sum(pay.value) OVER (PARTITION BY town) FROM rows",
    "SELECT pay.currency, (SELECT sum(pay.value) FROM rows) FROM rows GROUP BY pay.currency",
    "WITH t AS (SELECT pay.value AS v FROM rows) SELECT sum(v) FROM t",
    "WITH t AS (SELECT pay.currency AS k, sum(pay.value) AS v FROM rows GROUP BY k) SELECT sum(v) FROM t",
    "SELECT sum(pay.value * rate) FROM rows, 2bbcdefghjk WHERE code = 'CHF'", "SELECT median(pay.value) FROM rows",
    "SELECT sum(pay.value * interest_rate) FROM rows JOIN 2bbcdefghjk ON code = pay.currency",
    "SELECT sum(net) FROM rows", "SELECT sum(fee) FROM rows", "SELECT sum(DISTINCT fee) FROM rows",
    "SELECT sum(pay.value) FROM rows WHERE pay.currency = 'CHF' OR n < 4",
    "SELECT pay.currency = 'CHF', sum(pay.value) FROM rows",
    "SELECT sum(CASE pay.currency WHEN 'CHF' THEN pay.value * n END), sum(pay.value * n) FROM rows",
    "WITH t(v) AS (SELECT max(pay.value) FROM rows GROUP BY pay.currency) SELECT sum(v + 1) FROM t",
])  # fmt: skip
def test_several_currencies_are_not_added_up(sql):
    """The statement in the error is answered, with one sum for each currency."""
    with pytest.raises(QueryError, match="in several currencies") as caught:
        answer(sql)
    written = str(caught.value).partition("Write ")[2].rstrip(".")
    assert len(answer(written).rows) * len(answer(written).columns) in {2, 4}


@pytest.mark.parametrize(("sql", "values"), [
    ("SELECT pay.currency, sum(pay.value) FROM rows GROUP BY pay.currency", [CHF, JPY]),
    ("SELECT pay.currency AS c, sum(pay.value) FROM rows GROUP BY c ORDER BY c", [CHF, JPY]),
    ("SELECT 1, sum(pay.value) FROM rows WHERE pay.currency = 'CHF'", [CHF]),
    ("SELECT 1, sum(pay.value) FROM rows WHERE pay.currency IN ('JPY')", [JPY]),
    ("SELECT 1, sum(CASE WHEN pay.currency = 'JPY' THEN pay.value END) FROM rows", [JPY]),
    ("SELECT n, sum(pay.value) OVER (PARTITION BY pay.currency) FROM rows WHERE n < 2", [0.5, 1.5]),
    ("SELECT 1, sum(CASE WHEN fee LIKE '%€%' THEN fee END) FROM rows", [20]),
    ('SELECT "fee#unit", sum(fee) FROM rows GROUP BY 1 ORDER BY 1', [5028, 20]),
    ("SELECT 1, sum(v) FROM (SELECT pay.currency k, pay.value v FROM rows) WHERE k = 'JPY'", [JPY]),
    ("SELECT 1, sum(pay.value) OVER (ORDER BY n ROWS CURRENT ROW) FROM rows WHERE n < 2", [0.5, 1.5]),
    ("SELECT 1, total(iif(pay.currency = 'JPY', pay.value, 0)) FROM rows", [JPY]),
    ("SELECT 1, sum(pay.value * fx_rate) FROM rows", [1.5 * CHF + JPY]),
    ("SELECT 1, sum(pay.value * x.rate) FROM rows JOIN 2bbcdefghjk x ON x.code = pay.currency", [1.5 * CHF + JPY / 2]),
    ("SELECT pay.currency, median(pay.value) FROM rows GROUP BY pay.currency", [5.5, 6.5]),
    ("SELECT 1, sum(n), avg(pay.value / pay.value) FROM rows", [66]), ("SELECT 1, avg(discount) FROM rows", [5.5]),
    ("SELECT 1, sum(v) FROM (SELECT pay.value * CASE pay.currency WHEN 'JPY' THEN 2 END v FROM rows)", [78]),
    ("WITH k(c, x) AS (VALUES ('JPY', 2)) SELECT 1, sum(pay.value * x) FROM rows JOIN k ON c = pay.currency", [78]),
    ("SELECT 1, (SELECT sum(net) FROM rows r WHERE r.pay.currency = o.pay.currency) FROM rows o LIMIT 1", [39_000]),
])  # fmt: skip
def test_sums_within_one_currency_are_answered(sql, values):
    """Groups, windows, filters and cases that tell the currencies apart are answered as they are."""
    assert [row[1] for row in answer(sql).rows] == values


def test_debit_and_credit_have_no_sign_of_their_own():
    """What depends on the sign is refused, and the expression in the error gives it one, also through inner queries."""
    rows = [{"n": n, "side": f"{n}.50 {'DR' if n % 3 else 'CR'}"} for n in range(1, 9)]
    books = RowDatabase({"2abcdefghjk": image_of({"rows": iter_columns(rows)})})
    for use in ("side < 0", "max(side)", "-side", "sum(side)", "rank() OVER (ORDER BY side)", "side"):
        with pytest.raises(QueryError, match="DR") as caught:
            books.query(f"SELECT {use} FROM rows", max_rows=9, max_seconds=5)
        signed = str(caught.value).partition("Write ")[2].partition(",")[0]
        for sql in (f"SELECT sum({signed}) FROM rows", f"WITH t AS (SELECT {signed} v FROM rows) SELECT sum(v) FROM t"):
            assert abs(books.query(sql, max_rows=9, max_seconds=5).rows[0][0]) == 20
    assert books.query("SELECT n FROM rows WHERE side = '3.50 CR'", max_rows=9, max_seconds=5).rows == [[3]]


def test_comparisons_across_currencies_say_so():
    """An order across currencies has a note, one within a currency has none, and notes name columns of the query."""

    def notes(sql):
        return " ".join(answer(sql).notes)

    assert "several currencies (CHF, JPY)" in notes("SELECT max(pay.value) FROM rows")
    assert "several" not in notes("SELECT max(pay.value) FROM rows WHERE pay.currency = 'CHF'")
    assert "several" in notes("SELECT n FROM rows WHERE pay.currency = 'CHF' OR n < 5 ORDER BY pay.value")
    assert "several" in notes("SELECT pay.value - lag(pay.value) OVER (ORDER BY n) FROM rows")
    assert ["net: " in notes(f"SELECT {name} FROM rows") for name in ("net", "fee")] == [True, False]


def test_a_long_statement_is_read_in_time():
    """Three times as many sums in one statement are little more than three times the work."""

    def ask(sums):
        query = f"SELECT {', '.join(['sum(net)'] * sums)} FROM rows GROUP BY pay.currency"
        return calls_of(lambda: answer(query))

    assert ask(90) < 4 * ask(30)

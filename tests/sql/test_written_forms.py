"""Statements over one table in five written forms, against plain SQLite over values of the right types."""

import random
import sqlite3
from datetime import date, timedelta

import pytest

from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.tables.columns import iter_columns

PICK = random.Random(11)
DAYS = [date(2024, 1, 5) + timedelta(days=PICK.randrange(700)) for _ in range(60)]
FEES = [round(PICK.choice([PICK.uniform(0, 50), PICK.uniform(900, 99_999)]), 2) for _ in DAYS]
PAID = [PICK.random() < 0.6 for _ in DAYS]
TOWN = [PICK.choice(["Oslo", "Rome", "Graz"]) for _ in DAYS]


def swapped(fee):
    return f"{fee:,.2f}".translate(str.maketrans(",.", ".,"))


FORMS = {
    "as they are": (lambda fee: fee, "%Y-%m-%d", (True, False)),
    "US": (lambda fee: f"${fee:,.2f}", "%m/%d/%Y", ("Yes", "No")),
    "German": (lambda fee: f"{swapped(fee)} €", "%d.%m.%Y", ("ja", "nein")),
    "French": (lambda fee: swapped(fee).replace(".", "\u202f"), "%d %b %Y", ("TRUE", "FALSE")),
    "as texts": (lambda fee: f"{fee:.2f}", "%Y/%m/%d", ("1", "0")),
}
STATEMENTS = """
SELECT round(sum(fee), 2), round(avg(fee), 4), round(max(fee + 0) - min(fee + 0), 2) FROM rows
SELECT town, count(*) FROM rows WHERE fee BETWEEN 10 AND 2000 GROUP BY town ORDER BY town
SELECT k FROM rows WHERE fee = (SELECT max(fee) FROM rows)
WITH t(v) AS (SELECT fee FROM rows) SELECT round(sum(v * 2), 2), count(*) FROM t WHERE v > 1000
SELECT k, round(fee - lag(fee) OVER (ORDER BY k), 2) FROM rows
SELECT k FROM (SELECT k, fee AS f FROM rows UNION ALL SELECT k, fee FROM rows) ORDER BY f DESC, k
SELECT k, rank() OVER (ORDER BY fee DESC) FROM rows ORDER BY k
SELECT count(*) FROM rows a JOIN rows b ON a.fee < b.fee
SELECT count(*) FROM rows WHERE day > '2024-06-30' AND day <= date('2025-06-30')
SELECT k FROM rows ORDER BY day, k
SELECT strftime('%Y-%m', day) AS m, round(sum(fee), 2) FROM rows GROUP BY m ORDER BY m
SELECT julianday(max(day)) - julianday(min(day)), max(date(day)) FROM rows
SELECT date(day, 'start of month', '+1 month') AS m, count(*) FROM rows GROUP BY 1 ORDER BY 1
SELECT unixepoch(day), datetime(day), time(day), CAST(strftime('%Y', day) AS INTEGER) + 1 FROM rows
WITH t(x) AS (SELECT day FROM rows) SELECT strftime('%Y', x), count(*) FROM t GROUP BY 1 ORDER BY 1
SELECT date(day, 'no modifier'), date('no date') FROM rows
SELECT count(*) FROM rows WHERE paid = 1
SELECT count(*) FROM rows WHERE paid
SELECT count(*) FROM rows WHERE NOT paid AND fee > 1000
SELECT count(*) FROM rows WHERE (paid OR k < 9) AND paid IS NOT FALSE
SELECT count(*) FROM rows WHERE paid = true AND paid IN (1) AND paid IS TRUE
SELECT count(*) FROM rows WHERE paid NOT IN (1, 2)
SELECT town, sum(paid), sum(CASE WHEN paid THEN fee ELSE 0 END) > 0, sum(paid = 0) FROM rows GROUP BY town ORDER BY 1
SELECT round(sum(fee) FILTER (WHERE paid), 2), count(*) FROM rows r WHERE r.paid <> 0
SELECT iif(paid, 'y', 'n') FROM rows ORDER BY k
"""


def oracle():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE rows (town TEXT, fee REAL, day TEXT, paid INTEGER, k INTEGER)")
    rows = zip(TOWN, FEES, map(str, DAYS), PAID, range(60), strict=True)
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", rows)
    return connection


@pytest.fixture(scope="module", params=FORMS)
def database(request):
    fee, day, truths = FORMS[request.param]
    rows = [
        {"town": TOWN[k], "fee": fee(FEES[k]), "day": DAYS[k].strftime(day), "paid": truths[not PAID[k]], "k": k}
        for k in range(60)
    ]
    database = RowDatabase({"2abcdefghjk": image_of({"rows": iter_columns(rows)})})
    yield database
    database.close()


@pytest.mark.parametrize("sql", STATEMENTS.strip().splitlines())
def test_a_statement_means_the_same_in_every_form(database, sql):
    """Amounts, dates and truth values are calculated, compared and sorted by what they mean, however written."""
    expected = [list(row) for row in oracle().execute(sql)]
    assert database.query(sql, max_rows=999, max_seconds=5).rows == expected


def test_a_truth_value_is_compared_with_any_word_for_it():
    """What the stub shows can be written back, and so can another word for the same."""
    image = image_of({"rows": iter_columns([{"paid": "Yes"}, {"paid": "No"}, {"paid": "Yes"}])})
    database = RowDatabase({"2abcdefghjk": image})
    for condition in ("paid = 'Yes'", "paid = 'true'", "paid LIKE 'y%'", "paid <> 'no'"):
        assert database.query(f"SELECT count(*) FROM rows WHERE {condition}", max_rows=9, max_seconds=5).rows == [[2]]

"""Statements over one table in five written forms, against answers computed from the values with `decimal` alone."""

import os
import random
from datetime import date, timedelta
from decimal import Decimal
from functools import cache

import pytest

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.tables.columns import iter_columns
from tests.sql.statements_of_forms import STATEMENTS

MADE = int(os.environ.get("FORMS_STATEMENTS", "4"))
PICK = random.Random(11)


def table():
    for k in range(60):
        fee = Decimal(PICK.choice([PICK.randrange(5000), PICK.randrange(90_000, 9_999_900)])).scaleb(-2)
        yield {
            "k": k,
            "town": PICK.choice(["Oslo", "Rome", "Graz"]),
            "fee": None if k % 13 == 5 else fee,
            "wait": PICK.choice([15, 30, 90, 120, 1800, 5400, 7200, 86_400]),
            "day": date(2024, 1, 5) + timedelta(days=PICK.randrange(700)),
            "paid": None if k % 17 == 9 else PICK.random() < 0.6,
        }


ROWS = list(table())


def swapped(fee):
    return f"{fee:,.2f}".translate(str.maketrans(",.", ".,"))


def scaled(wait):
    scale, unit = next(each for each in ((3600, "h"), (60, "min"), (1, "s")) if wait >= each[0])
    return f"{wait / scale:g}{unit}"


# How fees, waits, days and truth values are written, and a missing value.
FORMS = {
    "plain": (float, int, "%Y-%m-%d", (True, False), None),
    "dollars": (lambda fee: f"${fee:,.2f}", "{} s".format, "%m/%d/%Y", ("Yes", "No"), ""),
    "euros": (lambda fee: f"{swapped(fee)} €", scaled, "%d.%m.%y", ("ja", "nein"), "-"),
    "units": (lambda fee: f"{fee} kg", scaled, "%d %b %Y", ("TRUE", "FALSE"), None),
    "gaps": (lambda fee: f"{fee:.2f}", "{:,}".format, "%Y/%m/%d", ("1", "0"), "N/A"),
}


def written(form):
    fee, wait, day, truths, missing = FORMS[form]
    for row in ROWS:
        yield row | {
            "fee": missing if row["fee"] is None else fee(row["fee"]),
            "wait": wait(row["wait"]),
            "day": row["day"].strftime(day),
            "paid": missing if row["paid"] is None else truths[not row["paid"]],
        }


@cache
def database(form):
    return RowDatabase({"2abcdefghjk": image_of({"rows": iter_columns(list(written(form)))})})


def ask(form, sql):
    return database(form).query(sql, max_rows=999, max_seconds=9)


def alike(found, expected):
    if isinstance(expected, (Decimal, float)):
        return not isinstance(found, str | None) and abs(Decimal(str(found)) - Decimal(expected)) <= Decimal("1e-6")
    return found == (str(expected) if isinstance(expected, date) else expected)


def wrong(form, number):
    """Returns the statements of one kind whose answers are not those of the values, or that are refused."""
    sql, answer = STATEMENTS[number]
    cells = list(written(form))
    pick = random.Random(f"{form}{number}" if "{own" in sql else number)
    for _ in range(MADE):
        low, high = sorted(pick.sample([row["fee"] for row in ROWS if row["fee"]], 2))
        first, last = sorted(row["day"] for row in pick.sample(ROWS, 2))
        own = pick.choice([row for row in ROWS if row["fee"] and row["paid"] is not None])
        values = {"low": low, "high": high, "first": first, "last": last, "n": pick.randrange(2, 40), "own": own}
        shown = {f"own_{name}": cell for name, cell in cells[own["k"]].items()}
        asked = sql.format(**values, **shown)
        expected = answer(ROWS, **values)
        try:
            found = ask(form, asked).rows
        except QueryError as error:
            yield f"{form}: {asked}: {error}"
            continue
        expected = [row if isinstance(row, (tuple, list)) else [row] for row in expected]
        if len(found) != len(expected) or not all(
            len(one) == len(other) and all(map(alike, one, other)) for one, other in zip(found, expected, strict=True)
        ):
            yield f"{form}: {asked}: {found[:4]} is not {expected[:4]}"


@pytest.mark.parametrize("form", FORMS)
def test_a_statement_means_the_same_in_every_form(form):
    """Amounts, waits, dates and truth values are calculated, compared and sorted by what they mean, however written."""
    assert [problem for number in range(len(STATEMENTS)) for problem in wrong(form, number)] == []


CLOCKS = {
    "days": lambda day: int(day.strftime("%Y%m%d")),
    "texts of days": lambda day: day.strftime("%Y%m%d"),
    "seconds": lambda day: (day - date(1970, 1, 1)).days * 86_400,
    "milliseconds": lambda day: (day - date(1970, 1, 1)).days * 86_400_000,
}


@pytest.mark.parametrize("clock", CLOCKS)
def test_numbers_that_are_moments_are_dates(clock):
    """Functions of dates and comparisons with dates know days such as 20250131 and times since 1970."""
    days, years = [row["day"] for row in ROWS], [sum(row["day"].year == year for row in ROWS) for year in (2024, 2025)]
    loaded = RowDatabase({"2abcdefghjk": image_of({"rows": iter_columns([{"day": CLOCKS[clock](d)} for d in days])})})
    for sql, expected in {
        "SELECT strftime('%Y', day), count(*) FROM rows GROUP BY 1": [["2024", years[0]], ["2025", years[1]]],
        "SELECT sum(day LIKE '%2025%'), sum(day BETWEEN '2025' AND date('2025-12-31')) FROM rows": [[years[1]] * 2],
        "SELECT date(max(r.day), '+1 day') FROM rows r": [[str(max(days) + timedelta(days=1))]],
        "SELECT sum(coalesce(day, '2020-01-01', date('2020-01-01')) >= date('2025-01-01')) FROM rows": [[years[1]]],
        "SELECT substr(min(day), 6, 2) FROM rows WHERE CAST(day AS TEXT) LIKE '2025%'": [["01"]],
        "WITH c AS (SELECT day AS d FROM rows) SELECT sum(date(d) < '2025-01-01') FROM c": [[years[0]]],
    }.items():
        assert loaded.query(sql, max_rows=9, max_seconds=9).rows == expected

"""Amounts of several currencies, units and scales against `Decimal`, and rows that sum up others."""

import json
import random
from collections import defaultdict
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path

import pytest

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.tables.table_facts import sums_by_value, table_facts
from adk_context_pack.tools.open_results import load_tables
from adk_context_pack.tools.result_plan import facts_as_text

GOLDEN = Path(__file__).parent / "golden" / "total_rows.txt"
ISO = {"USD": 840, "JPY": 392, "CHF": 756}
WRITTEN = {
    "a column of codes": lambda value, code: {"amount": value, "currency": code},
    "lower case in another language": lambda value, code: {"Betrag": value, "Währung": code.lower()},
    "codes under any name": lambda value, code: {"total": value, "in": code},
    "signs in a column": lambda value, code: {"total": value, "in": {"USD": "$", "JPY": "¥"}.get(code, code)},
    "nested": lambda value, code: {"payment": {"value": value, "currency_code": code}, "shop": {"currency": "SEK"}},
    "units of Google": lambda value, code: {"cost": {"currencyCode": code, "units": str(value)}},
    "beside its name": lambda value, code: {"fee": value, "fee_ccy": code, "currency": "SEK"},
    "in front": lambda value, code: {"amount": f"{code} {value}"},
    "behind": lambda value, code: {"amount": f"{value} {code}"},
    "texts beside a column": lambda value, code: {"amount": str(value), "devise": code},
    "numbers of ISO 4217": lambda value, code: {"amount": value, "currencyCode": ISO[code]},
    "the nearer of two": lambda value, code: {"in": "SEK", "cost": value, "by": code},
    "words": lambda value, code: {"paid": value, "in": {"USD": "Dollar", "JPY": "Yen"}.get(code, "Franken")},
    "words in Chinese": lambda value, code: {"金额": value, "币种": {"USD": "美元", "JPY": "日元"}.get(code, "瑞郎")},
}
CODES = {"$": "USD", "¥": "JPY", "美元": "USD", "日元": "JPY", "瑞郎": "CHF", "840": "USD", "392": "JPY", "756": "CHF"}
CODES |= {"Dollar": "USD", "Yen": "JPY", "Franken": "CHF"}


@pytest.mark.parametrize("rows", [7, 60, 700])
@pytest.mark.parametrize("form", WRITTEN)
def test_money_is_split_by_currency(form, rows):
    """However the currency is written, each has the sum, extremes and count of its own rows, and nothing crosses."""
    made = random.Random(f"{form} {rows}")
    expected = defaultdict(list)
    found = []
    for row in range(rows):
        code, value = ("USD", "JPY", "CHF")[row % 3] if row > 2 else "USD", made.randint(1000, 99_999)
        expected[code].append(value)
        found.append(WRITTEN[form](value, code))
    facts = table_facts(found)
    money = next(column for column in facts.columns if column.role == "measure")
    parts = {CODES.get(part.unit, part.unit.upper()): part for part in money.parts}
    assert (money.total, money.mean, money.minimum, money.maximum) == (None, None, None, None)
    assert {unit: (part.total, part.minimum, part.maximum, part.part_rows) for unit, part in parts.items()} == {
        code: (sum(values), min(values), max(values), len(values)) for code, values in expected.items()
    }
    whole = sum(map(sum, expected.values()))
    assert str(whole) not in f"{facts.as_dict()} {facts_as_text(facts)}"
    assert not any(name.startswith(money.name) for name in sums_by_value(facts))


def test_one_currency_is_a_unit():
    """If all rows have one currency, in a column or in each amount, amounts are added up and it is their unit."""
    rows = [{"amount": value, "currency": "EUR", "num_parts": 1} for value in (5, 9, 40)]
    for name, paid in (("paid", "CHF 7"), ("paid", "7 €"), ("paid_eur", 7)):
        said = table_facts([*(row | {name: paid} for row in rows), {"currency": "USD", name: paid}]).as_dict()
        assert (said["columns"][name]["sum"], "by_unit" in said["columns"]["amount"]) == (28, True)
    said = table_facts(rows).as_dict()["columns"]
    assert (said["amount"]["sum"], said["amount"]["unit"], said["num_parts"].get("unit")) == (54, "EUR", None)


def test_a_currency_is_not_that_of_something_else():
    """Amounts with an empty unit of their own, values of actions in an account, and those of KR are in no currency."""
    row = {"account_currency": "EUR", "used": {"amount": 7, "unit": ""}, "paid": {"amount": 3, "unit": "USD"}}
    said = table_facts([row | {"actions": {"value": value}} for value in (5, 9, 40)]).as_dict()["columns"]
    said |= table_facts([{"of": ("KR", "LEI")[n % 2], "fee": n / 4} for n in range(20)]).as_dict()["columns"]
    kept = [said[name].get("unit") for name in ("used.amount", "paid.amount", "actions.value", "fee")]
    assert (kept, "by_unit" in said["fee"]) == ([None, "USD", None, None], False)


def test_amounts_without_a_currency_are_a_part_of_their_own():
    """Rows whose currency is missing are added to no currency, and counts beside the money stay whole."""
    rows = [{"cost": n, "orders": 2, "currency": (None, "EUR", "USD")[n % 3]} for n in range(1, 10)]
    facts = table_facts([*rows, {"cost": None, "orders": 0}])
    assert facts_as_text(facts, others=False)["others"] == "cost: 1 missing"
    parts = {part.unit: part.total for part in facts.column("cost").parts}
    assert (parts, facts.column("orders").total) == ({"EUR": 12, "USD": 15, "(no currency)": 18}, 18)


@pytest.mark.parametrize(
    ("amount", "unit", "units"),
    [("Menge", "Einheit", ["Stk", "kg"]), ("v.value", "v.unit", ["mg/dL", "l"]), ("n", "unit", ["Sales", "HR"]),
     ("usage.amount", "usage.unit", ["gibibyte month", "request"]), ("v.value", "v.unit", ["kg", "l"])],
)  # fmt: skip
def test_units_in_a_column_of_their_own_are_kept_apart(amount, unit, units):
    """Amounts beside a column of units have figures for each unit, no sum if one is that of a rate, as prices have."""
    rows = [{"id": n, amount: n, unit: units[n % 2], "cost": 2.5, "price": n, "currency": "EUR"} for n in range(1, 10)]
    facts = table_facts(rows)
    split = {part.unit: part.total for part in facts.column(amount).parts}
    assert split == {"Sales": {}, "mg/dL": dict.fromkeys(units)}.get(units[0], {units[0]: 20, units[1]: 25})
    assert (facts.column("cost").total, facts.column("price").total) == (22.5, None)
    database = RowDatabase({"h": load_tables({"rows": rows})})
    with pytest.raises(QueryError, match=f"in several units.*{unit}") if split else nullcontext():
        assert database.query(f'SELECT sum("{amount}") FROM rows', max_rows=5, max_seconds=9).rows == [[45]]


SECONDS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "min": Decimal(60), "h": Decimal(3600)}


@pytest.mark.parametrize("units", [("ms", "s"), ("h", "m"), ("s", "min", "h")])
def test_durations_are_read_by_scale(units):
    """Durations in several units have the sum and extremes of the seconds that they are."""
    made = random.Random(str(units))
    cells = [(made.randint(1, 90), made.choice(units)) for _ in range(40)] + [(1, unit) for unit in units]
    facts = table_facts([{"took": f"{value} {unit}"} for value, unit in cells]).column("took")
    true = [value * SECONDS[unit] for value, unit in cells]
    scale = SECONDS[facts.unit]
    assert (facts.total * scale, facts.minimum * scale, facts.maximum * scale) == (sum(true), min(true), max(true))
    assert facts.not_numbers == 0


def test_units_that_do_not_convert_are_kept_apart():
    """Debits and credits, or kilograms and pieces, have a sum each and none together."""
    rows = [{"entry": f"{n} {('DR', 'CR')[n % 2]}"} for n in range(1, 9)]
    assert {part.unit: part.total for part in table_facts(rows).columns[0].parts} == {"DR": 20, "CR": 16}


@pytest.mark.parametrize(("cells", "total"), [
    (["–5.25", "3", "−7", "‒1"], "-10.25"),  # noqa: RUF001 - the dashes that people write
    (["324K", "7.5M", "12"], "7824012"), (["1h 30m", "45m", "2h"], "255"), (["PT90S", "PT1M30S"], "180"),
])  # fmt: skip
def test_notations_that_hide_a_number(cells, total):
    """Dashes for a minus, letters for powers of ten and durations of two parts are read, every one of them."""
    facts = table_facts([{"q": cell} for cell in cells]).columns[0]
    assert (Decimal(str(facts.total)), facts.not_numbers, facts.missing) == (Decimal(total), 0, 0)


TABLE = [("N", 1, 10.5), ("S", 2, 20.25), ("E", 3, 35.0), ("W", 4, 47.0)]


@pytest.mark.parametrize("label", ["Total", "Gesamt", "SUMME", "Razem", None, ""])
@pytest.mark.parametrize("written", [lambda cell: cell, lambda cell: None if cell is None else str(cell)])
def test_a_last_row_that_sums_up_is_left_out(label, written):
    """A last row with a label or without one is told, and takes no part in sum, extremes and counts."""
    rows = [*TABLE, (label, 10, 112.75)]
    found = [dict(zip(("region", "units", "sales"), map(written, row), strict=True)) for row in rows]
    facts = table_facts(found)
    assert (facts.total_rows, facts.rows, facts.column("units").total) == ((4,), 5, 10)
    assert float(facts.column("sales").maximum) == 47
    assert all("rows 4" in said["rows_apart"] for said in (facts.as_dict(), facts_as_text(facts)))


@pytest.mark.parametrize("line", GOLDEN.read_text("utf-8").splitlines()[1:])
def test_rows_that_sum_up_others_are_told(line):
    """Totals below, above and between their rows, in levels, rounded or averages are told, and no other rows."""
    apart, (names, *rows) = map(json.loads, line.split("\t")[1:])
    assert table_facts([dict(zip(names, row, strict=True)) for row in rows]).total_rows == tuple(apart)


@pytest.mark.parametrize(("mark", "label"), [(None, None), ("", ""), ("ALL", "ALL"), ("-", "-"), (None, "Total")])
@pytest.mark.parametrize("order", [1, -1])
def test_the_rows_of_a_rollup_are_left_out(mark, label, order):
    """Rows with a mark in place of values that sum up others are told, beside people who are counted once only."""
    cells = [(shop, city, n * 7 + 3) for n, (shop, city) in enumerate(zip("AAABBB", "uvwxyz", strict=True))]
    rows = [*cells[:3], ("A", mark, 30), *cells[3:], ("B", mark, 93), (label, mark, 123)]
    found = [{"shop": a, "city": b, "sales": n, "people": n - n // 99} for a, b, n in rows][::order]
    facts, apart = table_facts(found), (3, 7, 8) if order > 0 else (0, 1, 5)
    assert (facts.total_rows, facts.column("sales").total, facts.column("people").total) == (apart, 123, 123)


@pytest.mark.parametrize("rows", [
    [*TABLE, ("Totals Ltd", 9, 100.0), ("X", 1, 1.0)], [("a", n, n) for n in (5, 5, 9, 19)], [*TABLE, ("X", 10, 112.0)],
    [("a", 5, 0), ("b", 0, 1), ("c", 0, 0), ("d", 5, 1)], [("a", 1, 1), ("b", 2, 2), ("c", 3, 3)],
])  # fmt: skip
def test_a_last_row_like_any_other_counts(rows):
    """A last row that neither says so nor equals the sums of all others is a row."""
    facts = table_facts([dict(zip(("region", "units", "sales"), row, strict=True)) for row in rows])
    assert facts.total_rows == ()
    assert facts.column("units").total == sum(row[1] for row in rows)


def test_headers_in_between_are_left_out():
    """Rows that repeat the names of the columns are told, and the numbers around them are added up."""
    rows = [{"city": f"c{n}", "sold": str(n * n)} for n in range(6)]
    rows.insert(3, {"city": "city", "sold": "sold"})
    facts = table_facts(rows)
    assert (facts.repeated_headers, facts.column("sold").total, facts.column("sold").max_row) == ((3,), 55, 6)


@pytest.mark.parametrize(
    ("cells", "mean"), [([1, 2, 2], 1.667), ([12.25, 13.5, 9.1], 11.617), ([10.5, 4000.25, 17.0], 1342.58),
                        ([3, 4000, 77_000], 27001)]
)  # fmt: skip
def test_means_have_the_digits_of_their_data(cells, mean):
    """A mean is shown with the decimals of its data, and with four figures at least."""
    said = table_facts([{"q": cell} for cell in cells]).as_dict()["columns"]["q"]["mean"]
    assert said == pytest.approx(mean, abs=0.006)
    assert len(repr(said)) <= 8

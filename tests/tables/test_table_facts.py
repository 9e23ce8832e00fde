"""Facts equal what plain Python finds by looking at every row, whatever is in the rows."""

import copy
import csv
import json
import math
import random
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from adk_context_pack.tables.table_facts import table_facts
from tests.support.shared_data import shared_file

NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.integers(-50, 50),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9),
)
HOLES = st.sampled_from([None, "", math.nan])


def is_hole(value):
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def exact(values):
    return sum(map(Fraction, values), Fraction(0))


@given(st.lists(st.one_of(NUMBERS, HOLES), min_size=1, max_size=60))
def test_numbers_are_exact(values):
    """Sum, extremes, mean, missing count and the rows of extremes of any mix of numbers and holes are the true ones."""
    facts = table_facts([{"amount": value} for value in values]).column("amount")
    numbers = [value for value in values if not is_hole(value)]
    if not numbers:
        assert facts.kind == "empty"
        return
    assert facts.kind == "number"
    truth, is_float = exact(numbers), isinstance(facts.total, float)
    assert facts.total == float(truth) if is_float else Fraction(facts.total) == truth
    assert facts.minimum == min(numbers)
    assert facts.maximum == max(numbers)
    assert facts.mean == float(Fraction(facts.total) / len(numbers))
    assert math.isclose(facts.mean, exact(numbers) / len(numbers), rel_tol=1e-15)
    assert facts.missing == len(values) - len(numbers)
    assert values[facts.min_row] == facts.minimum
    assert values[facts.max_row] == facts.maximum


@given(st.lists(st.one_of(st.sampled_from(["red", "green", "a b", "ü", "7"]), st.booleans(), HOLES), max_size=60))
def test_other_values_are_counted(values):
    """Distinct values and the commonest one are what a set and a count find."""
    facts = table_facts([{"colour": value} for value in ["red", *values]]).column("colour")
    present = [value for value in ["red", *values] if not is_hole(value)]
    if facts.kind in {"number", "rate"}:
        assert 2 * present.count("7") > len(present)
        return
    assert facts.distinct == len(set(present))
    most = max(present, key=present.count)
    assert facts.commonest[:1] == (((most, present.count(most)),) if present.count(most) > 1 else ())
    assert facts.missing == len(values) + 1 - len(present)


CELLS = st.one_of(NUMBERS, HOLES, st.booleans(), st.text(max_size=3), st.lists(st.integers(), max_size=2))


@pytest.mark.slow
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["a", "b.c", "b", "id", "day"]),
            st.one_of(CELLS, st.dictionaries(st.sampled_from("cd"), CELLS)),
        ),
        max_size=20,
    )
)
def test_anything_goes(rows):
    """No rows make it raise or write into them, and its form for the prompt is JSON without NaN."""
    before = copy.deepcopy(rows)
    facts = table_facts(rows)
    assert repr(rows) == repr(before)
    assert facts.rows == len(rows)
    assert len({column.name for column in facts.columns}) == len(facts.columns)
    json.dumps(facts.as_dict(), allow_nan=False)


@pytest.mark.slow
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "n": st.one_of(st.integers(), st.none()),
                "f": st.floats(width=32),
                "t": st.sampled_from(["x", "y", None]),
                "id": st.integers(0, 9),
                "year": st.integers(1990, 2030),
                "ok": st.booleans(),
            }
        ),
        min_size=1,
        max_size=80,
    )
)
def test_both_ways_agree(rows):
    """The fast way over blocks and the thorough way column by column state the very same facts."""
    # A row without one key sends all columns the thorough way.
    uneven = [*rows, {}]
    fast, thorough = table_facts(rows), table_facts(uneven)
    for column in fast.columns:
        other = thorough.column(column.name)
        assert column.as_dict() | {"missing": column.missing + 1} == other.as_dict() | {"missing": other.missing}


def test_sums_beyond_floats():
    """Integers beyond 2^53, decimals and floats that cancel out are added without loss."""
    rows = [
        {"big": 2**53, "paid": Decimal("0.1"), "f": 1e16},
        {"big": 1, "paid": Decimal("0.2"), "f": 1.0},
        {"big": 2**80, "paid": Decimal("1E-20"), "f": -1e16},
    ]
    facts = table_facts(rows)
    assert facts.column("big").total == 2**53 + 1 + 2**80
    assert facts.column("paid").total == Decimal("0.30000000000000000001")
    assert facts.column("f").total == 1.0


@pytest.mark.parametrize(("values", "low", "high"), [
    (["2024-03-01", "2023-12-31", ""], "2023-12-31", "2024-03-01"),
    (["2022-02-01 2:20:51", "2022-02-01 10:00:00"], "2022-02-01 2:20:51", "2022-02-01 10:00:00"),
    (["2001/01/01 00:47", "2001/03/31 21:45"], "2001/01/01 00:47", "2001/03/31 21:45"),
    ([20240101, 20231231], 20231231, 20240101),
])  # fmt: skip
def test_dates_get_their_range(values, low, high):
    """Dates of every form are ranged as moments and never summed."""
    facts = table_facts([{"date": value} for value in values]).column("date")
    assert (facts.kind, facts.total, facts.minimum, facts.maximum) == ("date", None, low, high)


@pytest.mark.parametrize("amount", [48_999.5, 1e200])
def test_the_planted_row_is_found(amount):
    """One fraud among 500 payments is the first outlier, and the rule is named."""
    rng = random.Random(7)
    rows = [{"id": i, "amount": round(rng.lognormvariate(4, 0.5), 2), "fee": rng.randint(1, 9)} for i in range(500)]
    rows[51]["amount"] = amount
    facts = table_facts(rows)
    assert (facts.outliers[0].row, facts.outliers[0].column) == (51, "amount")
    assert "Tukey" in facts.as_dict()["outliers"]["rule"]


def test_other_kinds_of_rows():
    """Models, lists of values with and without names, and plain values are rows too."""

    class Sale(BaseModel):
        amount: int

    assert table_facts([Sale(amount=2), Sale(amount=3)]).column("amount").total == 5
    assert table_facts([[1, "x"], [2, "y"]], columns=["n", "t"]).column("n").total == 3
    assert table_facts([[1, 2], [3, 4]], columns=["n", "n"]).column("n_2").total == 6
    assert table_facts([4, 5]).column("value").total == 9


@pytest.mark.parametrize("stray", [True, False, 1.0, Decimal(1), "1", None, math.nan])
@pytest.mark.parametrize("base", [-3, 0, 1, 2, 500])
def test_a_stray_cell_in_a_late_block(stray, base):
    """A truth value, float, Decimal or text far down among integers is told the same in both ways."""
    rows = [{"amount": base + place % 7} for place in range(3_000)]
    rows[2_500]["amount"] = stray
    fast, thorough = (table_facts(found).column("amount") for found in (rows, [*rows, {}]))
    assert fast.missing + 1 == thorough.missing
    for name in ("kind", "total", "minimum", "maximum", "not_numbers", "example", "min_row", "max_row"):
        assert getattr(fast, name) == getattr(thorough, name)
    assert type(fast.total) is type(thorough.total)


@pytest.mark.parametrize("base", [int, str], ids=["integers", "texts"])
@pytest.mark.parametrize("stray", [None, "", 7, "7", True, 7.5, [7], math.nan, Decimal("NaN")], ids=repr)
@pytest.mark.parametrize("row", [0, 1, 700, 1999])
def test_identifiers_that_are_not_alone(row, stray, base):
    """An identifier that occurs again, is missing or has another type is counted, in whichever block it is."""
    rows = [{"id": base(number)} for number in range(2000)]
    assert table_facts(rows).columns[0].distinct == 2000
    rows[row] = {"id": stray}
    fast, thorough = (table_facts(found).columns[0] for found in (rows, [*rows, {}]))
    assert replace(fast, missing=fast.missing + 1) == thorough
    assert [type(value) for value, _ in fast.commonest] == [type(value) for value, _ in thorough.commonest]


@pytest.mark.parametrize("base", [int, str, lambda number: -number], ids=["ascending", "texts", "descending"])
@pytest.mark.parametrize("row", [1, 255, 256, 511, 512, 513, 1999])
def test_an_identifier_beside_its_like(row, base):
    """The one identifier that occurs twice is told, in whichever order they are and also across two blocks."""
    rows = [{"id": base(number)} for number in range(2000)]
    rows[row] = rows[row - 1]
    facts = table_facts(rows).columns[0]
    assert (facts.distinct, facts.commonest) == (1999, ((rows[row]["id"], 2),))


def csv_rows(name):
    with shared_file(name).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", ["campaign_stats", "ad_group_stats", "keyword_stats", "account_stats", "ad_stats"])
def test_google_ads_reports(name):
    """On real Google Ads reports the measures are summed exactly, and ids and dates are not."""
    rows = csv_rows(f"google_ads/{name}.csv")
    facts = table_facts(rows)
    for measure in ("clicks", "impressions", "cost_micros"):
        assert facts.column(measure).total == sum(int(row[measure]) for row in rows)
    assert all(c.total is None for c in facts.columns if c.name.endswith("id"))
    assert facts.column("date").minimum == min(row["date"] for row in rows)


def test_meridian():
    """3,120 rows of decimals as texts are added without rounding."""
    rows = csv_rows("meridian/geo_media.csv")
    facts = table_facts(rows)
    assert Fraction(facts.column("Channel0_spend").total) == exact(Decimal(row["Channel0_spend"]) for row in rows)
    assert (facts.column("time").kind, facts.column("geo").kind) == ("date", "text")


def test_flights():
    """20,000 real flights: negative delays, dates with a time, and the commonest origin."""
    rows = json.loads(shared_file("flights/flights-20k.json").read_text())
    facts = table_facts(rows)
    delays = [row["delay"] for row in rows]
    delay = facts.column("delay")
    assert (delay.total, delay.minimum, delay.maximum) == (sum(delays), min(delays), max(delays))
    assert (delay.min_row, delay.max_row) == (delays.index(min(delays)), delays.index(max(delays)))
    origins = [row["origin"] for row in rows]
    assert facts.column("origin").commonest[0] == (
        top := max(sorted(set(origins)), key=origins.count),
        origins.count(top),
    )
    assert facts.column("date").maximum == max(row["date"] for row in rows)


def test_kinds_that_only_all_values_tell():
    """Nothing but holes is empty, years as texts are dates, True beside 1 is neither summed nor counted twice."""
    assert table_facts([{"x": ""}, {"x": math.nan}]).column("x").kind == "empty"
    year = table_facts([{"year": "2020"}, {"year": "2021"}]).column("year")
    assert (year.kind, year.minimum, year.maximum, year.total) == ("date", "2020", "2021", None)
    rows = [{"ok": True}, {"ok": 1}, {"ok": True}]
    fast, thorough = (table_facts(found).column("ok") for found in (rows, [*rows, {}]))
    assert (fast.kind, fast.commonest) == (thorough.kind, thorough.commonest) == ("text", ((True, 3),))


def test_moments_with_and_without_a_zone():
    """Python cannot compare a moment with a time zone to one without; the range is that of their digits."""
    early, late = datetime(2023, 1, 2, tzinfo=UTC), datetime(2024, 1, 2)  # noqa: DTZ001
    found = table_facts([{"at": late}, {"at": early}]).column("at")
    assert (found.kind, found.minimum, found.maximum) == ("date", early, late)


def test_a_first_list_of_names_is_a_header():
    """Of lists of values the first one names the columns where it is text above numbers, as in Google Sheets."""
    facts = table_facts([["campaign", "clicks"], ["a", 1], ["b", "2"], ["c", 3]])
    assert (facts.rows, facts.column("clicks").total, facts.column("clicks").max_row) == (3, 6, 2)
    assert table_facts([["a", "b"], ["c", "d"], ["e", "f"]]).rows == 3


def test_more_columns_than_a_float_has_powers_of_two():
    """A table of 1,100 columns has facts."""
    assert table_facts([{"x": f"l{n}", **{f"x{at}": n * at % 7 for at in range(1100)}} for n in range(20)]).rows == 20

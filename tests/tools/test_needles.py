"""The one odd row of a table is in its stub, whatever makes it odd."""

import json
import random

import pytest

from adk_context_pack.tables.outliers import odd_rows
from adk_context_pack.tools.result_plan import ResultLimits, make_plan

THINGS = ("pump", "valve", "boiler", "filter", "gauge", "meter")


def row(made, number):
    """One of many parts in a workshop, with a note."""
    a, b, c = made.choices(THINGS, k=3)
    return {
        "part": f"P-{3000 + number}",
        "state": made.choice(("fitted", "spare")),
        "cost": round(made.gauss(40, 3), 1),
        "bin": f"{made.randrange(10)}-{made.randrange(10, 99)}",
        "note": f"the {a} was checked and the {b} too, next to the {c} on shelf {made.randrange(50)}",
    }


NEEDLES = {
    "a rare category": ({"state": "scrapped"}, "scrapped"),
    "a rare word": ({"note": "the pump was checked and the valve leaks acid, next to the meter on shelf 4"}, "acid"),
    "a short word within others": ({"note": f"{'the boiler ' * 99}has gas o leaks"}, "leaks"),
    "an alarm in another language": ({"note": "ACHTUNG: Riss im Kessel, sofort abschalten"}, "Riss im Kessel"),
    "a missing value": ({"state": None}, '"state": null'),
    "an extreme": ({"cost": 412.5}, "412.5"),
    "another format": ({"bin": "77/X"}, "77/X"),
}


@pytest.mark.parametrize("tokens", [250, 300, 600])
@pytest.mark.parametrize("needle", NEEDLES)
def test_the_odd_row_and_the_total_are_shown(needle, tokens):
    """Of 150 rows the odd one is shown by its number, beside the total, within 250 tokens as within 600."""
    made = random.Random(needle)
    rows = [row(made, number) for number in range(150)]
    new, seen = NEEDLES[needle]
    rows[97] |= new
    plan = make_plan({"parts": rows}, ResultLimits(max_rows=100, max_tokens=tokens, stub_tokens=tokens))
    said = json.dumps(plan.body, ensure_ascii=False)
    assert "97" in plan.body["_row_limits"]["parts"]["rows"]
    assert rows[97]["part"] in said
    assert seen in said.replace("\\n", " ")
    assert f"cost,{round(sum(part['cost'] for part in rows), 1)}," in said


ODD = {
    "a zero": ([40 + 3 * (7 * n % 90) for n in range(90)], 0),
    "a small number": ([300 + 7 * (n % 45) for n in range(90)], 12),
    "a text among numbers": ([40 + 3 * (7 * n % 90) for n in range(90)], "n/a"),
    "a number that is no key": ([n % 40 for n in range(90)], -1),
    "another form with figures of any length": (
        [f"https://shop.example/p/{37 ** (n % 5)}/{n}" for n in range(90)],
        "p/x.php?q=1",
    ),
    "a sign of its own": ([f"part {'of a ' * (n % 9)}{'pump' * (n % 7)} {n}" for n in range(90)], "part: pump 3"),
    "what nobody else says": ([f"said often {n % 11}" for n in range(90)], "said once"),
}


@pytest.mark.parametrize("case", ODD)
def test_one_cell_is_odd_and_without_it_none_is(case):
    """A cell is odd beside the others of its column, and a column without it has no odd cell, nor has one of keys."""
    cells, odd = ODD[case]
    rows = [{"cell": cell, "key": n} for n, cell in enumerate(cells)]
    assert odd_rows(rows, None, []) == odd_rows([{"a": {"b": [1]}, "c": [2]}], None, []) == {}
    rows[57]["cell"] = odd
    assert list(odd_rows(rows, None, [])) == [57]


def test_a_text_in_another_script_is_odder_than_one_sign():
    """Of texts with signs that no other has, the one with many of them is odd and hides behind no other."""
    rows = [{"said": f"word {n % 20}{'!?~'[n // 30] if n % 30 == 9 else ''}"} for n in range(90)]
    rows[57] = {"said": "긴급 유출"}
    assert list(odd_rows(rows, None, [])) == [57]


def test_amounts_are_no_codes():
    """An amount of few figures among longer ones, or the same one twice, is in order, unlike such a code."""
    rows = [{"due": f"{7 if n == 61 else 10 + 13 * (n or 4) % 800},50 €"} for n in range(90)]
    assert sorted(odd_rows(rows, None, [])) == [0, 4, 61]
    plan = make_plan({"bills": rows}, ResultLimits(max_rows=10, max_tokens=400, stub_tokens=400))
    assert "rows" not in plan.body["_row_limits"]["bills"]


def test_a_wide_table_has_its_names_and_its_odd_row_in_a_tiny_stub():
    """Of 50 columns that fill the limit by themselves all are named, beside the odd row with few of them."""
    rows = [{f"level_{n}": made % 7 + n for n in range(50)} for made in range(120)]
    rows[97]["level_31"] = None
    body = make_plan({"rows": rows}, ResultLimits(max_rows=100, max_tokens=250, stub_tokens=250)).body
    assert body["_row_facts"]["rows"]["names"].split(", ") == list(rows[0])
    assert "97 (level_31)" in body["_row_limits"]["rows"]["rows"]
    assert ResultLimits().tokens(body) < 400


def test_a_cell_that_cannot_be_compared_costs_no_facts():
    """Comparing a cell of some class fails, and the other columns are told all the same."""
    rows = [{"n": 3 * n, "odd": type("Odd", (), {"__eq__": lambda *_: 1 / 0, "__hash__": None})()} for n in range(150)]
    assert "n,33525," in str(make_plan({"rows": rows}, ResultLimits(max_rows=100)).body)

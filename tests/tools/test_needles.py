"""The one odd row of a table is in its stub, whatever makes it odd."""

import json
import random

import pytest

from adk_context_pack.tools.result_plan import Limits, make_plan

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
    plan = make_plan({"parts": rows}, Limits(max_rows=100, max_tokens=tokens, stub_tokens=tokens))
    said = json.dumps(plan.body, ensure_ascii=False)
    assert "97" in plan.body["_row_limits"]["parts"]["rows"]
    assert rows[97]["part"] in said
    assert seen in said.replace("\\n", " ")
    assert f"cost,{round(sum(part['cost'] for part in rows), 1)}," in said


def test_a_cell_that_cannot_be_compared_costs_no_facts():
    """Comparing a cell of some class fails, and the other columns are told all the same."""
    rows = [{"n": n, "odd": type("Odd", (), {"__eq__": lambda *_: 1 / 0, "__hash__": None})()} for n in range(150)]
    assert "n,11175," in str(make_plan({"rows": rows}, Limits(max_rows=100)).body)

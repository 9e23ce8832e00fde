"""Every figure that facts state about generated columns of mixed notations is that of `decimal`, or is not stated.

`FUZZ_SECONDS=3600 python -m pytest tests/tables/test_facts_against_decimal.py` tries columns for an hour.
"""

import random
import statistics
from decimal import Decimal

import pytest

from adk_context_pack.tables.table_facts import table_facts
from tests.support.fuzz import seeds

MISSING = ["N/A", "n/a", "--", "-", "null", "None", "NaN", "", " ", None]
STRAYS = ["TBD", "see note", "12 or 13", "$", "1,23,4", "about 5", "2026-01-01"]
SWAP = str.maketrans(",.", ".,")


def fixed(value, places):
    """The digits of a value with commas between thousands, written without Python's own number formats."""
    sign, digits = "-" if value < 0 else "", str(abs(int(value.scaleb(places)))).rjust(places + 1, "0")
    whole, rest = (digits[:-places], digits[-places:]) if places else (digits, "")
    head = len(whole) % 3
    groups = [*([whole[:head]] if head else []), *(whole[at : at + 3] for at in range(head, len(whole), 3))]
    return sign + ",".join(groups) + (f".{rest}" if rest else "")


NOTATIONS = {
    "plain": lambda v: fixed(v, 2).replace(",", ""), "thousands": lambda v: fixed(v, 2),
    "whole": lambda v: fixed(v.quantize(Decimal(1)), 0),
    "dollars": lambda v: fixed(v, 2).replace("-", "-$") if v < 0 else f"${fixed(v, 2)}",
    "brackets": lambda v: f"({fixed(-v, 2)})" if v < 0 else fixed(v, 2), "code": lambda v: f"{fixed(v, 2)} EUR",
    "comma": lambda v: fixed(v, 2).translate(SWAP), "euros": lambda v: f"{fixed(v, 2).translate(SWAP)} €",
    "blanks": lambda v: fixed(v, 2).replace(",", "\u202f"), "percent": lambda v: f"{fixed(v, 2)} %",
    "unit": lambda v: f"{fixed(v, 2)} km", "padded": lambda v: f"{fixed(v, 2)}    ",
    "minus behind": lambda v: f"{fixed(-v, 2)}-" if v < 0 else fixed(v, 2), "scientific": lambda v: f"{v:.6e}",
    "a number": lambda v: int(v * 100), "a decimal": lambda v: v,
}  # fmt: skip
UNITS = {"dollars": "$", "code": "EUR", "euros": "€", "percent": "% (points)", "unit": "km"}


def exactly(figure):
    return Decimal(str(figure))


def column(made, notation, strays):
    """Cells, and the value of each where it is a number."""
    write = NOTATIONS[notation]
    cells, values = [], []
    for index in range(made.randint(6, 50)):
        chance = made.random()
        if index >= 4 and chance < 0.1:
            cells.append(made.choice(MISSING))
            values.append(None)
        elif index >= 4 and strays and chance < 0.2:
            cells.append(made.choice(STRAYS))
            values.append("stray")
        else:
            value = Decimal(made.choice([1, 1, 1, -1]) * made.randint(1000, 10 ** made.choice([5, 7, 9]))).scaleb(-2)
            value = value.quantize(Decimal(1)) if notation == "whole" else value
            cells.append(write(value))
            values.append(Decimal(cells[-1]) if notation in {"scientific", "a number"} else value)
    return cells, values


@pytest.mark.parametrize("strays", [False, True])
@pytest.mark.parametrize("notation", NOTATIONS)
def test_stated_figures_are_true(notation, strays):
    """Over 120 columns of each notation or more: sum, mean, extremes, their rows and all counts are the true ones."""
    for seed in seeds(at_least=120, shares=2 * len(NOTATIONS)):
        made = random.Random(f"{notation} {strays} {seed}")
        cells, values = column(made, notation, strays)
        said = table_facts([{"sum": cell} for cell in cells]).as_dict()["columns"]["sum"]
        numbers = [value for value in values if isinstance(value, Decimal)]
        left_out = [cell for cell, value in zip(cells, values, strict=True) if value == "stray"]
        assert exactly(said["sum"]) == sum(numbers) if notation != "percent" else "sum" not in said, cells
        assert (exactly(said["min"]), exactly(said["max"])) == (min(numbers), max(numbers)), cells
        assert (values[said["min_row"]], values[said["max_row"]]) == (min(numbers), max(numbers)), cells
        assert notation == "percent" or said["mean"] == pytest.approx(float(statistics.mean(numbers)), rel=5e-4), cells
        assert said["missing"] == values.count(None), cells
        assert said.get("not_numbers", 0) == len(left_out), cells
        assert said.get("such_as") == (left_out[0] if left_out else None), cells
        assert said.get("unit") == UNITS.get(notation), cells


NAMES = {
    "versions": lambda made: [f"3.{made.randint(0, 20)}" for _ in range(18)] + ["3.10", "3.1"],
    "telephones": lambda made: [f"+49{made.randint(10**9, 10**10)}" for _ in range(20)],
    "rooms": lambda made: [f"{made.randint(1, 99)}E{made.randint(1, 9)}" for _ in range(20)],
    "codes": lambda made: ["007", *(str(made.randint(100, 999)) for _ in range(19))],
    "addresses": lambda made: [".".join(str(made.randint(100, 255)) for _ in range(4)) for _ in range(20)],
    "times": lambda made: [f"{made.randint(1, 12)}pm" for _ in range(20)],
    "ranges": lambda made: [f"{made.randint(1, 9)}-{made.randint(10, 20)}" for _ in range(20)],
}


@pytest.mark.parametrize("kind", NAMES)
def test_names_have_no_sum(kind):
    """Texts that only look like numbers, and amounts in two currencies, are counted whole and never added up."""
    for seed in range(60):
        cells = NAMES[kind](random.Random(seed))
        said = table_facts([{"x": cell} for cell in cells]).as_dict()["columns"]["x"]
        assert "sum" not in said
        assert said["distinct"] == len(set(cells))


@pytest.mark.parametrize(("cells", "total", "low", "high"), [
    (["950", "870", "640", "1,250", "12,480"], 16190, 640, 12480),
    (["25,649     ", "99,649,956  ", " -   "], 99675605, 25649, 99649956), (["1.250", "2.000"], 3.25, 1.25, 2),
    (["1.234"], 1.234, 1.234, 1.234), (["12,5", "1.250"], 1262.5, 12.5, 1250),
    (["9007199254740993", "1"], 9007199254740994, 1, 9007199254740993), (["$1,250.00", "950"], 2200, 950, 1250),
    (["0.1", "0.2"], 0.3, 0.1, 0.2),
])  # fmt: skip
def test_columns_that_people_have(cells, total, low, high):
    """Real columns give the figures that a person would compute."""
    said = table_facts([{"x": cell} for cell in cells]).as_dict()["columns"]["x"]
    assert (said["sum"], said["min"], said["max"]) == (total, low, high)


def test_both_marks_in_one_column():
    """Where both decimal marks are proven, the cells of the rarer one and those that could be either are left out."""
    said = table_facts([{"x": cell} for cell in ["1.5", "2.5", "7,5", "1,250", "3"]]).as_dict()["columns"]["x"]
    assert (said["sum"], said["not_numbers"], said["such_as"]) == (7.0, 2, "7,5")


@pytest.mark.parametrize(("cells", "note"), [
    (["1.250", "2.000"], "a point marks the decimals: 1.250"), (["$1.234"], "a point marks the decimals: $1.234"),
    (["12,5", "7"], "a comma marks the decimals"), (["0.125", "1.250"], None), (["2.5e6", "1e5"], None),
    (["1.25", "2.50"], None),
])  # fmt: skip
def test_what_others_would_read_otherwise_is_told(cells, note):
    """Where a reader could take the marks otherwise, the facts say how they were read."""
    assert table_facts([{"x": cell} for cell in cells]).as_dict()["columns"]["x"].get("note") == note

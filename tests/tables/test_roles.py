"""What columns are, over data of people's own making: no sum that means nothing, and no measure lost."""

import json
import random
from pathlib import Path

import pytest

from adk_context_pack.tables.schema import schema_of
from adk_context_pack.tables.table_facts import table_facts


def cases_of(file):
    lines = Path(__file__).with_name("golden").joinpath(file).read_text("utf-8").splitlines()[1:]
    return [(role, name, json.loads(cells)) for role, name, cells in (line.split("\t") for line in lines)]


CASES = cases_of("roles.txt")


def is_summed(name, cells):
    return "sum" in table_facts([{name: cell, "label": "a"} for cell in cells]).as_dict()["columns"][name]


@pytest.mark.parametrize("written", [lambda cell: cell, str], ids=["numbers", "texts"])
@pytest.mark.parametrize(
    ("file", "most", "lost"),
    [("roles.txt", 1, 0), ("roles_seen.txt", 2, 0), ("roles_unseen.txt", 7, 2), ("roles_world.txt", 7, 0)],
)
def test_only_measures_are_summed(file, most, lost, written):
    """Of identifiers, times and rates in eight languages next to none is summed, and next to no measure is lost."""
    found = [
        (role == "measure", name, is_summed(name, list(map(written, cells)))) for role, name, cells in cases_of(file)
    ]
    assert len([name for is_measure, name, has_sum in found if has_sum and not is_measure]) <= most
    assert len([name for is_measure, name, has_sum in found if is_measure and not has_sum]) <= lost


def test_roles_are_told():
    """Of the columns that are not summed nine in ten have the role that a person would give them."""
    found = [
        (role, schema_of([{name: cell} for cell in cells]).columns[0].role)
        for role, name, cells in CASES
        if role != "measure"
    ]
    right = [told == role or {told, role} == {"rate", "coordinate"} for role, told in found]
    assert sum(right) >= 0.9 * len(right)


@pytest.mark.parametrize("order", [list, reversed, lambda numbers: random.Random(3).sample(numbers, len(numbers))])
@pytest.mark.parametrize("rows", [40, 300, 1_500, 20_000])
def test_a_long_table_counts_on_as_a_short_one_does(rows, order):
    """What counts on under a name that says nothing is no measure, of however many rows a part is looked at."""
    assert not is_summed("flurb", list(order(range(rows))))
    assert not is_summed("flurb", list(order(range(5_000, 5_000 + 10 * rows, 10)))) or order is not list
    assert is_summed("flurb", [int(random.Random(n).expovariate(0.002)) for n in range(rows)])

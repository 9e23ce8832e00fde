"""What columns are, over data of people's own making: no sum that means nothing, and no measure lost."""

import json
from pathlib import Path

import pytest

from adk_context_pack.tables.schema import schema_of
from adk_context_pack.tables.table_facts import table_facts

LINES = Path(__file__).with_name("golden").joinpath("roles.txt").read_text("utf-8").splitlines()[1:]
CASES = [(role, name, json.loads(cells)) for role, name, cells in (line.split("\t") for line in LINES)]


def is_summed(name, cells):
    return "sum" in table_facts([{name: cell, "label": "a"} for cell in cells]).as_dict()["columns"][name]


@pytest.mark.parametrize("written", [lambda cell: cell, str], ids=["numbers", "texts"])
def test_only_measures_are_summed(written):
    """Of more than 128 identifiers, times and rates at most one is summed, and of 200 measures none is lost."""
    found = [(role, name, is_summed(name, list(map(written, cells)))) for role, name, cells in CASES]
    others = [name for role, name, has_sum in found if role != "measure" and has_sum]
    lost = [name for role, name, has_sum in found if role == "measure" and not has_sum]
    assert (len([role for role, *_ in found if role == "measure"]) >= 200, len(found) >= 200 + 128) == (True, True)
    assert not lost
    assert len(others) <= 1, others


def test_roles_are_told():
    """Of the columns that are not summed nine in ten have the role that a person would give them."""
    found = [
        (role, schema_of([{name: cell} for cell in cells]).columns[0].role)
        for role, name, cells in CASES
        if role != "measure"
    ]
    right = [told == role or {told, role} == {"rate", "coordinate"} for role, told in found]
    assert sum(right) >= 0.9 * len(right)
